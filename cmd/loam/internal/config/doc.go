// Package config fills the flags of a command from the command line, from LOAM_*
// variables and from a YAML file, in that order, and remembers where each value came
// from. The flags are the only list of settings: a flag --log-level is the variable
// LOAM_LOG_LEVEL and the key log_level. It decides nothing about the values; it may
// import the YAML reader and internal/fail.
package config
