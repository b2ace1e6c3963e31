package loam

import "github.com/loamdb/loam/planner"

// SplitScript cuts a script into its statements. A script that does
// not parse is an error with its place in it.
func SplitScript(sql string) ([]planner.Part, error) { return planner.Split(sql) }
