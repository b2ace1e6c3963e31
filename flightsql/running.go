package flightsql

import (
	"context"
	"sync"

	"github.com/loamdb/loam/internal/fail"
)

// running knows the streams that run, by ticket id, so that CancelFlightInfo
// ends them, and remembers canceled tickets that have not run.
type running struct {
	mu       sync.Mutex // guards the fields below
	streams  map[string]map[int]context.CancelCauseFunc
	next     int
	canceled map[string]bool
	order    []string // of canceled, oldest first
}

// rememberCanceled bounds how many canceled tickets are remembered.
const rememberCanceled = 4096

func newRunning() *running {
	return &running{streams: map[string]map[int]context.CancelCauseFunc{}, canceled: map[string]bool{}}
}

func canceledByClient() error { return fail.New(fail.Canceled, "the query was canceled") }

// start registers a stream of a ticket. The returned context ends with ctx or by
// cancel; the function unregisters.
func (r *running) start(ctx context.Context, id string) (context.Context, func(), error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.canceled[id] {
		return nil, nil, canceledByClient()
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
		cancel(canceledByClient())
	}
	if r.canceled[id] {
		return
	}
	if len(r.order) >= rememberCanceled {
		delete(r.canceled, r.order[0])
		r.order = r.order[1:]
	}
	r.canceled[id] = true
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
