package catalog

import (
	"context"
	"reflect"
	"testing"
	"time"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/schema"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/metastore"
)

// A link comes back as it was declared, and is no relation.
func TestLinksRoundTrip(t *testing.T) {
	ctx := context.Background()
	cat, meta := open(t, metastore.Options{})
	table, err := cat.Create(ctx, &schema.Object{Namespace: DefaultNamespace, Name: "t", Kind: schema.Table, Partitions: 1,
		Fields: []schema.Field{{Name: "a", Type: types.Of(types.Text)}}})
	if err != nil {
		t.Fatal(err)
	}
	def := &schema.LinkDef{Source: table.ID, Target: 1 << 60, Dead: 9, OnError: schema.DeadLetter, BatchBytes: 1 << 20, BatchInterval: 1500 * time.Millisecond,
		Start: []uint64{0, 1<<64 - 1}, State: schema.LinkFailed, Comment: "why", Error: &schema.LinkError{Code: "out_of_range", Message: "m", Partition: 1, Offset: 1 << 60}}
	want := &schema.Object{Namespace: DefaultNamespace, Name: "l", Kind: schema.Link, Link: def,
		Query: &schema.ViewQuery{Text: "SELECT a FROM t", Namespace: "public", Uses: []schema.Use{{Name: "t", ID: table.ID, Fields: map[int32]string{1: "a"}}}}}
	made, err := cat.Create(ctx, want)
	if err != nil {
		t.Fatal(err)
	}
	got, err := New(meta).ByID(ctx, made.ID)
	if err != nil || !reflect.DeepEqual(got.Link, def) || !reflect.DeepEqual(got.Query, want.Query) {
		t.Fatalf("%+v, %v", got.Link, err)
	}
	for _, id := range []uint64{def.Source, def.Target, def.Dead} {
		if !got.DependsOn(id) {
			t.Errorf("the link does not depend on %d", id)
		}
	}
	relations, err := cat.Relations(ctx, "")
	links, lerr := cat.Links(ctx, DefaultNamespace)
	if err != nil || lerr != nil || len(relations) != 1 || relations[0].ID != table.ID || len(links) != 1 || links[0].ID != made.ID {
		t.Fatalf("%v %v, %v %v", relations, links, err, lerr)
	}
	if views, err := cat.Views(ctx, table.ID); err != nil || len(views) != 0 {
		t.Fatalf("a link is taken for a view: %v %v", views, err)
	}
}

func TestForeignLinks(t *testing.T) {
	ctx := context.Background()
	cat, meta := open(t, metastore.Options{})
	for i, c := range []struct{ kind, definition string }{
		{"link", `{"fields":[],"view":{"text":"SELECT 1","namespace":"public"}}`},
		{"link", `{"fields":[],"link":{"source":1,"target":2,"on_error":"fail","state":"running"}}`},
		{"table", `{"fields":[],"link":{"source":1,"target":2,"on_error":"fail","state":"running"}}`},
	} {
		o, err := meta.CreateObject(ctx, metastore.Object{Namespace: DefaultNamespace, Name: string(rune('a' + i)), Kind: c.kind, Definition: []byte(c.definition)})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := cat.ByID(ctx, o.ID); !fail.Is(err, fail.Corrupt) {
			t.Errorf("%s %s: %v", c.kind, c.definition, err)
		}
	}
}
