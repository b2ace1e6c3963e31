package metastore

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/loamdb/loam/internal/fail"
)

func TestInfoAndSecret(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		info := must(r.Info(ctx))(t)
		if len(info.ClusterID) != 26 || info.Major != formatMajor || info.CreatedMS != start.UnixMilli() {
			t.Fatalf("%+v", info)
		}
		var wg sync.WaitGroup
		secrets := make([][]byte, 8)
		for i := range secrets {
			wg.Go(func() { secrets[i], _ = r.Secret(ctx, "ticket/key", 32) })
		}
		wg.Wait()
		for _, s := range secrets {
			if len(s) != 32 || !bytes.Equal(s, secrets[0]) || bytes.Equal(s, make([]byte, 32)) {
				t.Fatalf("secrets differ: %x", secrets)
			}
		}
		if other := must(r.Secret(ctx, "other", 32))(t); bytes.Equal(other, secrets[0]) {
			t.Error("two secrets are the same")
		}
		_, err := r.Secret(ctx, "other", 16)
		wantCode(t, err, fail.InvalidParameter)
		_, err = r.Secret(ctx, "none", 0)
		wantCode(t, err, fail.InvalidParameter)
	})
}

// TestNamespaceDefinitions: a definition is made with the namespace and replaced only by
// who knows it.
func TestNamespaceDefinitions(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		one, two := []byte("one"), []byte("two")
		must(r.CreateNamespace(ctx, "Sales", one))(t)
		if must(r.CreateNamespace(ctx, "sales", two))(t) {
			t.Error("it is made twice")
		}
		has := func(want string) {
			t.Helper()
			if got := must(r.ListNamespaces(ctx))(t)[0]; string(got.Definition) != want || got.Name != "Sales" {
				t.Errorf("%+v, want %q", got, want)
			}
		}
		has("one")
		rev := must(r.CatalogRevision(ctx))(t)
		if err := r.UpdateNamespace(ctx, "SALES", one, two); err != nil {
			t.Fatal(err)
		}
		if must(r.CatalogRevision(ctx))(t) == rev {
			t.Error("nobody sees the change")
		}
		wantCode(t, r.UpdateNamespace(ctx, "sales", one, []byte("three")), fail.Conflict)
		has("two")
		must(r.CreateObject(ctx, Object{Namespace: "sales", Name: "o", Partitions: 1}))(t)
		has("two") // counting its objects keeps it
		if err := r.UpdateNamespace(ctx, "sales", two, nil); err != nil {
			t.Fatal(err)
		}
		has("")
		wantCode(t, r.UpdateNamespace(ctx, "none", nil, one), fail.UndefinedNamespace)
		wantCode(t, r.UpdateNamespace(ctx, "sales", nil, make([]byte, MaxValueBytes+1)), fail.TooLarge)
	})
}

func TestNamespaces(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		if !must(r.CreateNamespace(ctx, "Sales", nil))(t) || must(r.CreateNamespace(ctx, "sALES", nil))(t) {
			t.Fatal("create says the wrong thing")
		}
		must(r.CreateNamespace(ctx, "a/b %", nil))(t)
		must(r.CreateNamespace(ctx, "Ärger", nil))(t)
		var names []string
		for _, ns := range must(r.ListNamespaces(ctx))(t) {
			names = append(names, ns.Name)
		}
		slices.Sort(names)
		if got := strings.Join(names, "|"); got != "Sales|a/b %|Ärger" {
			t.Fatal(got)
		}
		o := must(r.CreateObject(ctx, Object{Namespace: "SALES", Name: "Docs", Partitions: 1}))(t)
		if o.Namespace != "Sales" {
			t.Errorf("namespace is spelled %q", o.Namespace)
		}
		wantCode(t, r.DropNamespace(ctx, "sales"), fail.Dependents)
		if err := r.DropObject(ctx, o.ID); err != nil {
			t.Fatal(err)
		}
		if err := r.DropNamespace(ctx, "sales"); err != nil {
			t.Fatal(err)
		}
		wantCode(t, r.DropNamespace(ctx, "sales"), fail.UndefinedNamespace)
		for _, bad := range []string{"", "a\x00b", strings.Repeat("x", 256)} {
			if _, err := r.CreateNamespace(ctx, bad, nil); err == nil {
				t.Errorf("namespace %q is taken", bad)
			}
		}
	})
}

