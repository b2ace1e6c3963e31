package collection

import (
	"context"
	"errors"
	"fmt"
	"math/rand"
	"strings"
	"testing"

	"github.com/zeebo/xxh3"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/schema"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
	"github.com/loamdb/loam/storage/object"
)

// churn writes, deletes, applies and merges, so that there are versions with
// every kind of object.
func churn(b *bench, seed int64, steps int) {
	r, ctx := rand.New(rand.NewSource(seed)), context.Background()
	for step := range steps {
		if b.obj.Kind == schema.Table {
			churnTable(b, r, step)
		} else {
			var docs [][]byte
			for range 1 + r.Intn(12) {
				docs = append(docs, randomDoc(r, 40).json())
			}
			rows, err := FromDocuments(b.obj, docs)
			b.must(err)
			_, err = b.c.Append(ctx, rows)
			b.must(err)
		}
		b.must(b.c.Apply(ctx, nil))
		if r.Intn(3) == 0 {
			b.must(b.c.Merge(ctx, nil))
		}
	}
}

func churnTable(b *bench, r *rand.Rand, step int) {
	n := 2 + r.Intn(10)
	col := vec.New(types.Of(types.Int32), n)
	for i := range n {
		col.Append(vec.Int32(int32(i)))
	}
	rows, err := FromColumns(b.obj, []*vec.Vector{col}, n)
	b.must(err)
	res, err := b.c.Append(context.Background(), rows)
	b.must(err)
	if next := res.Offsets[0]; step%2 == 1 { // of the batch before, which is applied
		_, err := b.c.Append(context.Background(), &Rows{Cols: make([]*vec.Vector, 1), Gone: []Identity{{0, next - 1}, {0, next - uint64(n) - 1}}})
		b.must(err)
	}
}

func numbersObject() *schema.Object {
	return &schema.Object{Namespace: "public", Name: "numbers", Kind: schema.Table, Partitions: 1,
		Fields: []schema.Field{{ID: 1, Name: "n", Type: types.Of(types.Int32)}}}
}

// TestAManifestNamesAllItsObjects: every object that a version names is there
// with its size and checksum, and the store holds nothing else of the object than
// what its versions name.
func TestAManifestNamesAllItsObjects(t *testing.T) {
	for name, obj := range map[string]*schema.Object{"collection": docsObject(2), "table": numbersObject()} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, obj, Options{MaxSplits: 3, MinFragment: 3000, MaxDeleted: 50})
			churn(b, 1, 12)
			ctx := context.Background()
			named, kinds := map[string]bool{}, map[ObjectKind]bool{}
			head, _, _, err := b.deps.Meta.Heads(ctx, obj.ID)
			b.must(err)
			for ref := (ManifestRef{Key: head.ManifestKey, Checksum: head.ManifestChecksum}); ref.Key != ""; {
				named[ref.Key] = true
				m, err := ReadManifest(ctx, b.deps.Objects, ref)
				b.must(err)
				for _, o := range m.Objects() {
					body, err := b.deps.Objects.Get(ctx, o.Key)
					b.must(err)
					if sum := xxh3.Hash(body); sum != o.Checksum || o.Size >= 0 && o.Size != int64(len(body)) {
						t.Fatalf("version %d: %s %s: %d bytes, sum %016x; named %+v", m.Version, o.Kind, o.Key, len(body), sum, o)
					}
					named[o.Key], kinds[o.Kind] = true, true
				}
				ref = m.ParentRef()
			}
			for info, err := range object.All(ctx, b.deps.Objects, Prefix(obj.ID)) {
				b.must(err)
				if !named[info.Key] {
					t.Errorf("no version names %s", info.Key)
				}
			}
			want := map[string]int{"collection": 5, "table": 2}[name]
			if len(kinds) != want {
				t.Errorf("the history has objects of the kinds %v, want %d of them", kinds, want)
			}
		})
	}
}

// TestADeletionBitmapIsChecked: a flipped bit that leaves the number of deleted
// rows as it was deletes another row, if nobody compares the checksum.
func TestADeletionBitmapIsChecked(t *testing.T) {
	b := newBench(t, docsObject(1), Options{})
	ctx := context.Background()
	rows, err := FromDocuments(b.obj, [][]byte{doc{id: "a", emb: []float32{0, 0, 0, 0}}.json(), doc{id: "b", emb: []float32{0, 0, 0, 0}}.json(), doc{id: "c", emb: []float32{0, 0, 0, 0}}.json()})
	b.must(err)
	_, err = b.c.Append(ctx, rows)
	b.must(err)
	b.must(b.c.Apply(ctx, nil))
	_, err = b.c.Append(ctx, DeleteKeys(b.obj, []string{"b"}))
	b.must(err)
	b.must(b.c.Apply(ctx, nil))
	key := b.c.st.manifest.Segments[0].Fragments[0].Deletion.Key
	body, err := b.deps.Objects.Get(ctx, key)
	b.must(err)
	body[len(body)-2] ^= 3 // row 1 becomes row 2
	_, err = b.deps.Objects.Put(ctx, key, body, object.PutOptions{Replace: true})
	b.must(err)
	_, err = Open(ctx, b.deps, b.obj, Options{})
	if !fail.Is(err, fail.Corrupt) || !strings.Contains(err.Error(), key) {
		t.Errorf("opened with another row deleted: %v", err)
	}
}

// TestACollectionWithoutItsBase: a node that dies between the catalog's row and the
// dataset's version 1 leaves a collection that must still be applied.
func TestACollectionWithoutItsBase(t *testing.T) {
	b := newBench(t, docsObject(1), Options{})
	ctx := context.Background()
	b.must(b.deps.Objects.Delete(ctx, BaseKey(b.obj.ID)))
	churn(b, 2, 1)
	if _, err := b.deps.Objects.Head(ctx, BaseKey(b.obj.ID)); err != nil {
		t.Error(err)
	}
	if _, err := ReadManifest(ctx, b.deps.Objects, ManifestRef{Key: fmt.Sprint(Prefix(b.obj.ID), "manifests/gone.lman")}); !errors.Is(err, object.ErrNotFound) {
		t.Error(err)
	}
}
