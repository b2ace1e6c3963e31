package functions

import (
	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/types"
)

// windowTable holds the functions that stand with OVER only; every aggregate
// stands there too. NULL positions and numbers of buckets give NULL.
var windowTable = []def{
	{names: "row_number", help: "number of the row in its partition, from 1", window: expr.RowNumber, sigs: []sig{{ret: "bigint"}}},
	{names: "rank", help: "number of the first of the row's peers: ties share a rank and leave a gap", window: expr.Rank, sigs: []sig{{ret: "bigint"}}},
	{names: "dense_rank", help: "number of the row's peer group: ties share a rank and leave no gap", window: expr.DenseRank, sigs: []sig{{ret: "bigint"}}},
	{names: "percent_rank", help: "(rank - 1) / (rows of the partition - 1), from 0 to 1", window: expr.PercentRank, sigs: []sig{{ret: "double"}}},
	{names: "cume_dist", help: "part of the partition's rows up to the row's last peer, up to 1", window: expr.CumeDist, sigs: []sig{{ret: "double"}}},
	{names: "ntile", help: "number of the row's bucket, of so many buckets of nearly equal size", window: expr.Ntile, sigs: []sig{{in: "bigint", ret: "int"}}},
	{names: "lag", help: "value so many rows before (1), or a default (NULL) where there is no such row", window: expr.Lag, sigs: []sig{{in: "any, bigint, any", bind: offsetArgs}}},
	{names: "lead", help: "value so many rows after (1), or a default (NULL) where there is no such row", window: expr.Lead, sigs: []sig{{in: "any, bigint, any", bind: offsetArgs}}},
	{names: "first_value first", help: "value of the first row of the frame", window: expr.FirstValue, sigs: []sig{{in: "any", ret: "same"}}},
	{names: "last_value last", help: "value of the last row of the frame", window: expr.LastValue, sigs: []sig{{in: "any", ret: "same"}}},
	{names: "nth_value", help: "value of the n-th row of the frame, from 1", window: expr.NthValue, sigs: []sig{{in: "any, bigint", ret: "same"}}},
}

// offsetArgs are the arguments of lag and lead: a value, how many rows away it
// is, and what stands where there is no such row, of the value's type or one
// that both can be cast to.
func offsetArgs(args []types.Type) ([]types.Type, types.Type, error) {
	if len(args) < 1 || len(args) > 3 || len(args) > 1 && args[1].Kind != types.Unknown && !args[1].Integer() {
		return nil, types.Type{}, nil
	}
	values := []types.Type{args[0]}
	if len(args) == 3 {
		values = append(values, args[2])
	}
	t, ok := commonOf(values)
	if !ok {
		return nil, types.Type{}, nil
	}
	return []types.Type{t, types.Of(types.Int64), t}[:len(args)], t, nil
}
