package loam_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/loamdb/loam"
	"github.com/loamdb/loam/catalog"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/storage/collection"
	"github.com/loamdb/loam/storage/object"
)

// stalled is a store that gives no answer about the objects below one prefix until it
// is let go.
type stalled struct {
	object.Store
	mu     sync.Mutex // guards the fields below
	prefix string
	free   chan struct{}
	met    chan struct{} // closed when somebody waits
}

func (s *stalled) stall(prefix string) (met <-chan struct{}, free func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.prefix, s.free, s.met = prefix, make(chan struct{}), make(chan struct{})
	free = sync.OnceFunc(func() { close(s.free) })
	return s.met, free
}

func (s *stalled) wait(key string) {
	s.mu.Lock()
	if s.prefix == "" || !strings.HasPrefix(key, s.prefix) {
		s.mu.Unlock()
		return
	}
	select {
	case <-s.met:
	default:
		close(s.met)
	}
	free := s.free
	s.mu.Unlock()
	<-free
}

func (s *stalled) Get(ctx context.Context, key string) ([]byte, error) {
	s.wait(key)
	return s.Store.Get(ctx, key)
}

func (s *stalled) Put(ctx context.Context, key string, body []byte, opt object.PutOptions) (object.Info, error) {
	s.wait(key)
	return s.Store.Put(ctx, key, body, opt)
}

func (s *stalled) Create(ctx context.Context, key string) (object.Writer, error) {
	s.wait(key)
	return s.Store.Create(ctx, key)
}

// TestAStoreThatStallsHoldsUpItsObjectAlone: while one object is being opened, or is
// applied and dropped meanwhile, statements on others run, and those on it end with
// their contexts.
func TestAStoreThatStallsHoldsUpItsObjectAlone(t *testing.T) {
	dir, store := t.TempDir(), &stalled{}
	open := func() (*loam.Engine, *loam.Session) {
		e := mustOpen(t, loam.Config{Dir: dir, NoSync: true, Collection: collection.Options{BatchInterval: 10 * time.Millisecond},
			WrapStore: func(s object.Store) object.Store {
				store.Store = s
				return store
			}})
		return e, e.NewSession(loam.SessionConfig{})
	}
	soon := func(s *loam.Session, sql string) error {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		_, err := tryRows(ctx, s, sql)
		return err
	}
	e, s := open()
	for _, name := range []string{"slow", "other"} {
		askRows(t, s, "CREATE TABLE "+name+" (a INT)")
		askRows(t, s, "INSERT INTO "+name+" VALUES (1)")
		applied(t, s, name, 1)
	}
	obj, err := e.Catalog().Lookup(t.Context(), catalog.Name{Text: "public"}, catalog.Name{Text: "slow"})
	if err != nil {
		t.Fatal(err)
	}
	mustClose(t, e)

	met, free := store.stall(collection.Prefix(obj.ID))
	defer free()
	_, s = open()
	<-met
	if err := soon(s, "INSERT INTO other VALUES (2)"); err != nil {
		t.Errorf("while another object is being opened: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := tryRows(ctx, s, "SELECT * FROM slow"); !fail.Is(err, fail.DeadlineExceeded) && !fail.Is(err, fail.Canceled) {
		t.Errorf("a read that waits for the opening: %v", err)
	}
	free()
	askRows(t, s, "INSERT INTO slow VALUES (2)")
	applied(t, s, "slow", 2)

	met, free = store.stall(collection.Prefix(obj.ID))
	defer free()
	askRows(t, s, "INSERT INTO slow VALUES (3)")
	<-met // it is being applied
	dropped := make(chan error, 1)
	var dropper sync.WaitGroup
	dropper.Go(func() {
		_, err := tryRows(t.Context(), s, "DROP TABLE slow")
		dropped <- err
	})
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		if err := soon(s, "SELECT * FROM slow"); fail.Is(err, fail.UndefinedTable) {
			break
		}
		if time.Now().After(end) {
			t.Fatal("it is not dropped")
		}
	}
	if err := soon(s, "INSERT INTO other VALUES (3)"); err != nil {
		t.Errorf("while a drop waits for an apply: %v", err)
	}
	free()
	if err := <-dropped; err != nil {
		t.Errorf("the drop: %v", err)
	}
	dropper.Wait()
}
