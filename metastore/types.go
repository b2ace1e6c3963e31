package metastore

import (
	"context"
	"time"
)

// The limits of the metastore.
const (
	// MaxInlineRefs is the number of WAL references that a partition row holds;
	// older ones move to an index object (see Store.MoveRefs).
	MaxInlineRefs = 64
	// MaxPartitions is the largest number of partitions of one object.
	MaxPartitions = 64
	// MaxValueBytes bounds a definition.
	MaxValueBytes = 64 << 10
	// MaxNameLen bounds a namespace's or object's name, in bytes.
	MaxNameLen = 255
	// MaxSnapshotObjects is the number of objects that one statement may name.
	MaxSnapshotObjects = 90
	// MaxAppendPartitions is the number of distinct partitions that one
	// sequencing transaction can take; a larger Append uses several.
	MaxAppendPartitions = 90
	// AdvanceRows is what an Advance takes of that number.
	AdvanceRows = 4
	// MaxTags is the number of tags that one object can have.
	MaxTags = 64
	// MaxTagComment bounds a tag's comment, in bytes.
	MaxTagComment = 512
)

// Info describes the store.
type Info struct {
	ClusterID string // ULID, made with the store
	Major     uint64 // format version; another major is refused at open
	Minor     uint64
	CreatedMS int64 // metastore clock
}

// Namespace is a name space of objects.
type Namespace struct {
	ID        string // ULID
	Name      string // as declared
	Objects   int    // in it now
	CreatedMS int64
	// Definition is what its options are; opaque here.
	Definition []byte
}

// Object is an entry of the catalog. The definition is opaque here.
type Object struct {
	ID          uint64 // never reused
	Namespace   string // as declared with the namespace
	Name        string // as declared with the object; unique without case in its namespace
	Kind        string
	Incarnation string // ULID; distinguishes an object from an earlier one of its name
	// SchemaVersion counts the definitions, from 1.
	SchemaVersion uint64
	Partitions    int // 0 for an object without a log
	Definition    []byte
	CreatedMS     int64
}

// Ref names a run of records of one partition inside a WAL object.
type Ref struct {
	Base     uint64 // stream offset of the first record
	Records  uint32
	WALKey   string
	Off, Len int64  // bytes in the object
	Checksum uint64 // XXH3-64 of those bytes
	TS       int64  // ingest time, microseconds on the metastore's clock
	Bytes    int64  // what the writer counted as the size of the records
}

// End is the stream offset after the last record.
func (r Ref) End() uint64 { return r.Base + uint64(r.Records) }

// Overflow names the index object with the references that left the row.
type Overflow struct {
	IndexKey string // empty: none
	Upto     uint64 // the index ends at this stream offset, the inline references begin there
	Bytes    int64  // sum of Ref.Bytes that were moved since the index began
}

// PartitionState is the row of a partition.
//
//	Applied ≤ Next, Refs dense, last End = Next; where there is an overflow,
//	Applied < Overflow.Upto = Refs[0].Base, else Refs[0].Base ≤ Applied
type PartitionState struct {
	Incarnation string
	Next        uint64 // offset of the next record
	Applied     uint64 // every offset below is in the manifest
	LastTS      int64  // microseconds; the ingest time of the last append
	Refs        []Ref  // ordered, dense, at most MaxInlineRefs
	Overflow    Overflow
}

// Backlog is what waits to be applied. bytes may count a part of the overflow
// that has been applied already.
func (p PartitionState) Backlog() (records uint64, bytes int64) {
	bytes = p.Overflow.Bytes
	for _, r := range p.Refs {
		bytes += r.Bytes
	}
	return p.Next - p.Applied, bytes
}

// Head is the pointer to the current manifest of an object. A new object has
// the zero head.
type Head struct {
	Version          uint64
	ManifestKey      string
	ManifestChecksum uint64
	ManifestSize     int64
	LanceVersion     uint64
	CommitID         string   // ULID of the commit attempt
	Applied          []uint64 // per partition: what the manifest covers
	CreatedMS        int64    // metastore clock, set by Commit
	// GCEpoch counts the passes of garbage collection over the object. Commits
	// carry the one that they began under; it moves by BumpGCEpoch only.
	GCEpoch uint64
	// Oldest is the oldest manifest version that is retained without a tag; 0: all
	// are. It moves by ReleaseManifests only.
	//
	//	Oldest ≤ Version
	Oldest uint64
	// Written are the bytes of all files that commits have added. Freed are those of
	// them that neither a retained version nor a tag needs any more, and TagBytes those
	// that only tags need, each as the last Count said. Only Written moves by Commit.
	Written, Freed, TagBytes int64
}

