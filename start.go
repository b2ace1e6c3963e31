package loam

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/loamdb/loam/internal/clock"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/storage/object"
)

// A data directory that keeps its objects in a bucket can be copied, and both copies
// would take the bucket's objects for their own: each deletes what the other has
// written. So each start leaves a record in the bucket in place of the one before, and
// the directory remembers both: any other record is another copy's.
const (
	startFile    = "START"
	startsPrefix = "starts/"
)

// startMark is the content of START, and of a record.
type startMark struct {
	Format  string `json:"format"` // "loam start"
	Version int    `json:"version"`
	ID      string `json:"id"` // ULID
	// Before is the start whose record this one's replaces; empty: none.
	Before string `json:"before,omitempty"`
}

// ownStart is the newest start of a directory; the zero mark before the first.
func ownStart(ctx context.Context, files object.Store) (startMark, error) {
	var m startMark
	body, err := files.Get(ctx, startFile)
	if errors.Is(err, object.ErrNotFound) {
		return m, nil
	}
	if err != nil {
		return m, err
	}
	return m, readMark(startFile, "loam start", body, &m, func() (string, int) { return m.Format, m.Version })
}

// alone refuses a store in which another copy of the directory has started, and
// returns which of m's records are there: its own and that of the start before.
func (m startMark) alone(ctx context.Context, store object.Store) (own, before bool, err error) {
	for info, err := range object.All(ctx, store, startsPrefix) {
		if err != nil {
			return false, false, err
		}
		switch id := strings.TrimPrefix(info.Key, startsPrefix); id {
		case m.ID:
			own = true
		case m.Before:
			before = true
		default:
			return false, false, fail.New(fail.InvalidParameter, "another copy of this data directory has started on %s: %s is not of this one", placeOf(store), info.Key).
				WithHint("Go on with that copy, and give this one up. Or, if this one is to be kept, stop the other for good, remove %s, and start again: what the other has written is lost then.", store.URI(info.Key))
		}
	}
	return own, before, nil
}

// recordStart writes the record of this start, into the directory first: the record of
// a process that was killed in between is missing, and nobody else's is there. At any
// moment the bucket has a record of the directory, so that a copy is always refused.
func recordStart(ctx context.Context, files, store object.Store, ids clock.IDs) (startMark, error) {
	last, err := ownStart(ctx, files)
	if err != nil {
		return last, err
	}
	own, before, err := last.alone(ctx, store)
	if err == nil && own && before {
		err = store.Delete(ctx, startsPrefix+last.Before)
	}
	if err != nil {
		return last, err
	}
	next := startMark{Format: "loam start", Version: markVersion, ID: ids.ULID()}
	if own {
		next.Before = last.ID
	} else if before {
		next.Before = last.Before
	}
	body, err := json.Marshal(next)
	if err != nil {
		return next, fail.Wrap(fail.Internal, err, "%s", startFile)
	}
	body = append(body, '\n')
	if _, err := files.Put(ctx, startFile, body, object.PutOptions{Replace: true}); err != nil {
		return next, err
	}
	if _, err := store.Put(ctx, startsPrefix+next.ID, body, object.PutOptions{}); err != nil {
		return next, err
	}
	// Of two that start at once at least one sees the other.
	if _, before, err = next.alone(ctx, store); err == nil && before {
		err = store.Delete(ctx, startsPrefix+next.Before)
	}
	return next, err
}

// onlyCopy is asked before objects are deleted: not when another copy of the data
// directory has started meanwhile, which may need them.
func (e *Engine) onlyCopy(ctx context.Context) error {
	if e.start.ID == "" {
		return nil
	}
	_, _, err := e.start.alone(ctx, e.store)
	return err
}
