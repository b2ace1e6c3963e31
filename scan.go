package loam

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/plan"
	"github.com/loamdb/loam/internal/schema"
	"github.com/loamdb/loam/internal/snapshot"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/storage/collection"
)

// tokenWait is how long a scan plan waits for a token.
const tokenWait = 10 * time.Second

// ScanPlan pins an object and cuts it into parts: one a fragment, and in mode
// merge one for the tail.
func (s *Session) ScanPlan(ctx context.Context, req ScanRequest) (*ScanPlan, error) {
	c, obj, err := s.find(ctx, req.Target)
	if err != nil {
		return nil, err
	}
	tail := req.Tail
	switch {
	case tail == "" && (req.Past() || req.Token != nil):
		tail = TailNone
	case tail == "":
		tail = TailMerge
	case tail != TailNone && tail != TailMerge && tail != TailWait:
		return nil, fail.New(fail.InvalidParameter, "tail is %q", tail).WithHint("It is none, merge or wait.")
	case req.Past() && tail != TailNone:
		return nil, fail.New(fail.InvalidParameter, "a manifest version has no tail: tail %q does not go with it", tail)
	}
	snap, err := s.scanSnapshot(ctx, c, req, tail)
	if err != nil {
		return nil, err
	}
	p := &ScanPlan{Object: obj, ID: s.engine.cfg.IDs.ULID(), ManifestVersion: snap.Version(), Tail: tail, TailRecords: snap.TailRecords()}
	if p.Columns, err = planColumns(snap, obj, req.Columns); err != nil {
		return nil, err
	}
	if uri, version, path, ok := snap.LanceAddress(c); ok {
		p.Lance = &LanceVersion{URI: uri, Version: version, VersionText: strconv.FormatUint(version, 10), ManifestPath: path, StorageFormat: "2.1"}
	}
	if err := p.describe(snap); err != nil {
		return nil, err
	}
	return p, s.engine.schedule(ctx, p, c, snap)
}

// scanSnapshot is the state that the plan pins.
func (s *Session) scanSnapshot(ctx context.Context, c *collection.Collection, req ScanRequest, tail ScanTail) (*collection.Snapshot, error) {
	if req.Past() {
		return pastSnapshot(ctx, c, req)
	}
	if req.Token != nil {
		if err := c.WaitToken(ctx, *req.Token, tokenWait); err != nil {
			return nil, err
		}
	}
	if tail == TailWait || req.Token != nil && tail == TailNone || c.LanceBehind() {
		if err := c.Settle(ctx, nil); err != nil {
			return nil, err
		}
	}
	snap, err := c.Strong(ctx)
	if err != nil || tail == TailMerge {
		return snap, err
	}
	// Without the tail the pin is the manifest alone: what came after the wait is not read.
	return c.Pinned(ctx, snap.Version(), snap.Applied())
}

// pastSnapshot is the version that the request names.
func pastSnapshot(ctx context.Context, c *collection.Collection, req ScanRequest) (*collection.Snapshot, error) {
	var m moment
	switch {
	case req.ManifestVersion != nil:
		m = moment{kind: plan.AtVersion, version: *req.ManifestVersion}
	case req.Tag != nil:
		m = moment{kind: plan.AtTag, tag: *req.Tag}
	default:
		m = moment{kind: plan.AtTimestamp, ms: req.Timestamp.UnixMilli()}
	}
	head, err := c.Head(ctx)
	if err != nil {
		return nil, err
	}
	p, err := m.point(ctx, c, head)
	if err != nil {
		return nil, err
	}
	return c.Pinned(ctx, p.Version, p.Bounds)
}

// describe fills in fragments, parts and rows.
func (p *ScanPlan) describe(snap *collection.Snapshot) error {
	infos, err := snap.FragmentInfos()
	if err != nil {
		return err
	}
	pin := objectPin(snap)
	names := make([]string, len(p.Columns))
	for i, c := range p.Columns {
		names[i] = c.Name
	}
	for _, f := range infos {
		out := ScanFragment{ID: f.ID, PhysicalRows: int64(f.Physical), DeletedRows: int64(f.Deleted), LiveRows: int64(f.Live), Files: f.Files, Lance: f.JSON}
		if f.DeletionPath != "" {
			out.DeletionFile = &ScanDeletion{Path: f.DeletionPath, Kind: "bitmap", DeletedRows: int64(f.Deleted)}
		}
		if !f.Superseded.IsEmpty() {
			if out.Superseded, err = f.Superseded.ToBytes(); err != nil {
				return fail.Wrap(fail.Internal, err, "superseded rows")
			}
		}
		p.Fragments = append(p.Fragments, out)
		p.LiveRows += int64(f.Live)
		at := pin
		at.Part = &Part{Fragments: []uint64{f.ID}}
		p.Parts = append(p.Parts, ScanPart{Object: at, Columns: names, Fragment: int64(f.ID), LiveRows: int64(f.Live)})
	}
	if p.Tail == TailMerge && snap.TailRecords() > 0 {
		at := pin
		at.Part = &Part{Tail: true}
		p.Parts = append(p.Parts, ScanPart{Object: at, Columns: names, Fragment: -1, LiveRows: int64(snap.TailLive())})
		p.LiveRows += int64(snap.TailLive())
	}
	for i, a := range snap.Applied() {
		p.Offsets = append(p.Offsets, ScanOffset{Applied: a, Target: snap.Bounds()[i]})
	}
	p.DurableToken = snapshot.Token{ObjectID: pin.ObjectID, Incarnation: pin.Incarnation, Offsets: slices.Clone(snap.Applied())}
	p.Pin = Pin{Objects: []ObjectPin{pin}}
	return nil
}

