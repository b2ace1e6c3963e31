package collection

import (
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/schema"
	"github.com/loamdb/loam/internal/vec"
	"github.com/loamdb/loam/storage/internal/source"
)

// route says which partition each inserted row of a table or stream goes to: the
// one that it names, or that of its key, or, of all other rows of a batch, one
// whose turn it is. nil is the partition all, for every row.
func (c *Collection) route(obj *schema.Object, r *Rows) (to []int32, all int32, err error) {
	n := r.tableRows()
	if obj.Partitions == 1 && r.To == nil || n == 0 {
		return nil, 0, nil
	}
	all = -1
	turn := func() int32 {
		if all < 0 {
			all = int32((c.rotation.Add(1) - 1) % uint64(obj.Partitions))
		}
		return all
	}
	at := obj.Route()
	if r.To == nil && (at < 0 || r.Cols[at] == nil) {
		return nil, turn(), nil
	}
	keyed := schema.Object{Name: obj.Name, Fields: obj.Fields, Key: []int{at}}
	to = make([]int32, n)
	for i := range to {
		switch {
		case r.To != nil && r.To[i] >= 0:
			if to[i] = r.To[i]; int(to[i]) >= obj.Partitions {
				return nil, 0, rowError(noPartition(obj, int(to[i])), i)
			}
		case at < 0 || r.Cols[at] == nil || r.Cols[at].IsNull(i):
			to[i] = turn()
		default:
			key, err := source.KeyAt(&keyed, r.Cols, i)
			if err != nil {
				return nil, 0, rowError(err, i)
			}
			to[i] = int32(Partition(key, obj.Partitions))
		}
	}
	return to, 0, nil
}

func noPartition(obj *schema.Object, p int) error {
	return fail.New(fail.InvalidParameter, "%s has no partition %d", obj.Name, p).
		WithHint("Its partitions are 0 to %d.", obj.Partitions-1)
}

// tableBlocks cuts the rows of a table or stream by partition and size and
// encodes them. A delete goes to the partition of the row that it deletes, so
// that what touches a row has one order.
func (c *Collection) tableBlocks(obj *schema.Object, r *Rows) ([]block, error) {
	to, all, err := c.route(obj, r)
	if err != nil {
		return nil, err
	}
	if to == nil && len(r.Gone) == 0 {
		return c.partitionBlocks(obj, int(all), r)
	}
	var out []block
	for p := range obj.Partitions {
		part := r.ofPartition(int32(p), to, all)
		if part.Len() == 0 {
			continue
		}
		blocks, err := c.partitionBlocks(obj, p, part)
		if err != nil {
			return nil, err
		}
		out = append(out, blocks...)
	}
	return out, nil
}

// ofPartition are the deletes and rows that go to partition p.
func (r *Rows) ofPartition(p int32, to []int32, all int32) *Rows {
	out := &Rows{Cols: make([]*vec.Vector, len(r.Cols)), built: r.built}
	for _, id := range r.Gone {
		if id.Partition == p {
			out.Gone = append(out.Gone, id)
		}
	}
	var sel []int32
	for i, at := range to {
		if at == p {
			sel = append(sel, int32(i))
		}
	}
	switch {
	case to == nil && all != p, to != nil && len(sel) == 0:
		return out
	case to == nil, len(sel) == len(to):
		out.Cols = r.Cols
		return out
	}
	for i, col := range r.Cols {
		if col != nil {
			out.Cols[i] = vec.New(col.Type, len(sel))
			out.Cols[i].AppendRows(col, sel, len(sel))
		}
	}
	return out
}

// partitionBlocks encodes the rows of one partition, in several blocks when they
// are large.
func (c *Collection) partitionBlocks(obj *schema.Object, p int, r *Rows) ([]block, error) {
	payload, err := encodeTable(obj, r)
	rows := r.tableRows()
	if err != nil || len(payload) <= 2*maxBlock || rows < 2 {
		return []block{c.block(obj, p, r, nil, payload)}, err
	}
	step := max(1, rows*maxBlock/len(payload))
	var out []block
	for from := 0; from < rows; from += step {
		part := &Rows{Cols: make([]*vec.Vector, len(r.Cols))}
		for i, col := range r.Cols {
			if col != nil {
				part.Cols[i] = col.Slice(from, min(rows, from+step))
			}
		}
		if from == 0 {
			part.Gone = r.Gone
		}
		if payload, err = encodeTable(obj, part); err != nil {
			return nil, err
		}
		out = append(out, c.block(obj, p, part, nil, payload))
	}
	return out, nil
}

// checkRecords refuses a record of a stream that is too large.
func (c *Collection) checkRecords(obj *schema.Object, r *Rows) error {
	if obj.Kind != schema.Stream {
		return nil
	}
	for i := range r.tableRows() {
		if n := rowBytes(r.Cols, i); n > c.opt.MaxRecordBytes {
			return rowError(fail.New(fail.TooLarge, "a record of %d bytes is over the limit of stream %s, %d", n, obj.Name, c.opt.MaxRecordBytes).
				WithHint("Keep large bodies elsewhere and send their address, or create the stream with a larger max_record_bytes."), i)
		}
	}
	return nil
}