func TestObjects(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		rev := must(r.CatalogRevision(ctx))(t)
		changed := func(what string, want bool) {
			t.Helper()
			now := must(r.CatalogRevision(ctx))(t)
			if (now != rev) != want {
				t.Errorf("%s: catalog revision %d to %d", what, rev, now)
			}
			rev = now
		}
		_, err := r.CreateObject(ctx, Object{Namespace: "none", Name: "x"})
		wantCode(t, err, fail.UndefinedNamespace)
		must(r.CreateNamespace(ctx, "public", nil))(t)
		changed("create namespace", true)
		must(r.CreateNamespace(ctx, "PUBLIC", nil))(t)
		changed("create namespace again", false)
		o := must(r.CreateObject(ctx, Object{Namespace: "public", Name: "Docs", Kind: "collection", Partitions: 3, Definition: []byte{0, 1, 255}}))(t)
		changed("create object", true)
		if o.ID == 0 || o.SchemaVersion != 1 || len(o.Incarnation) != 26 || o.CreatedMS == 0 {
			t.Fatalf("%+v", o)
		}
		head, parts, _, err := r.Heads(ctx, o.ID)
		if err != nil || head.Version != 0 || len(parts) != 3 || parts[2].Incarnation != o.Incarnation {
			t.Fatalf("%+v %+v %v", head, parts, err)
		}
		_, err = r.CreateObject(ctx, Object{Namespace: "Public", Name: "DOCS"})
		wantCode(t, err, fail.DuplicateObject)
		byName := must(r.GetObject(ctx, "PUBLIC", "docs"))(t)
		byID := must(r.GetObjectByID(ctx, o.ID))(t)
		if fmt.Sprint(byName) != fmt.Sprint(o) || fmt.Sprint(byID) != fmt.Sprint(o) {
			t.Fatalf("%+v\n%+v\n%+v", o, byName, byID)
		}
		changed("reads and refusals", false)

		u := must(r.UpdateObject(ctx, o.ID, 1, []byte("second")))(t)
		if u.SchemaVersion != 2 || string(u.Definition) != "second" || u.Name != "Docs" {
			t.Fatalf("%+v", u)
		}
		changed("update", true)
		_, err = r.UpdateObject(ctx, o.ID, 1, []byte("third"))
		wantCode(t, err, fail.Conflict)
		_, err = r.UpdateObject(ctx, 999, 1, nil)
		wantCode(t, err, fail.UndefinedTable)
		_, err = r.UpdateObject(ctx, o.ID, 2, make([]byte, MaxValueBytes+1))
		wantCode(t, err, fail.TooLarge)

		if err := r.DropObject(ctx, o.ID); err != nil {
			t.Fatal(err)
		}
		changed("drop", true)
		wantCode(t, r.DropObject(ctx, o.ID), fail.UndefinedTable)
		_, err = r.GetObject(ctx, "public", "docs")
		wantCode(t, err, fail.UndefinedTable)
		_, err = r.GetObject(ctx, "none", "docs")
		wantCode(t, err, fail.UndefinedNamespace)
		_, _, _, err = r.Heads(ctx, o.ID)
		wantCode(t, err, fail.UndefinedTable)
		again := must(r.CreateObject(ctx, Object{Namespace: "public", Name: "docs", Partitions: 1}))(t)
		if again.ID == o.ID || again.Incarnation == o.Incarnation {
			t.Fatalf("identity reused: %+v", again)
		}
		_, err = r.CreateObject(ctx, Object{Namespace: "public", Name: "wide", Partitions: MaxPartitions + 1})
		wantCode(t, err, fail.InvalidParameter)
		must(r.CreateObject(ctx, Object{Namespace: "public", Name: "widest", Partitions: MaxPartitions}))(t)
	})
}

func TestListObjects(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		const n = 520 // more than a page
		must(r.CreateNamespace(ctx, "a", nil))(t)
		must(r.CreateNamespace(ctx, "b", nil))(t)
		for i := range n {
			must(r.CreateObject(ctx, Object{Namespace: []string{"a", "b"}[i%2], Name: fmt.Sprint("o", i)}))(t)
		}
		all := must(r.ListObjects(ctx, ""))(t)
		half := must(r.ListObjects(ctx, "B"))(t)
		if len(all) != n || len(half) != n/2 || half[0].Name != "o1" {
			t.Fatal(len(all), len(half))
		}
		for i, o := range all {
			if o.Name != fmt.Sprint("o", i) || (i > 0 && all[i-1].ID >= o.ID) {
				t.Fatalf("object %d is %+v", i, o)
			}
		}
		_, err := r.ListObjects(ctx, "c")
		wantCode(t, err, fail.UndefinedNamespace)
	})
}

// Of concurrent creations of one name one wins.
func TestCreateRace(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		must(r.CreateNamespace(ctx, "public", nil))(t)
		var wg sync.WaitGroup
		errs := make([]error, 12)
		for i := range errs {
			wg.Go(func() {
				_, errs[i] = r.CreateObject(ctx, Object{Namespace: "public", Name: []string{"docs", "DOCS"}[i%2], Partitions: 1})
			})
		}
		wg.Wait()
		won := 0
		for _, err := range errs {
			if err == nil {
				won++
			} else {
				wantCode(t, err, fail.DuplicateObject)
			}
		}
		ns := must(r.ListNamespaces(ctx))(t)
		if won != 1 || ns[0].Objects != 1 {
			t.Fatalf("%d won, %+v", won, ns)
		}
	})
}

func TestStoreAddress(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		for _, address := range []string{"", "s3://a/b", "s3://c"} {
			if address != "" {
				r.faults.Add(Fault{Op: "set_store", Kind: LostAfter, N: 1})
				if err := r.SetStoreAddress(ctx, address); err != nil {
					t.Fatal(err)
				}
			}
			if got := must(r.StoreAddress(ctx))(t); got != address {
				t.Errorf("the address is %q, want %q", got, address)
			}
		}
	})
}
