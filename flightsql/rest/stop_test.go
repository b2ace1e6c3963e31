package rest

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/loamdb/loam/flightsql/internal/engine"
	"github.com/loamdb/loam/flightsql/internal/enginetest"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/plan"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

// blocking answers q with a result whose first row never comes; started is
// closed when it is waited for, ended receives why the wait ended.
func blocking() (e *enginetest.Engine, started chan struct{}, ended chan error) {
	started, ended = make(chan struct{}), make(chan error, 1)
	columns := []plan.Column{{Name: "a", Type: types.Of(types.Int64)}}
	e = &enginetest.Engine{Answers: map[string]enginetest.Answer{"q": {Columns: columns, Query: true, Run: func(ctx context.Context, _ []vec.Value) (*engine.Result, error) {
		close(started)
		<-ctx.Done()
		ended <- ctx.Err()
		return nil, ctx.Err()
	}}}}
	return e, started, ended
}

// TestAStopIsNotTheClientsDoing: a request that a stopping server ends gets 503
// and a cure, not 499.
func TestAStopIsNotTheClientsDoing(t *testing.T) {
	e, started, _ := blocking()
	requests, end := context.WithCancelCause(context.Background())
	srv := httptest.NewUnstartedServer(newAPI(e, Options{}).handler())
	srv.Config.BaseContext = func(net.Listener) context.Context { return requests }
	srv.Start()
	defer srv.Close()
	defer srv.Client().CloseIdleConnections()
	go func() {
		<-started
		end(fail.Stopping())
	}()
	r, err := srv.Client().Post(srv.URL+"/v1/sql", mediaJSON, strings.NewReader(`{"sql":"q"}`))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err != nil || r.StatusCode != http.StatusServiceUnavailable || !strings.Contains(string(text), "57P03") {
		t.Errorf("%d %s %v", r.StatusCode, text, err)
	}
}

// TestAClientThatLeavesEndsItsStatement within the test's patience.
func TestAClientThatLeavesEndsItsStatement(t *testing.T) {
	e, started, ended := blocking()
	s := serve(t, e, Options{})
	ctx, leave := context.WithCancel(context.Background())
	r, err := http.NewRequestWithContext(ctx, "POST", s.srv.URL+"/v1/sql", strings.NewReader(`{"sql":"q"}`))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", mediaJSON)
	go func() {
		<-started
		leave()
	}()
	if _, err := s.srv.Client().Do(r); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
