package schema

import "time"

// OnError says what a link does with a record that cannot become a row.
type OnError string

// What links do with bad records.
const (
	// FailOnError stops the link at the record.
	FailOnError OnError = "fail"
	// SkipOnError leaves it out and counts it.
	SkipOnError OnError = "skip"
	// DeadLetter keeps it, with its error, in the link's dead letters.
	DeadLetter OnError = "dead_letter"
)

// LinkState says whether a link runs.
type LinkState string

// The states of a link. They are kept: a restart changes none.
const (
	LinkRunning LinkState = "running"
	// LinkPaused was stopped by a user.
	LinkPaused LinkState = "paused"
	// LinkFailed has stopped by itself; Error says why.
	LinkFailed LinkState = "failed"
)

// LinkDef is what a link does. The transform is the object's Query.
type LinkDef struct {
	// Source, Target and Dead are the ids of objects; Dead is 0 unless OnError is DeadLetter.
	Source, Target, Dead uint64
	OnError              OnError
	// A batch is read when this much waits, or the oldest record has waited so long.
	BatchBytes    int64
	BatchInterval time.Duration
	// Start are the offsets at which the link begins, one a partition of the source;
	// nil for its beginning.
	Start []uint64
	State LinkState
	// Error is why a failed link stopped, and what the user gave as the reason of PAUSE.
	Error   *LinkError
	Comment string
}

// LinkError is why a link stands still.
type LinkError struct {
	Code    string // the stable name of a fail.Code; empty for a user's reason
	Message string
	// Partition and Offset name the record at which it stopped; -1 where no record is
	// to blame.
	Partition int
	Offset    int64
}
