package metastore

import (
	"context"
	"slices"

	"github.com/loamdb/loam/internal/fail"
)

type partID struct {
	object    uint64
	partition int
}

func (s *db) Append(ctx context.Context, blocks []AppendBlock) ([]AppendResult, error) {
	results := make([]AppendResult, 0, len(blocks))
	for len(blocks) > 0 {
		n := chunkLen(blocks)
		part, err := s.appendChunk(ctx, blocks[:n])
		if err != nil {
			if len(results) == 0 {
				return nil, err
			}
			// Blocks of earlier transactions are in: the rest carries the error.
			for range blocks {
				results = append(results, AppendResult{Err: err})
			}
			return results, nil
		}
		results = append(results, part...)
		blocks = blocks[n:]
	}
	return results, nil
}

// chunkLen is the number of blocks that one transaction takes.
func chunkLen(blocks []AppendBlock) int {
	seen, extra := map[partID]bool{}, 0
	for i, b := range blocks {
		if b.Records > 0 || b.Advance == nil {
			seen[partID{b.ObjectID, b.Partition}] = true
		}
		if b.Advance != nil {
			extra += AdvanceRows
		}
		if b.Produce != nil {
			extra += ProducerRows
		}
		if len(seen)+extra > MaxAppendPartitions {
			return i
		}
	}
	return len(blocks)
}

// sequencer is one Append over all its tries.
type sequencer struct {
	db     *db
	blocks []AppendBlock
	result []AppendResult   // of the newest try
	tries  [][]AppendResult // of those whose outcome is unknown
	moved  map[uint64]bool  // links that the newest try moves
	producers
}

func (s *db) appendChunk(ctx context.Context, blocks []AppendBlock) ([]AppendResult, error) {
	q := &sequencer{db: s, blocks: blocks}
	err := s.update(ctx, "append", q.try)
	return q.result, err
}

func (q *sequencer) try(t *tx) error {
	if t.after == unknown && q.result != nil {
		q.tries = append(q.tries, q.result)
		q.result = nil
	}
	keys := []string{keyClock, keyWALFloor}
	parts := map[partID]*PartitionState{}
	for _, b := range q.blocks {
		if b.Advance != nil {
			keys = append(keys, b.Advance.keys()...)
		}
		if b.Produce != nil {
			keys = append(keys, producerKey(b.ObjectID, b.Produce.Producer), producerCountKey(b.ObjectID))
		}
		if b.moves() {
			continue
		}
		id := partID{b.ObjectID, b.Partition}
		if _, ok := parts[id]; !ok {
			parts[id] = nil
			keys = append(keys, partKey(b.ObjectID, b.Partition))
		}
	}
	if err := t.load(keys...); err != nil {
		return err
	}
	for id := range parts {
		r, ok := t.peek(partKey(id.object, id.partition))
		if !ok {
			continue
		}
		p, err := decodePartition(r)
		if err != nil {
			return err
		}
		parts[id] = &p
	}
	if err := q.loadProducers(t); err != nil {
		return err
	}
	if t.maybe {
		if done, err := q.resolve(t, parts); done || err != nil {
			return err
		}
	}
	return q.assign(t, parts)
}

// assign gives every block its offsets or its error, and writes the partitions
// that took some.
func (q *sequencer) assign(t *tx, parts map[partID]*PartitionState) error {
	floor, err := loadFloor(t)
	if err != nil {
		return err
	}
	now, err := q.db.stamp(t)
	if err != nil {
		return err
	}
	q.result = make([]AppendResult, len(q.blocks))
	q.moved = map[uint64]bool{}
	var touched []partID
	for _, members := range groups(q.blocks) {
		if err := q.admit(t, members, parts, floor); err != nil {
			for _, i := range members {
				q.result[i].Err = err
			}
			continue
		}
		var placed []Placed
		for _, i := range members {
			b := q.blocks[i]
			if b.Advance != nil {
				if err := b.Advance.put(t, now); err != nil {
					return err
				}
				q.moved[b.Advance.Link] = true
			}
			if b.moves() {
				q.result[i] = AppendResult{TS: now}
				continue
			}
			id := partID{b.ObjectID, b.Partition}
			q.result[i] = parts[id].append(b, now)
			placed = append(placed, Placed{b.Partition, q.result[i].Base, b.Records})
			if !slices.Contains(touched, id) {
				touched = append(touched, id)
			}
		}
		if first := members[0]; q.blocks[first].Produce != nil {
			q.produced(q.blocks[first], q.result[first].TS, placed)
		}
	}
	if len(touched) == 0 && len(q.moved) == 0 {
		t.ops = nil // nothing to write, also not the clock
		return nil
	}
	q.putProducers(t)
	for _, id := range touched {
		key := partKey(id.object, id.partition)
		t.get(key)
		t.put(key, encodePartition(*parts[id]))
	}
	return nil
}

// groups are the positions of the blocks that are appended all or none, in the
// order of their first blocks.
func groups(blocks []AppendBlock) [][]int {
	out := make([][]int, 0, len(blocks))
	at := map[int]int{}
	for i, b := range blocks {
		if b.Group > 0 {
			if g, ok := at[b.Group]; ok {
				out[g] = append(out[g], i)
				continue
			}
			at[b.Group] = len(out)
		}
		out = append(out, []int{i})
	}
	return out
}

