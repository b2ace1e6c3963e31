package metastore

import (
	"context"
	"slices"

	"github.com/loamdb/loam/internal/fail"
)

func checkCommit(req CommitRequest) error {
	switch {
	case req.Head.Version != req.ExpectVersion+1:
		return fail.Bug("commit of version %d on version %d", req.Head.Version, req.ExpectVersion)
	case req.Head.CommitID == "":
		return fail.Bug("commit without a commit id")
	case req.Added < 0:
		return fail.Bug("commit that adds %d bytes", req.Added)
	case len(req.Head.Applied) > MaxPartitions || len(req.Fences) > 16:
		return fail.Bug("commit with %d partitions and %d fences", len(req.Head.Applied), len(req.Fences))
	}
	return nil
}

func (s *db) Commit(ctx context.Context, req CommitRequest) (Head, error) {
	if err := checkCommit(req); err != nil {
		return Head{}, err
	}
	keys := []string{headKey(req.ObjectID), keyClock}
	for _, f := range req.Fences {
		keys = append(keys, leaseRowKey(f.Key))
	}
	for p := range req.Head.Applied {
		keys = append(keys, partKey(req.ObjectID, p))
	}
	var head Head
	err := s.update(ctx, "commit", func(t *tx) error {
		if err := t.load(keys...); err != nil {
			return err
		}
		r, ok := t.get(headKey(req.ObjectID))
		if !ok {
			return errNoObject(req.ObjectID)
		}
		cur, err := decodeHead(r)
		if err != nil {
			return err
		}
		if cur.Incarnation != req.Incarnation {
			return errNoObject(req.ObjectID)
		}
		if done, ok := findCommit(cur, req); ok {
			head = done
			return nil
		}
		if cur.Head.Version != req.ExpectVersion {
			return commitConflict(cur, req, t.maybe)
		}
		if cur.Head.GCEpoch > req.GCEpoch+1 {
			return fail.New(fail.Conflict, "object %d is at garbage collection epoch %d, the commit began under %d: its files may be gone",
				req.ObjectID, cur.Head.GCEpoch, req.GCEpoch).WithHint("Rebuild the manifest and its files.")
		}
		for _, f := range req.Fences {
			if _, err := fenceHolds(t, f); err != nil {
				return err
			}
		}
		head, err = s.putHead(t, cur, req)
		return err
	})
	if err != nil {
		return Head{}, err
	}
	return head, nil
}

// findCommit looks for an earlier try, or call, of this commit that took effect.
func findCommit(cur headRow, req CommitRequest) (Head, bool) {
	if cur.Head.CommitID == req.Head.CommitID {
		return cur.Head, true
	}
	for _, r := range cur.Recent {
		if r.Version == req.Head.Version && r.CommitID == req.Head.CommitID {
			return req.Head, true
		}
	}
	return Head{}, false
}

// commitConflict is the answer when the head has moved. After a lost reply it is
// a conflict only if the row still shows who made the version that we wanted.
func commitConflict(cur headRow, req CommitRequest, maybe bool) error {
	shown := cur.Head.Version == req.Head.Version
	for _, r := range cur.Recent {
		shown = shown || r.Version == req.Head.Version
	}
	if maybe && !shown {
		return fail.New(fail.CommitUnknown, "commit %s of object %d: version %d has been followed by too many others to tell",
			req.Head.CommitID, req.ObjectID, req.Head.Version)
	}
	return fail.New(fail.Conflict, "object %d is at version %d, the commit was built on %d",
		req.ObjectID, cur.Head.Version, req.ExpectVersion).WithHint("Rebuild the manifest on the new version.")
}

func (s *db) putHead(t *tx, cur headRow, req CommitRequest) (Head, error) {
	now, err := s.stamp(t)
	if err != nil {
		return Head{}, err
	}
	head := req.Head
	head.CreatedMS = max(now/1000, cur.Head.CreatedMS)
	head.Applied = slices.Clone(req.Head.Applied)
	head.GCEpoch, head.Oldest = cur.Head.GCEpoch, cur.Head.Oldest
	head.Written, head.Freed, head.TagBytes = cur.Head.Written+req.Added, cur.Head.Freed, cur.Head.TagBytes
	for p, upTo := range head.Applied {
		if err := applyPartition(t, req, p, upTo); err != nil {
			return Head{}, err
		}
	}
	next := headRow{Incarnation: cur.Incarnation, Head: head, Recent: cur.Recent}
	if cur.Head.Version > 0 {
		next.Recent = append([]Head{{Version: cur.Head.Version, CommitID: cur.Head.CommitID}}, cur.Recent...)
		next.Recent = next.Recent[:min(maxRecent, len(next.Recent))]
	}
	t.put(headKey(req.ObjectID), encodeHead(next))
	return head, nil
}

// applyPartition raises the applied offset of one partition. A partition that
// stands still is not written and may grow meanwhile.
func applyPartition(t *tx, req CommitRequest, p int, upTo uint64) error {
	key := partKey(req.ObjectID, p)
	r, ok := t.peek(key)
	if !ok {
		return fail.New(fail.Conflict, "object %d has no partition %d", req.ObjectID, p)
	}
	state, err := decodePartition(r)
	if err != nil {
		return err
	}
	if upTo < state.Applied || upTo > state.Next {
		return fail.New(fail.Conflict, "object %d partition %d: applied offset %d is outside %d to %d",
			req.ObjectID, p, upTo, state.Applied, state.Next)
	}
	if upTo == state.Applied {
		return nil
	}
	t.get(key)
	state.trim(upTo)
	t.put(key, encodePartition(state))
	return nil
}

// trim raises Applied and drops the references that lie below it.
func (p *PartitionState) trim(upTo uint64) {
	p.Applied = max(p.Applied, upTo)
	for len(p.Refs) > 0 && p.Refs[0].End() <= upTo {
		p.Refs = p.Refs[1:]
	}
	if p.Overflow.IndexKey != "" && p.Overflow.Upto <= upTo {
		p.Overflow = Overflow{}
	}
}
