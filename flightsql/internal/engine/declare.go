package engine

import (
	"context"
	"slices"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/types"
)

// Declare prepares a statement again where the types of given parameters close
// what the statement leaves open; else it returns st. Errors:
// fail.UndefinedParameter for another number of parameters than st has.
func Declare(ctx context.Context, sess Session, sql string, st Statement, given []types.Type) (Statement, error) {
	want := st.Params()
	if len(given) != len(want) {
		return nil, fail.New(fail.UndefinedParameter, "%s bound, the statement has %d", fail.Count(len(given), "parameter is", "parameters are"), len(want))
	}
	declared, again := slices.Clone(want), false
	for i, t := range want {
		if t.Kind == types.Unknown && given[i].Kind != types.Unknown {
			declared[i], again = given[i], true
		}
	}
	if !again {
		return st, nil
	}
	return sess.Prepare(ctx, sql, declared)
}