// admit says why the blocks of a group cannot be appended, or nil. Blocks of one
// partition are admitted as if those before them were in. A batch that its producer
// sends again gives a Duplicate.
func (q *sequencer) admit(t *tx, members []int, parts map[partID]*PartitionState, floor string) error {
	if first := q.blocks[members[0]]; first.Produce != nil {
		if p := parts[partID{first.ObjectID, first.Partition}]; p == nil || p.Incarnation != first.Incarnation {
			return errNoObject(first.ObjectID)
		}
		records := uint64(0)
		for _, i := range members {
			records += uint64(q.blocks[i].Records)
		}
		if err := q.admitProduce(first, records); err != nil {
			return err
		}
	}
	return q.admitBlocks(t, members, parts, floor)
}

func (q *sequencer) admitBlocks(t *tx, members []int, parts map[partID]*PartitionState, floor string) error {
	var trial map[partID]*PartitionState
	for n, i := range members {
		b := q.blocks[i]
		if b.Advance != nil {
			if err := q.admitAdvance(t, b.Advance, members[:n]); err != nil {
				return err
			}
		}
		if b.moves() {
			continue
		}
		id := partID{b.ObjectID, b.Partition}
		p := parts[id]
		if after := trial[id]; after != nil {
			p = after
		}
		if err := admit(b, p); err != nil {
			return err
		}
		if err := aboveFloor(b.WALKey, floor); err != nil {
			return err
		}
		if n+1 < len(members) {
			if trial == nil {
				trial = map[partID]*PartitionState{}
			}
			next := *p
			next.Refs = slices.Clone(p.Refs)
			next.append(b, 0)
			trial[id] = &next
		}
	}
	return nil
}

// admit says why a block cannot be appended, or nil.
func admit(b AppendBlock, p *PartitionState) error {
	switch {
	case p == nil || p.Incarnation != b.Incarnation:
		return errNoObject(b.ObjectID)
	case b.Records == 0:
		return fail.Bug("append of no records to object %d", b.ObjectID)
	case b.Expect != nil && *b.Expect != p.Next:
		return fail.New(fail.Conflict, "object %d partition %d is at offset %d, the write was planned at %d",
			b.ObjectID, b.Partition, p.Next, *b.Expect).WithHint("Read again and repeat the write.")
	case len(p.Refs) >= MaxInlineRefs:
		return fail.New(fail.BacklogFull, "object %d partition %d has %s in its row", b.ObjectID, b.Partition, fail.Count(len(p.Refs), "reference"))
	}
	return nil
}

func (p *PartitionState) append(b AppendBlock, now int64) AppendResult {
	p.LastTS = max(p.LastTS, now)
	ref := Ref{Base: p.Next, Records: b.Records, WALKey: b.WALKey, Off: b.Off, Len: b.Len,
		Checksum: b.Checksum, TS: p.LastTS, Bytes: b.Bytes}
	p.Refs = append(p.Refs, ref)
	p.Next = ref.End()
	return AppendResult{Base: ref.Base, TS: ref.TS, Inline: len(p.Refs)}
}

type verdict uint8

const (
	unclear verdict = iota
	happened
	didNot
)

// resolve finds out from the rows whether a try with a lost reply took effect. A
// try is one transaction: it happened if something shows it and nothing that can
// still be seen speaks against it. Two tries may have wanted the same offset of one
// partition and differ in another, which has been applied since: then nobody can
// tell. done means that q.result is final.
func (q *sequencer) resolve(t *tx, parts map[partID]*PartitionState) (done bool, err error) {
	var found []AppendResult
	two, hidden := false, false
	for _, try := range q.tries {
		switch q.judge(t, try, parts) {
		case happened:
			two = two || found != nil && !slices.EqualFunc(found, try, sameFate)
			found = try
		case unclear:
			hidden = true
		}
	}
	if two || hidden && found == nil {
		return false, fail.New(fail.CommitUnknown,
			"append of %s: the reply was lost and what it wrote has been applied or moved since", q.blocks[0].WALKey)
	}
	if found != nil {
		q.result = found
	}
	return found != nil, nil
}

func sameFate(a, b AppendResult) bool {
	return a.Base == b.Base && a.TS == b.TS && (a.Err == nil) == (b.Err == nil)
}

// judge looks at every block of a try; one that did not happen decides.
func (q *sequencer) judge(t *tx, try []AppendResult, parts map[partID]*PartitionState) verdict {
	out := unclear
	for i, res := range try {
		b := q.blocks[i]
		said := [3]verdict{unclear, unclear, unclear}
		if b.Produce != nil {
			said[2] = q.judgeProduce(b, res)
		}
		if res.Err == nil && b.Advance != nil {
			said[0] = b.Advance.judge(t)
		}
		if !b.moves() {
			said[1] = judgeBlock(b, res, parts[partID{b.ObjectID, b.Partition}])
		}
		for _, v := range said {
			switch v {
			case didNot:
				return didNot
			case happened:
				out = happened
			}
		}
	}
	return out
}

// judgeBlock looks for a block in its partition's row.
func judgeBlock(b AppendBlock, res AppendResult, p *PartitionState) verdict {
	if p == nil || p.Incarnation != b.Incarnation {
		return unclear
	}
	if res.Err == nil && p.Next <= res.Base {
		return didNot
	}
	for _, r := range p.Refs {
		ours := r.WALKey == b.WALKey && r.Off == b.Off
		switch {
		case res.Err != nil && ours:
			return didNot // another try was not refused
		case res.Err == nil && ours && r.Base == res.Base && r.TS == res.TS:
			return happened
		case res.Err == nil && (ours || r.Base <= res.Base && res.Base < r.End()):
			return didNot // the offset went to another writer, or another try
		}
	}
	return unclear
}
