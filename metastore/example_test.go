package metastore_test

import (
	"context"
	"fmt"
	"time"

	"github.com/loamdb/loam/internal/clock"
	"github.com/loamdb/loam/metastore"
)

// A writer gets offsets, a worker moves the head past them.
func Example() {
	ctx := context.Background()
	clk := clock.NewManual(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	ids := clock.SeededIDs(clk, 1)
	s := metastore.NewMem(clk, ids, metastore.Options{})
	defer func() { _ = s.Close() }()

	_, _ = s.CreateNamespace(ctx, "public", nil)
	docs, _ := s.CreateObject(ctx, metastore.Object{Namespace: "public", Name: "Docs", Kind: "collection", Partitions: 1})
	res, _ := s.Append(ctx, []metastore.AppendBlock{{ObjectID: docs.ID, Incarnation: docs.Incarnation, Records: 10,
		WALKey: "wal/20260102/" + ids.ULID() + ".lwal"}})
	fmt.Println("appended at", res[0].Base)

	lease, _ := s.AcquireLease(ctx, "apply/docs", "worker-1", 30*time.Second)
	head, err := s.Commit(ctx, metastore.CommitRequest{ObjectID: docs.ID, Incarnation: docs.Incarnation,
		Head:   metastore.Head{Version: 1, ManifestKey: "manifest/1", CommitID: ids.ULID(), Applied: []uint64{10}},
		Fences: []metastore.Fence{lease.Fence()}})
	fmt.Println("version", head.Version, err)

	_, parts, _, _ := s.Heads(ctx, docs.ID)
	fmt.Println("applied", parts[0].Applied, "of", parts[0].Next, "references", len(parts[0].Refs))
	// Output:
	// appended at 0
	// version 1 <nil>
	// applied 10 of 10 references 0
}
