package loam

import "github.com/loamdb/loam/planner"

// SplitScript cuts a script into the texts of its statements. A script that does
// not parse is an error with its place in it.
func SplitScript(sql string) ([]string, error) { return planner.Split(sql) }
