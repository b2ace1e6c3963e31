package wal_test

import (
	"context"
	"fmt"

	"github.com/loamdb/loam/internal/clock"
	"github.com/loamdb/loam/metastore"
	"github.com/loamdb/loam/storage/object"
	"github.com/loamdb/loam/storage/wal"
)

// What was appended is read back by the references of its partition.
func Example() {
	ctx := context.Background()
	clk := clock.Real()
	ids := clock.RandomIDs(clk)
	store := object.NewMem()
	meta := metastore.NewMem(clk, ids, metastore.Options{})
	_, _ = meta.CreateNamespace(ctx, "public", nil)
	docs, _ := meta.CreateObject(ctx, metastore.Object{Namespace: "public", Name: "docs", Partitions: 1})

	log := wal.New(store, meta, clk, ids, wal.Options{})
	defer func() { _ = log.Close() }()
	res, err := log.Append(ctx, []wal.Block{{ObjectID: docs.ID, Incarnation: docs.Incarnation, Records: 2, Payload: []byte("two records"), Bytes: 11}})
	fmt.Println(res[0].Base, res[0].Err, err)

	_, parts, _, _ := meta.Heads(ctx, docs.ID)
	refs, _ := log.Refs(ctx, parts[0], 0)
	for _, ref := range refs {
		batches, _ := log.ReadBlock(ctx, ref)
		for _, b := range batches {
			fmt.Println(b.Base, b.Records, string(b.Payload))
		}
	}
	// Output:
	// 0 <nil> <nil>
	// 0 2 two records
}
