package metastore

import (
	"encoding/binary"
	"math"

	"github.com/loamdb/loam/internal/fail"
)

// rowVersion is the first byte of every row value.
const rowVersion = 0

// enc builds a row value: unsigned and zigzag varints, length-prefixed bytes.
type enc struct{ b []byte }

func newEnc() *enc { return &enc{b: []byte{rowVersion}} }

func (e *enc) uint(v uint64)  { e.b = binary.AppendUvarint(e.b, v) }
func (e *enc) int(v int64)    { e.b = binary.AppendVarint(e.b, v) }
func (e *enc) fixed(v uint64) { e.b = binary.LittleEndian.AppendUint64(e.b, v) }
func (e *enc) str(s string) {
	e.uint(uint64(len(s)))
	e.b = append(e.b, s...)
}

func (e *enc) offsets(list []uint64) {
	e.uint(uint64(len(list)))
	for _, v := range list {
		e.uint(v)
	}
}

func (e *enc) bool(v bool) {
	if v {
		e.uint(1)
		return
	}
	e.uint(0)
}

// dec reads a row value. The first fault sticks; the callers look at the end.
type dec struct {
	key string
	b   []byte
	err error
}

func newDec(r row) *dec {
	d := &dec{key: r.key, b: r.value}
	switch {
	case len(r.value) == 0:
		d.fault("is empty")
	case r.value[0] != rowVersion:
		d.err = fail.New(fail.Corrupt, "metastore row %q has format version %d; this program reads version %d", r.key, r.value[0], rowVersion)
	default:
		d.b = r.value[1:]
	}
	return d
}

func (d *dec) fault(what string) {
	if d.err == nil {
		d.err = fail.New(fail.Corrupt, "metastore row %q %s", d.key, what)
	}
	d.b = nil
}

func (d *dec) uint() uint64 {
	v, n := binary.Uvarint(d.b)
	if n <= 0 {
		d.fault("ends early")
		return 0
	}
	d.b = d.b[n:]
	return v
}

func (d *dec) int() int64 {
	v, n := binary.Varint(d.b)
	if n <= 0 {
		d.fault("ends early")
		return 0
	}
	d.b = d.b[n:]
	return v
}

func (d *dec) fixed() uint64 {
	if len(d.b) < 8 {
		d.fault("ends early")
		return 0
	}
	v := binary.LittleEndian.Uint64(d.b)
	d.b = d.b[8:]
	return v
}

func (d *dec) str() string {
	n := d.uint()
	if n > uint64(len(d.b)) {
		d.fault("ends early")
		return ""
	}
	s := string(d.b[:n])
	d.b = d.b[n:]
	return s
}

func (d *dec) bytes() []byte { return []byte(d.str()) }

// count reads a number of items that take at least one byte each, so that a
// damaged row cannot ask for memory.
func (d *dec) count() int {
	n := d.uint()
	if n > uint64(len(d.b)) {
		d.fault("counts more items than it holds")
		return 0
	}
	return int(n)
}

func (d *dec) offsets() []uint64 {
	var list []uint64
	if n := d.count(); n > 0 {
		list = make([]uint64, n)
	}
	for i := range list {
		list[i] = d.uint()
	}
	return list
}

func (d *dec) bool() bool {
	v := d.uint()
	if v > 1 {
		d.fault("holds a flag that is neither 0 nor 1")
	}
	return v == 1
}

func (d *dec) smallInt() int {
	v := d.uint()
	if v > math.MaxInt32 {
		d.fault("holds a number out of range")
		return 0
	}
	return int(v)
}

// end returns the first fault; bytes left over are one.
func (d *dec) end() error {
	if d.err == nil && len(d.b) > 0 {
		d.fault("has bytes left over")
	}
	return d.err
}

