// Package spice stands in for Spice's Flight SQL connector: the same calls in the
// same order, and SQL of the shapes that its two generators print. It is equivalent
// in protocol and is not Spice: Spice itself cannot be had from a package registry.
// The tests run against the server at LOAM_URI, and log in to the one at
// LOAM_TLS_URI.
package spice