// Bytes is the size of what the object's versions and tags keep: as it was counted
// last, and what was written since.
func (h Head) Bytes() int64 { return max(0, h.Written-h.Freed) }

// Tag is a name for one manifest of an object, which it keeps. It never moves.
type Tag struct {
	Name string // as declared; unique without case among the object's tags
	// ID is the ULID that tells the tag from an earlier one of its name; assigned.
	ID               string
	Version          uint64 // > 0
	ManifestKey      string
	ManifestChecksum uint64
	ManifestSize     int64
	LanceVersion     uint64
	Applied          []uint64 // per partition
	CreatedMS        int64    // metastore clock, assigned
	ExpiresMS        int64    // metastore clock; 0: never. Who acts on it drops the tag
	// Protect: as long as the tag exists, its object cannot be dropped.
	Protect bool
	Comment string
	// Exclusive are the bytes of the files that the tag keeps and no retained version,
	// as the last Count said; below 0 before. Files that several tags keep count for
	// each of them.
	Exclusive int64
}

// Count is what garbage collection has found of an object's files.
type Count struct {
	// Freed and TagBytes are those of [Head].
	Freed, TagBytes int64
	// Tags are the exclusive bytes of tags, by their ids.
	Tags map[string]int64
}

// TagRequest asks for a tag; its ID, CreatedMS and Exclusive are assigned.
type TagRequest struct {
	ObjectID    uint64
	Incarnation string
	Tag         Tag
	// Limit is the number of tags that the object may have with this one, at most
	// MaxTags, which 0 stands for.
	Limit int
}

// Root is what keeps an object's files: every version from Head.Oldest (0: the
// first) to the head, and those that tags name. All of one revision.
type Root struct {
	ObjectID    uint64
	Incarnation string
	Head        Head
	Tags        []Tag // by name
	Revision    int64
}

// ObjectState is the state of one object at one revision.
type ObjectState struct {
	ID          uint64
	Incarnation string
	Head        Head
	Partitions  []PartitionState
	// Progress are the links into the object, by id.
	Progress []Progress
}

// Snapshot is the state of several objects at one revision.
type Snapshot struct {
	Revision int64
	Objects  []ObjectState // in the order asked for
}

// AppendBlock asks for offsets for a run of records whose bytes are durable.
type AppendBlock struct {
	ObjectID    uint64
	Incarnation string
	Partition   int
	Records     uint32 // > 0
	Bytes       int64
	WALKey      string // ends in a ULID and an extension; the ULID tells when it was made
	Off, Len    int64
	Checksum    uint64
	// Expect, when set, is the partition's next offset that the writer planned
	// on; another one gives the block fail.Conflict.
	Expect *uint64
	// Advance, when set, moves a link's progress if and only if the block's group is
	// appended. Such a block may have no records: then it only moves the link.
	Advance *Advance
	// Produce, when set, makes the block's group a batch of a producer, which is
	// appended once. It stands at the first block of the group.
	Produce *Produce
	// Group ties blocks together, which are the parts of one statement: those of a
	// call with the same number above 0 are appended all or none, in the place of
	// the first of them. They share the error of the one that cannot be appended.
	Group int
}

// moves reports a block that only moves a link.
func (b *AppendBlock) moves() bool { return b.Records == 0 && b.Advance != nil }

// AppendResult is the fate of one block. With Err nil, Base and TS are set.
type AppendResult struct {
	Base   uint64
	TS     int64
	Inline int // references in the partition's row after the append
	Err    error
}

// Fence is a lease that must still be held when a commit takes effect.
type Fence struct {
	Key   string
	Epoch uint64
}

// Lease is the right to work on a key. Losing it stops no work by itself: the
// fence in the commit does.
type Lease struct {
	Key        string
	Owner      string
	Epoch      uint64 // grows with each acquisition, over all keys; never reused
	DeadlineMS int64  // metastore clock
	Token      string // ULID of the acquisition
}

// Fence is the token that a commit under this lease carries.
func (l Lease) Fence() Fence { return Fence{Key: l.Key, Epoch: l.Epoch} }