func encodeObject(o Object) []byte {
	e := newEnc()
	e.uint(o.ID)
	e.str(o.Namespace)
	e.str(o.Name)
	e.str(o.Kind)
	e.str(o.Incarnation)
	e.uint(o.SchemaVersion)
	e.uint(uint64(o.Partitions))
	e.str(string(o.Definition))
	e.int(o.CreatedMS)
	return e.b
}

func decodeObject(r row) (Object, error) {
	d := newDec(r)
	o := Object{ID: d.uint(), Namespace: d.str(), Name: d.str(), Kind: d.str(), Incarnation: d.str(),
		SchemaVersion: d.uint(), Partitions: d.smallInt(), Definition: d.bytes(), CreatedMS: d.int()}
	return o, d.end()
}

func encodeNamespace(n Namespace) []byte {
	e := newEnc()
	e.str(n.ID)
	e.str(n.Name)
	e.uint(uint64(n.Objects))
	e.int(n.CreatedMS)
	e.str(string(n.Definition))
	return e.b
}

func decodeNamespace(r row) (Namespace, error) {
	d := newDec(r)
	n := Namespace{ID: d.str(), Name: d.str(), Objects: d.smallInt(), CreatedMS: d.int(), Definition: d.bytes()}
	return n, d.end()
}

func encodePartition(p PartitionState) []byte {
	e := newEnc()
	e.str(p.Incarnation)
	e.uint(p.Next)
	e.uint(p.Applied)
	e.int(p.LastTS)
	e.str(p.Overflow.IndexKey)
	e.uint(p.Overflow.Upto)
	e.int(p.Overflow.Bytes)
	e.uint(uint64(len(p.Refs)))
	for _, r := range p.Refs {
		e.uint(r.Base)
		e.uint(uint64(r.Records))
		e.str(r.WALKey)
		e.int(r.Off)
		e.int(r.Len)
		e.fixed(r.Checksum)
		e.int(r.TS)
		e.int(r.Bytes)
	}
	return e.b
}

func decodePartition(r row) (PartitionState, error) {
	d := newDec(r)
	p := PartitionState{Incarnation: d.str(), Next: d.uint(), Applied: d.uint(), LastTS: d.int(),
		Overflow: Overflow{IndexKey: d.str(), Upto: d.uint(), Bytes: d.int()}}
	if n := d.count(); n > 0 {
		p.Refs = make([]Ref, n)
	}
	for i := range p.Refs {
		p.Refs[i] = Ref{Base: d.uint(), Records: uint32(d.smallInt()), WALKey: d.str(), Off: d.int(),
			Len: d.int(), Checksum: d.fixed(), TS: d.int(), Bytes: d.int()}
	}
	return p, d.end()
}

// headRow is the head with the commits before it, by which a commit whose reply
// was lost is found again after others have followed.
type headRow struct {
	Incarnation string
	Head        Head
	Recent      []Head // newest first, at most maxRecent; only Version and CommitID are kept
}

const maxRecent = 8

func encodeHead(h headRow) []byte {
	e := newEnc()
	e.str(h.Incarnation)
	e.uint(h.Head.Version)
	e.str(h.Head.ManifestKey)
	e.fixed(h.Head.ManifestChecksum)
	e.int(h.Head.ManifestSize)
	e.uint(h.Head.LanceVersion)
	e.str(h.Head.CommitID)
	e.int(h.Head.CreatedMS)
	e.uint(h.Head.GCEpoch)
	e.uint(h.Head.Oldest)
	e.int(h.Head.Written)
	e.int(h.Head.Freed)
	e.int(h.Head.TagBytes)
	e.offsets(h.Head.Applied)
	e.uint(uint64(len(h.Recent)))
	for _, r := range h.Recent {
		e.uint(r.Version)
		e.str(r.CommitID)
	}
	return e.b
}

