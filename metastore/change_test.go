package metastore

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/loamdb/loam/internal/fail"
)

// names lists the objects of public as name:version.
func names(t *testing.T, r *rig) string {
	t.Helper()
	var out []string
	for _, o := range must(r.ListObjects(ctx, "public"))(t) {
		byName, err := r.GetObject(ctx, "public", o.Name)
		if err != nil || byName.ID != o.ID {
			t.Errorf("%s is object %d, by name %d, %v", o.Name, o.ID, byName.ID, err)
		}
		out = append(out, fmt.Sprintf("%s:%d", o.Name, o.SchemaVersion))
	}
	return strings.Join(out, " ")
}

func TestChangeCatalog(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		must(r.CreateNamespace(ctx, "public", nil))(t)
		make := func(name string) Object {
			return must(r.ChangeCatalog(ctx, CatalogChange{Create: &Object{Namespace: "PUBLIC", Name: name, Partitions: 2}}))(t)
		}
		a, b := make("a"), make("b")
		want := func(text string) {
			t.Helper()
			if got := names(t, r); got != text {
				t.Errorf("objects %q, want %q", got, text)
			}
		}
		want("a:1 b:1")
		rename := func(o Object, version uint64, to string) error {
			_, err := r.ChangeCatalog(ctx, CatalogChange{Update: []ObjectUpdate{{ID: o.ID, ExpectSchemaVersion: version, Name: to}}})
			return err
		}
		wantCode(t, rename(a, 1, "B"), fail.DuplicateObject)
		wantCode(t, rename(a, 7, "c"), fail.Conflict)
		wantCode(t, rename(a, 1, strings.Repeat("x", 300)), fail.TooLarge)
		if err := rename(a, 1, "A"); err != nil { // in case alone
			t.Fatal(err)
		}
		want("A:2 b:1")

		// Two objects exchange their names, which no order of single renames can do.
		must(r.ChangeCatalog(ctx, CatalogChange{Update: []ObjectUpdate{
			{ID: a.ID, ExpectSchemaVersion: 2, Name: "c"}, {ID: b.ID, ExpectSchemaVersion: 1, Name: "A"}}}))(t)
		want("c:3 A:2")

		// The new object takes the name of the one that goes; its log starts empty.
		made := must(r.ChangeCatalog(ctx, CatalogChange{Drop: []uint64{a.ID}, Create: &Object{Namespace: "public", Name: "C", Partitions: 1}}))(t)
		want("A:2 C:1")
		if _, parts, _, err := r.Heads(ctx, made.ID); err != nil || len(parts) != 1 {
			t.Errorf("%d partitions, %v", len(parts), err)
		}
		_, err := r.GetObjectByID(ctx, a.ID)
		wantCode(t, err, fail.UndefinedTable)

		rev := must(r.CatalogRevision(ctx))(t)
		old := rev - 1
		_, err = r.ChangeCatalog(ctx, CatalogChange{IfRevision: &old, Drop: []uint64{b.ID}})
		wantCode(t, err, fail.Conflict)
		_, err = r.ChangeCatalog(ctx, CatalogChange{Drop: []uint64{b.ID}, DropNamespace: "public"})
		wantCode(t, err, fail.Dependents)
		want("A:2 C:1") // nothing of it happened
		must(r.ChangeCatalog(ctx, CatalogChange{IfRevision: &rev, Drop: []uint64{b.ID, made.ID}, DropNamespace: "Public"}))(t)
		if left := must(r.ListNamespaces(ctx))(t); len(left) != 0 {
			t.Errorf("namespaces %+v", left)
		}
	})
}

func TestChangeCatalogLimits(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		must(r.CreateNamespace(ctx, "public", nil))(t)
		var ids []uint64
		for i := range 60 {
			ids = append(ids, must(r.CreateObject(ctx, Object{Namespace: "public", Name: fmt.Sprint("t", i)}))(t).ID)
		}
		_, err := r.ChangeCatalog(ctx, CatalogChange{Drop: ids})
		wantCode(t, err, fail.TooLarge)
		_, err = r.ChangeCatalog(ctx, CatalogChange{Drop: []uint64{ids[0], 4711}})
		wantCode(t, err, fail.UndefinedTable)
		if _, err := r.GetObjectByID(ctx, ids[0]); err != nil {
			t.Error("half of a change was made:", err)
		}
	})
}

// TestRenameRaces: of many that rename one object at once each wins or is told,
// and the object has one name at the end.
func TestRenameRaces(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		must(r.CreateNamespace(ctx, "public", nil))(t)
		o := must(r.CreateObject(ctx, Object{Namespace: "public", Name: "start", Partitions: 1}))(t)
		var wg sync.WaitGroup
		var mu sync.Mutex
		won := 0
		for i := range 8 {
			wg.Go(func() {
				for range 5 {
					now, err := r.GetObjectByID(ctx, o.ID)
					if err == nil {
						_, err = r.ChangeCatalog(ctx, CatalogChange{Update: []ObjectUpdate{{ID: o.ID, ExpectSchemaVersion: now.SchemaVersion, Name: fmt.Sprint("n", i, "x", now.SchemaVersion)}}})
					}
					mu.Lock()
					if err == nil {
						won++
					} else if !fail.Is(err, fail.Conflict) {
						t.Error(err)
					}
					mu.Unlock()
				}
			})
		}
		wg.Wait()
		end := must(r.GetObjectByID(ctx, o.ID))(t)
		if int(end.SchemaVersion) != won+1 {
			t.Errorf("%d renames and version %d", won, end.SchemaVersion)
		}
		if got := names(t, r); got != fmt.Sprintf("%s:%d", end.Name, end.SchemaVersion) {
			t.Error(got)
		}
		rows := 0
		if err := r.Store.(*db).pages(ctx, prefixName, func(row) error { rows++; return nil }, func() { rows = 0 }); err != nil || rows != 1 {
			t.Errorf("%d name rows, %v", rows, err)
		}
	})
}
