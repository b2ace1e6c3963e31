// Package slab reuses the memory of sent batches for the next ones: it is neither
// cleared nor collected in between.
//
// In: an Arrow allocator. Out: an Arrow allocator whose memory is not zero, for
// whoever writes all that it asks for. It knows nothing of batches or wires. It
// imports Arrow alone.
package slab