// schedule sets the plan's times on the metastore's clock.
func (e *Engine) schedule(ctx context.Context, p *ScanPlan, c *collection.Collection, snap *collection.Snapshot) error {
	now, err := e.Now(ctx)
	if err != nil {
		return err
	}
	p.PlannedAt = now
	p.Pin.NowMicros = now.UnixMicro()
	until, err := c.Until(ctx, snap.Version(), now.UnixMilli())
	if err != nil {
		return err
	}
	if until > 0 {
		p.ExpiresAt = time.UnixMilli(until).UTC()
	}
	if p.Tail == TailMerge && snap.TailRecords() > 0 {
		p.ExpiresAt = now.Add(e.cfg.WALRetention)
	}
	return nil
}

// planColumns are scanColumns without those that the fragments' Lance version does
// not name, because they were added after it.
func planColumns(snap *collection.Snapshot, obj *schema.Object, names []string) ([]ScanColumn, error) {
	all, err := scanColumns(obj, names)
	var out []ScanColumn
	for _, c := range all {
		f, _ := obj.FieldByName(c.Name, true)
		switch {
		case f == nil || !snap.Lacks(f):
			out = append(out, c)
		case names != nil:
			return nil, fail.New(fail.UndefinedColumn, "version %d of %s has no column %q: it was added later", snap.Version(), obj.Name, c.Name).
				WithHint("Leave it out, or plan a newer version. SELECT … AT (VERSION => %d) reads it as NULL.", snap.Version())
		}
	}
	return out, err
}

// scanColumns resolves the plan's columns: the Lance columns of a collection,
// the fields of a table.
func scanColumns(obj *schema.Object, names []string) ([]ScanColumn, error) {
	all := scannable(obj)
	if names == nil {
		return all, nil
	}
	var out []ScanColumn
	known := make([]string, len(all))
	for i, c := range all {
		known[i] = c.Name
	}
next:
	for _, n := range names {
		for _, c := range all {
			if c.Name == n {
				out = append(out, c)
				continue next
			}
		}
		e := fail.New(fail.UndefinedColumn, "a scan of %s has no column %q", obj.Name, n)
		if near := fail.Closest(n, known); near != "" {
			return nil, e.WithHint("Did you mean %q?", near)
		}
		return nil, e.WithHint("Fields of documents lie in _source; scan that, or use SELECT.")
	}
	if len(out) == 0 {
		return nil, fail.New(fail.InvalidParameter, "a scan needs at least one column")
	}
	return out, nil
}

var scanRoles = map[string]string{
	string(schema.ColPK): "pk", string(schema.ColSource): "source",
	string(schema.ColPartition): "ingest_partition", string(schema.ColOffset): "ingest_offset",
}

func scannable(obj *schema.Object) []ScanColumn {
	var out []ScanColumn
	for _, f := range schema.SystemColumns(obj.Kind) {
		if role := scanRoles[f.Name]; role != "" {
			out = append(out, ScanColumn{Name: f.Name, Type: f.Type, Role: role})
		}
	}
	for _, f := range obj.Fields {
		c := ScanColumn{Name: f.Name, Type: f.Type, Role: "field"}
		switch f.Type.Kind {
		case types.Vector:
			c.Role, c.Dim, c.Metric = "vector", f.Type.Dim, string(f.Metric)
		case types.Sparse:
			c.Role, c.Modifier = "sparse_vector", f.Modifier
		default:
			if obj.Kind == schema.Collection {
				continue
			}
		}
		out = append(out, c)
	}
	return out
}

// ScanPart reads one part of a scan plan.
func (s *Session) ScanPart(ctx context.Context, part ScanPart) (*Result, error) {
	snap, err := s.engine.pinned(ctx, part.Object)
	if err != nil {
		return nil, err
	}
	obj := snap.Object()
	cols, err := scanColumns(obj, part.Columns)
	if err != nil {
		return nil, err
	}
	n := &plan.Scan{Object: obj, Limit: plan.NoLimit}
	out := &Result{Affected: -1}
	for i, c := range cols {
		col := plan.Column{ID: expr.ColumnID(i + 1), Name: c.Name, Type: c.Type}
		n.Cols = append(n.Cols, plan.ScanColumn{Column: col, Field: c.Name})
		out.Columns = append(out.Columns, col)
	}
	scan, err := snap.Scan(&expr.Env{Ctx: ctx}, n)
	if err != nil {
		return nil, err
	}
	out.next = scan.Next
	out.close = scan.Close
	return out, nil
}
