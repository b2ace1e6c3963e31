package kernel

import (
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

// CastValue converts one boxed value.
func CastValue(v vec.Value, to types.Type, try bool) (vec.Value, error) {
	if v.Null {
		return vec.Null(to), nil
	}
	out, err := Cast(boxed(v), to, try)
	if err != nil {
		return vec.Value{}, err
	}
	return out.Value(0), nil
}

func boxed(v vec.Value) *vec.Vector {
	out := vec.New(v.Type, 1)
	out.Append(v)
	return out
}

// CompareBoxed orders two boxed values of one type as [CompareRows] does.
func CompareBoxed(a, b vec.Value) int { return CompareRows(boxed(a), 0, boxed(b), 0) }
