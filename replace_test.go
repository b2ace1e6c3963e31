package loam_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/loamdb/loam"
	"github.com/loamdb/loam/internal/fail"
)

// TestReplaceTableWhileRead: a table that is made again all the time is there for
// every reader, with all rows of one generation.
func TestReplaceTableWhileRead(t *testing.T) {
	n := opened(t)
	n.ok("CREATE TABLE t AS SELECT 0 AS g, x FROM generate_series(1, 100) AS s (x)")
	stop := make(chan struct{})
	var readers sync.WaitGroup
	for range 3 {
		readers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				// A table that goes between planning and running is named as gone.
				rows, _, err := n.query("SELECT count(*), max(g) - min(g) FROM t")
				if err == nil && rows[0] != "100\t0" || err != nil && !fail.Is(err, fail.UndefinedTable) {
					t.Errorf("%v %v", rows, err)
					return
				}
			}
		})
	}
	for g := range 10 {
		n.ok(fmt.Sprintf("CREATE OR REPLACE TABLE t AS SELECT %d AS g, x FROM t", g+1))
	}
	close(stop)
	readers.Wait()
	n.want("SELECT count(*), min(g) FROM t", "100\t10")
	n.want("SELECT count(*) FROM system.tables WHERE namespace = 'public'", "1")
}

// TestUnfinishedObjects: what a process that ended was making is gone at the next start.
func TestUnfinishedObjects(t *testing.T) {
	n := opened(t)
	n.ok("CREATE TABLE t (a INT)")
	sch := arrow.NewSchema([]arrow.Field{{Name: "a", Type: arrow.PrimitiveTypes.Int32}}, nil)
	_, err := n.session.PrepareIngest(context.Background(), loam.Target{Name: "_loam_new_01"}, sch, loam.IngestMode{Create: true, IfExists: "fail"})
	if err != nil {
		t.Fatal(err)
	}
	n.close()
	n.open()
	n.want("SELECT name FROM system.tables WHERE namespace = 'public'", "t")
}
