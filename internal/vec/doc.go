// Package vec is the executor's data model: vectors in Arrow's layout, chunks
// of up to [ChunkRows] rows with a selection, and boxed values for literals.
//
// In: typed columns from storage, Arrow arrays from the wire. Out: the same
// columns to operators and, copied once, to the sink. It never evaluates an
// expression and never does I/O. It imports types and fail.
//
// A chunk belongs to the operator that was handed it until that operator
// returns; whoever keeps rows longer copies them ([Vector.AppendRows]). Column
// data that storage handed out is immutable and may be shared by goroutines.
package vec
