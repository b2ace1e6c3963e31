package wal

import (
	"time"

	"github.com/loamdb/loam/metastore"
)

// Block is a run of records that one caller appends to one partition.
type Block struct {
	ObjectID    uint64
	Incarnation string // of the object, as its catalog entry has it
	Partition   int
	Records     uint32 // > 0
	// Payload is kept until the append is decided, which may be after a canceled
	// Append has returned: the caller never changes it.
	Payload []byte
	// Bytes is the size that counts against the backlog budget; it is kept with
	// the reference.
	Bytes int64
	// Expect, when set, is the partition's next offset that the write was planned
	// on; if it has moved, every block of the same Append fails with Conflict.
	Expect *uint64
}

// Result is the fate of one block. With Err nil the block is durable and
// readable at offsets Base to Base+Records.
type Result struct {
	Base uint64
	TS   int64 // ingest time, microseconds
	// Ref names the stored run that holds the block, perhaps with records of
	// other callers around it; ReadBlock splits it.
	Ref metastore.Ref
	Err error
}

// Batch is what one caller appended, as read back.
type Batch struct {
	Base    uint64 // stream offset of the first record
	Records uint32
	TS      int64 // microseconds
	Payload []byte
}

// Options configure a log. The zero value is right for the file store.
type Options struct {
	// FlushBytes ends the filling of a segment; 0 means 4 MiB.
	FlushBytes int64
	// Window is 0 for the file store, whose flushes batch naturally: a
	// segment takes what has arrived while the one before was flushed. Above 0 a
	// flush waits that long for company, for stores that charge by
	// the request.
	Window time.Duration
}

// Stats count what a log has done since it was opened.
type Stats struct {
	Flushes  uint64 // segments sequenced or failed
	Failures uint64 // flushes that failed as a whole
	Blocks   uint64 // blocks in them
	Bytes    uint64 // segment bytes made durable
	Moves    uint64 // index objects written
}
