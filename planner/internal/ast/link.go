package ast

// CreateStream is CREATE [OR REPLACE] STREAM [IF NOT EXISTS] name [(columns)] [WITH (…)].
type CreateStream struct {
	Span
	OrReplace   bool
	IfNotExists bool
	Name        Name
	Columns     []*ColumnDef
	Options     []*Option
}

// StartKind is where a link begins to read.
type StartKind uint8

// The starts.
const (
	StartEarliest StartKind = iota + 1
	StartLatest
	StartTimestamp // AT TIMESTAMP expr
	StartOffsets   // AT OFFSETS {partition: offset, …}
)

// String is the clause.
func (k StartKind) String() string {
	return [...]string{"?", "EARLIEST", "LATEST", "AT TIMESTAMP", "AT OFFSETS"}[k]
}

// Start is START EARLIEST|LATEST|AT TIMESTAMP x|AT OFFSETS {…}; Value is set for
// the last two (a [StructLit] or [MapLit] for offsets).
type Start struct {
	Span
	Kind  StartKind
	Value Expr
}

// CreateLink is CREATE LINK … FROM STREAM|TABLE … INTO … TRANSFORM (SELECT …) WITH (…).
type CreateLink struct {
	Span
	OrReplace   bool
	IfNotExists bool
	Name        Name
	// From is STREAM or TABLE.
	From       string
	Source     Name
	Partitions []int64
	Start      *Start
	// Into is COLLECTION, TABLE, GRAPH or STREAM.
	Into    string
	Target  Name
	Columns []Ident
	// Decode is JSON, AVRO, PROTOBUF, CSV or RAW; "" without DECODE AS.
	Decode        string
	DecodeOptions []*Option
	// Transform is nil without TRANSFORM; its Select has no FROM.
	Transform *Query
	// OnError is FAIL, SKIP or DEAD_LETTER; DeadLetter the stream it names, if any.
	OnError    string
	DeadLetter Name
	// OnSchema is PROPAGATE, PAUSE or IGNORE.
	OnSchema   string
	Key        []Expr
	DeleteWhen Expr
	Paused     bool
	Comment    string
	Options    []*Option
}

// LinkAction is what an [AlterLink] does.
type LinkAction uint8

// The actions. PAUSE LINK and RESUME LINK are the same as ALTER LINK … PAUSE and RESUME.
const (
	LinkPause LinkAction = iota + 1
	LinkResume
	LinkRename
	LinkSet
	LinkReset
	LinkTransform
	LinkReplay
	LinkValidate
)

// String names the action.
func (a LinkAction) String() string {
	return [...]string{"?", "PAUSE", "RESUME", "RENAME TO", "SET", "RESET", "SET TRANSFORM", "REPLAY", "VALIDATE"}[a]
}

// AlterLink is a statement about one link that exists: ALTER LINK name …, PAUSE
// LINK name, RESUME LINK name, REPLAY LINK name, VALIDATE LINK name.
type AlterLink struct {
	Span
	Action    LinkAction
	IfExists  bool
	Name      Name
	NewName   Ident
	Drain     bool   // PAUSE … WITH DRAIN
	Reason    string // PAUSE … REASON 'text'
	Start     *Start // RESUME and REPLAY
	Transform *Query
	Options   []*Option
}

func (s *CreateStream) children(f func(Node)) {
	each(f, s.Columns)
	each(f, s.Options)
}

func (s *Start) children(f func(Node)) { opt(f, s.Value) }

func (s *CreateLink) children(f func(Node)) {
	opt(f, s.Start)
	each(f, s.DecodeOptions)
	opt(f, s.Transform)
	each(f, s.Key)
	opt(f, s.DeleteWhen)
	each(f, s.Options)
}

func (s *AlterLink) children(f func(Node)) {
	opt(f, s.Start)
	opt(f, s.Transform)
	each(f, s.Options)
}