// CommitRequest moves the head of an object.
type CommitRequest struct {
	ObjectID      uint64
	Incarnation   string
	ExpectVersion uint64 // Head.Version that the new manifest was built on
	Head          Head   // Version = ExpectVersion + 1; CommitID unique per attempt; GCEpoch, Oldest and the bytes are not looked at
	// GCEpoch is Head.GCEpoch as it was before the first file of the commit was
	// written. One pass of garbage collection may have begun since, not two: the
	// second deletes files that it takes for nobody's.
	GCEpoch uint64
	// Added are the bytes of the files that are new with the version.
	Added  int64
	Fences []Fence
}

// CatalogChange is a set of changes that take effect together. It names each
// object at most once.
type CatalogChange struct {
	// IfRevision, when set, is the catalog revision that the change was decided on;
	// another one gives Conflict.
	IfRevision *uint64
	// Drop are the ids of objects to remove.
	Drop []uint64
	// Update changes objects that stay.
	Update []ObjectUpdate
	// Create, when set, is added as CreateObject does, after the drops: it may
	// take the name of a dropped object.
	Create *Object
	// Forget are the progress rows of links that are dropped.
	Forget []ProgressRow
	// DropNamespace, when not empty, is removed; it must be empty after the drops.
	DropNamespace string
}

// ObjectUpdate gives an object another definition, and another name unless Name is empty.
type ObjectUpdate struct {
	ID                  uint64
	ExpectSchemaVersion uint64
	Name                string
	Definition          []byte
}