func decodeHead(r row) (headRow, error) {
	d := newDec(r)
	h := headRow{Incarnation: d.str()}
	h.Head = Head{Version: d.uint(), ManifestKey: d.str(), ManifestChecksum: d.fixed(), ManifestSize: d.int(),
		LanceVersion: d.uint(), CommitID: d.str(), CreatedMS: d.int(), GCEpoch: d.uint(), Oldest: d.uint(),
		Written: d.int(), Freed: d.int(), TagBytes: d.int(), Applied: d.offsets()}
	for n := d.count(); n > 0 && d.err == nil; n-- {
		h.Recent = append(h.Recent, Head{Version: d.uint(), CommitID: d.str()})
	}
	return h, d.end()
}

// encodeTags is the row of an object's tags.
func encodeTags(tags []Tag) []byte {
	e := newEnc()
	e.uint(uint64(len(tags)))
	for _, t := range tags {
		e.str(t.Name)
		e.str(t.ID)
		e.uint(t.Version)
		e.str(t.ManifestKey)
		e.fixed(t.ManifestChecksum)
		e.int(t.ManifestSize)
		e.uint(t.LanceVersion)
		e.offsets(t.Applied)
		e.int(t.CreatedMS)
		e.int(t.ExpiresMS)
		e.bool(t.Protect)
		e.str(t.Comment)
		e.int(t.Exclusive)
	}
	return e.b
}

func decodeTags(r row) ([]Tag, error) {
	d := newDec(r)
	var tags []Tag
	for n := d.count(); n > 0 && d.err == nil; n-- {
		tags = append(tags, Tag{Name: d.str(), ID: d.str(), Version: d.uint(), ManifestKey: d.str(), ManifestChecksum: d.fixed(),
			ManifestSize: d.int(), LanceVersion: d.uint(), Applied: d.offsets(), CreatedMS: d.int(), ExpiresMS: d.int(),
			Protect: d.bool(), Comment: d.str(), Exclusive: d.int()})
	}
	return tags, d.end()
}

// encodeName is the row that leads from a name to the object.
func encodeName(o Object) []byte {
	e := newEnc()
	e.uint(o.ID)
	e.str(o.Incarnation)
	return e.b
}

func decodeName(r row) (id uint64, incarnation string, err error) {
	d := newDec(r)
	id, incarnation = d.uint(), d.str()
	return id, incarnation, d.end()
}

func encodeLease(l Lease) []byte {
	e := newEnc()
	e.str(l.Owner)
	e.uint(l.Epoch)
	e.int(l.DeadlineMS)
	e.str(l.Token)
	return e.b
}

func decodeLease(key string, r row) (Lease, error) {
	d := newDec(r)
	l := Lease{Key: key, Owner: d.str(), Epoch: d.uint(), DeadlineMS: d.int(), Token: d.str()}
	return l, d.end()
}

func encodeInfo(i Info) []byte {
	e := newEnc()
	e.uint(i.Major)
	e.uint(i.Minor)
	e.str(i.ClusterID)
	e.int(i.CreatedMS)
	return e.b
}

// decodeInfo stops after the major version when that is not ours: the rest may
// look different.
func decodeInfo(r row) (Info, error) {
	d := newDec(r)
	i := Info{Major: d.uint()}
	if d.err == nil && i.Major != formatMajor {
		return i, fail.New(fail.Unsupported, "the metastore has format version %d; this program reads version %d", i.Major, formatMajor).
			WithHint("Use the release of Loam that wrote this data directory, or a newer one.")
	}
	i.Minor, i.ClusterID, i.CreatedMS = d.uint(), d.str(), d.int()
	return i, d.end()
}

func encodeUint(v uint64) []byte {
	e := newEnc()
	e.uint(v)
	return e.b
}

func decodeUint(r row) (uint64, error) {
	d := newDec(r)
	v := d.uint()
	return v, d.end()
}

func encodeText(s string) []byte {
	e := newEnc()
	e.str(s)
	return e.b
}

func decodeText(r row) (string, error) {
	d := newDec(r)
	s := d.str()
	return s, d.end()
}
