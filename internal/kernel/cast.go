package kernel

import (
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

// Cast converts v to another type; with try a value that cannot be converted
// becomes NULL. NULL rows are not looked at. Dictionaries and constants keep
// their encoding. The result may alias v.
func Cast(v *vec.Vector, to types.Type, try bool) (*vec.Vector, error) {
	return nil, fail.New(fail.Unsupported, "cannot cast %s to %s", v.Type, to)
}