// Store is the metastore. All methods are safe for concurrent use. Reads are
// linearizable. A context that ends before an operation starts gives Canceled or
// DeadlineExceeded; once its transaction is sent, it is waited for.
type Store interface {
	Info(ctx context.Context) (Info, error)
	// Secret returns n random bytes, made at the first call for the name and the
	// same ever after, also on other nodes.
	Secret(ctx context.Context, name string, n int) ([]byte, error)
	// Now is the metastore clock in milliseconds. It never goes back, also over
	// restarts, and a wall clock that is set forward moves it by at most ten
	// seconds a call beyond the time that really passed.
	Now(ctx context.Context) (int64, error)
	// StoreAddress is where the objects of this metastore lie; empty: nobody has said.
	// It is for people: what ties a store to a metastore is the cluster id in it.
	StoreAddress(ctx context.Context) (string, error)
	SetStoreAddress(ctx context.Context, address string) error
	// KeepNode is a sign of life of a node: it writes its row with the time. Started
	// and seen times are assigned.
	KeepNode(ctx context.Context, n Node) error
	// DropNode removes a node's row; an absent one is no error.
	DropNode(ctx context.Context, id string) error
	// Nodes lists the nodes by ID, dead ones that nobody has dropped too.
	Nodes(ctx context.Context) ([]Node, error)
	// DBSize is the size of the database file in bytes (in memory: of the rows).
	DBSize() int64
	// Close stops the store. Operations after it give Unavailable.
	Close() error

	// CreateNamespace makes the namespace and reports whether it is new; one that is
	// there keeps its definition.
	CreateNamespace(ctx context.Context, name string, definition []byte) (created bool, err error)
	// UpdateNamespace replaces the definition if it still is the expected one, else
	// Conflict.
	UpdateNamespace(ctx context.Context, name string, expect, definition []byte) error
	// DropNamespace removes an empty namespace.
	DropNamespace(ctx context.Context, name string) error
	// ListNamespaces returns all, ordered by lower-cased name.
	ListNamespaces(ctx context.Context) ([]Namespace, error)

	// CreateObject adds the object with its partition rows and a zero head. ID,
	// Incarnation, SchemaVersion and CreatedMS are assigned.
	CreateObject(ctx context.Context, o Object) (Object, error)
	// DropObject removes the object and its rows. Its data objects stay for GC.
	// Dependents while it has a protected tag.
	DropObject(ctx context.Context, id uint64) error
	// UpdateObject replaces the definition if its schema version is still
	// expectSchemaVersion, else Conflict, and counts the version up.
	UpdateObject(ctx context.Context, id, expectSchemaVersion uint64, definition []byte) (Object, error)
	// ChangeCatalog makes all of the changes in one transaction, or none, and
	// returns the object that it creates. Dropping is as in DropObject.
	ChangeCatalog(ctx context.Context, c CatalogChange) (Object, error)
	// GetObject finds an object by name, without case.
	GetObject(ctx context.Context, namespace, name string) (Object, error)
	GetObjectByID(ctx context.Context, id uint64) (Object, error)
	// ListObjects returns the objects of a namespace, or of all for "", by ID, as
	// of one catalog revision.
	ListObjects(ctx context.Context, namespace string) ([]Object, error)
	// CatalogRevision grows with every change of a namespace or object.
	CatalogRevision(ctx context.Context) (uint64, error)

	// Append assigns offsets and one ingest time to the blocks, in order. The
	// error of a block (Conflict, UndefinedTable, BacklogFull) does not hold up the
	// others; an error of the whole call means that no block was appended, unless
	// it is CommitUnknown. Blocks over more than MaxAppendPartitions partitions
	// are split: then a part may be in, as the results tell.
	Append(ctx context.Context, blocks []AppendBlock) ([]AppendResult, error)
	// Producers are those of an object that are remembered, in the order of their
	// names as keys.
	Producers(ctx context.Context, objectID uint64) ([]Producer, error)
	// ForgetProducers drops those whose last batch has an ingest time (microseconds)
	// below before, and says how many.
	ForgetProducers(ctx context.Context, objectID uint64, before int64) (int, error)
	// Heads is the state of one object at one revision.
	Heads(ctx context.Context, objectID uint64) (Head, []PartitionState, int64, error)
	// Snapshot is the state of several objects at one revision.
	Snapshot(ctx context.Context, objectIDs []uint64) (Snapshot, error)
	// MoveRefs drops the inline references that end at or below upTo, for they are
	// in the durable index object newIndexKey. Conflict when the partition's
	// index is no longer expectIndexKey.
	MoveRefs(ctx context.Context, objectID uint64, partition int, upTo uint64, newIndexKey, expectIndexKey string) error
	// TrimRefs drops the references that end at or below upTo without a commit,
	// for logs that are kept by age. Applied rises to upTo.
	TrimRefs(ctx context.Context, objectID uint64, partition int, upTo uint64) error
	// CondemnWAL promises that no WAL or index object with a ULID below floor
	// will be referenced from now on, unless it already is. The floor only rises.
	CondemnWAL(ctx context.Context, floor string) error
	// ScanPartitions calls fn with every partition row that existed throughout
	// the call. fn's error ends it.
	ScanPartitions(ctx context.Context, fn func(objectID uint64, partition int, p PartitionState) error) error

	// Commit moves the head, the applied offsets and drops the references below
	// them, if the version, the incarnation, the epoch and all fences hold; else Conflict.
	// Repeating a commit that took effect returns its head.
	Commit(ctx context.Context, req CommitRequest) (Head, error)
	// BumpGCEpoch raises the object's epoch of garbage collection, by one or, when
	// another pass begins at the same time, by more, and returns it.
	BumpGCEpoch(ctx context.Context, objectID uint64) (uint64, error)
	// ReleaseManifests lets the versions below oldest go, but for those that tags
	// name: Head.Oldest rises to it, and never falls. OutOfRange above the head.
	ReleaseManifests(ctx context.Context, objectID, oldest uint64) error
	// CountBytes notes what was counted. Freed only rises; tags that are gone are passed over.
	CountBytes(ctx context.Context, objectID uint64, c Count) error

	// CreateTag adds a tag of a version that is retained or that another tag names,
	// as that one transaction sees them; else SnapshotExpired. DuplicateObject when
	// the name is taken, TooLarge at the limit.
	CreateTag(ctx context.Context, req TagRequest) (Tag, error)
	// DropTag removes the tag and returns it; with an id only if it is still that
	// one. UndefinedTag when there is none.
	DropTag(ctx context.Context, objectID uint64, name, id string) (Tag, error)
	// Tags are the object's tags by name.
	Tags(ctx context.Context, objectID uint64) ([]Tag, error)
	// Roots calls fn with the root of every object that existed throughout the
	// call, by id, each as of a revision of its own. fn's error ends it.
	Roots(ctx context.Context, fn func(Root) error) error
	// Root is the root of one object.
	Root(ctx context.Context, objectID uint64) (Root, error)

	// AcquireLease takes the key if it is free, expired, or the owner's own; else Locked.
	AcquireLease(ctx context.Context, key, owner string, ttl time.Duration) (Lease, error)
	// RenewLease extends a lease that nobody has taken, else Conflict.
	RenewLease(ctx context.Context, l Lease, ttl time.Duration) (Lease, error)
	// ReleaseLease gives the key back; it does nothing when the lease is lost.
	ReleaseLease(ctx context.Context, l Lease) error
}
