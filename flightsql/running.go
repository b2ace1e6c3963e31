package flightsql

import (
	"context"
	"sync"

	"github.com/loamdb/loam/internal/fail"
)

// running knows the streams that run, by ticket id, so that CancelFlightInfo
// ends them, and remembers cancelled tickets that have not run.
type running struct {
	mu        sync.Mutex // guards the fields below
	streams   map[string]map[int]context.CancelCauseFunc
	next      int
	cancelled map[string]bool
	order     []string // of cancelled, oldest first
}

// rememberCancelled bounds how many cancelled tickets are remembered.
const rememberCancelled = 4096

func newRunning() *running {
	return &running{streams: map[string]map[int]context.CancelCauseFunc{}, cancelled: map[string]bool{}}
}

func cancelledByClient() error { return fail.New(fail.Canceled, "the query was cancelled") }

// start registers a stream of a ticket. The returned context ends with ctx or by
// cancel; the function unregisters.
func (r *running) start(ctx context.Context, id string) (context.Context, func(), error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.cancelled[id] {
		return nil, nil, cancelledByClient()
	}
	ctx, cancel := context.WithCancelCause(ctx)
	r.next++
	n := r.next
	if r.streams[id] == nil {
		r.streams[id] = map[int]context.CancelCauseFunc{}
	}
	r.streams[id][n] = cancel
	return ctx, func() {
		cancel(nil)
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.streams[id], n)
		if len(r.streams[id]) == 0 {
			delete(r.streams, id)
		}
	}, nil
}

// cancel ends the ticket's streams, and any later one.
func (r *running) cancel(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, cancel := range r.streams[id] {
		cancel(cancelledByClient())
	}
	if r.cancelled[id] {
		return
	}
	if len(r.order) >= rememberCancelled {
		delete(r.cancelled, r.order[0])
		r.order = r.order[1:]
	}
	r.cancelled[id] = true
	r.order = append(r.order, id)
}

// recent keeps the last planned queries by ticket id, so that the DoGet that
// usually follows at once need not plan again.
type recent struct {
	mu    sync.Mutex // guards the fields below
	jobs  map[string]*job
	order []string
}

const recentJobs = 256

func newRecent() *recent { return &recent{jobs: map[string]*job{}} }

func (r *recent) put(id string, j *job) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.order) >= recentJobs {
		delete(r.jobs, r.order[0])
		r.order = r.order[1:]
	}
	r.jobs[id] = j
	r.order = append(r.order, id)
}

func (r *recent) get(id string) *job {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.jobs[id]
}
