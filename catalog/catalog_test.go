package catalog

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"pgregory.net/rapid"

	"github.com/loamdb/loam/internal/clock"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/schema"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/metastore"
)

// open returns a catalog over a metastore in memory with the namespace public.
func open(t testing.TB, opt metastore.Options) (*Catalog, metastore.Store) {
	t.Helper()
	c := clock.NewManual(time.UnixMilli(1_800_000_000_000))
	meta := metastore.NewMem(c, clock.SeededIDs(c, 1), opt)
	t.Cleanup(func() {
		if err := meta.Close(); err != nil {
			t.Error(err)
		}
	})
	cat := New(meta)
	if _, err := cat.CreateNamespace(context.Background(), DefaultNamespace, nil); err != nil {
		t.Fatal(err)
	}
	return cat, meta
}

// word reads an identifier of the test text: "quoted" or not.
func word(s string) Name {
	if strings.HasPrefix(s, `"`) {
		return Name{Text: strings.Trim(s, `"`), Quoted: true}
	}
	return Name{Text: s}
}

// session runs one command of testdata/session.
func session(t *testing.T, cat *Catalog, d *datadriven.TestData) (string, error) {
	ctx := context.Background()
	words := strings.Fields(d.Input)
	switch d.Cmd {
	case "namespace":
		created, err := cat.CreateNamespace(ctx, words[0], nil)
		return fmt.Sprintf("new: %t", created), err
	case "drop-namespace":
		return "dropped", cat.DropNamespace(ctx, words[0])
	case "namespaces":
		list, err := cat.Namespaces(ctx)
		return strings.Join(Names(list), " "), err
	case "create":
		o := &schema.Object{Namespace: words[0], Name: words[1], Kind: schema.Collection, Partitions: 2, Key: []int{0},
			Fields: []schema.Field{{Name: "id", Type: types.Of(types.Text)}}}
		got, err := cat.Create(ctx, o)
		if err != nil {
			return "", err
		}
		return describe(got), nil
	case "lookup":
		got, err := cat.Lookup(ctx, word(words[0]), word(words[1]))
		if err != nil {
			return "", err
		}
		return describe(got), nil
	case "drop":
		o, err := cat.Lookup(ctx, word(words[0]), word(words[1]))
		if err != nil {
			return "", err
		}
		return "dropped", cat.Drop(ctx, o.ID)
	case "objects":
		namespace := ""
		if len(words) > 0 {
			namespace = words[0]
		}
		list, err := cat.Objects(ctx, namespace)
		var out []string
		for _, o := range list {
			out = append(out, describe(o))
		}
		return strings.Join(out, "\n"), err
	case "revision":
		rev, err := cat.Revision(ctx)
		return fmt.Sprint(rev), err
	}
	t.Fatalf("%s: unknown command %s", d.Pos, d.Cmd)
	return "", nil
}

func describe(o *schema.Object) string {
	return fmt.Sprintf("%d %s.%s %s v%d partitions %d", o.ID, o.Namespace, o.Name, o.Kind, o.SchemaVersion, o.Partitions)
}

func TestSession(t *testing.T) {
	cat, _ := open(t, metastore.Options{})
	datadriven.RunTest(t, "testdata/session", func(t *testing.T, d *datadriven.TestData) string {
		out, err := session(t, cat, d)
		if err != nil {
			e := fail.As(err)
			out = fmt.Sprintf("%s: %s", e.Code, e.Message)
			if e.Hint != "" {
				out += "\nhint: " + e.Hint
			}
		}
		return out + "\n"
	})
}

var fieldTypes = []types.Type{
	types.Of(types.Boolean), types.Of(types.Int32), types.Of(types.Int64), types.Of(types.Double), types.DecimalOf(38, 10),
	types.Of(types.Text), types.Of(types.Binary), types.Of(types.Date), types.Of(types.Timestamp), types.VectorOf(384),
	types.Of(types.Sparse), types.Of(types.JSON), types.ListOf(types.Of(types.Text)), types.ListOf(types.ListOf(types.Of(types.Int64))),
	types.Of(types.UUID), types.Of(types.Time), types.StructOf(types.Field{Name: "a b", Type: types.MapOf(types.Of(types.Text), types.Of(types.Date))}),
}

func drawObject(t *rapid.T, name string) *schema.Object {
	o := &schema.Object{
		Namespace: DefaultNamespace, Name: name, Kind: rapid.SampledFrom([]schema.Kind{schema.Collection, schema.Table}).Draw(t, "kind"),
		Partitions: rapid.IntRange(1, metastore.MaxPartitions).Draw(t, "partitions"), Dynamic: rapid.Bool().Draw(t, "dynamic"),
	}
	for i := range rapid.IntRange(1, 6).Draw(t, "fields") {
		f := schema.Field{
			Name: fmt.Sprint(i, rapid.String().Draw(t, "field")), Type: rapid.SampledFrom(fieldTypes).Draw(t, "type"), NotNull: rapid.Bool().Draw(t, "not null"),
		}
		switch f.Type.Kind {
		case types.Text:
			f.FullText = rapid.SampledFrom([]string{"", "english"}).Draw(t, "analyzer")
		case types.Vector:
			f.Metric = rapid.SampledFrom([]schema.Metric{schema.Cosine, schema.L2, schema.Dot}).Draw(t, "metric")
		case types.Sparse:
			f.Modifier = rapid.SampledFrom([]string{"", "idf"}).Draw(t, "modifier")
		}
		o.Fields = append(o.Fields, f)
	}
	if o.Kind == schema.Collection {
		o.Key = []int{rapid.IntRange(0, len(o.Fields)-1).Draw(t, "key")}
	}
	if rapid.Bool().Draw(t, "with options") {
		o.Options = rapid.MapOfN(rapid.String(), rapid.String(), 1, 3).Draw(t, "options")
	}
	return o
}

// TestDefinitionsRoundTrip: what is created is found as it was declared, by name and by id.
func TestDefinitionsRoundTrip(t *testing.T) {
	ctx := context.Background()
	cat, _ := open(t, metastore.Options{})
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		want := drawObject(rt, fmt.Sprint("Object", n))
		before := fmt.Sprint(*want)
		made, err := cat.Create(ctx, want)
		if err != nil {
			rt.Fatal(err)
		}
		if fmt.Sprint(*want) != before {
			rt.Fatal("Create changed its argument")
		}
		byName, err := cat.Lookup(ctx, Name{Text: "PUBLIC"}, Name{Text: strings.ToUpper(want.Name)})
		if err != nil {
			rt.Fatal(err)
		}
		byID, err := cat.ByID(ctx, made.ID)
		if err != nil || !reflect.DeepEqual(made, byName) || !reflect.DeepEqual(made, byID) {
			rt.Fatalf("created %+v, by name %+v, by id %+v, %v", made, byName, byID, err)
		}
		expect := *want
		expect.ID, expect.Incarnation, expect.SchemaVersion = made.ID, made.Incarnation, 1
		expect.LastField = int32(len(want.Fields))
		expect.Fields = append([]schema.Field(nil), want.Fields...)
		for i := range expect.Fields {
			expect.Fields[i].ID = int32(i + 1)
		}
		if !reflect.DeepEqual(*made, expect) {
			rt.Fatalf("declared %+v\ncreated  %+v", expect, *made)
		}
	})
}

// TestForeignDefinitions: rows that another version or a fault has written.
func TestForeignDefinitions(t *testing.T) {
	ctx := context.Background()
	cat, meta := open(t, metastore.Options{})
	for i, c := range []struct {
		definition string
		code       fail.Code
		says       string
	}{
		{`{"fields":[{"id":1,"name":"geo","type":"GEOPOINT"}]}`, fail.Unsupported, `field "geo" of o0 has the type "GEOPOINT", which this Loam does not know`},
		{`{"fields":[{"id":1,"name":"v","type":"VECTOR(0)"}]}`, fail.Unsupported, "VECTOR(0)"},
		{`{"fields":[`, fail.Corrupt, "(public.o2)"},
		{``, fail.Corrupt, "(public.o3)"},
		{`{"key":[1],"fields":[{"id":1,"name":"id","type":"TEXT"}]}`, fail.Corrupt, "key field 1 of 1"},
		{`{"key":[-1],"fields":[{"id":1,"name":"id","type":"TEXT"}]}`, fail.Corrupt, "key field -1 of 1"},
		{`{"fields":"TEXT"}`, fail.Corrupt, "(public.o6)"},
	} {
		o, err := meta.CreateObject(ctx, metastore.Object{Namespace: DefaultNamespace, Name: fmt.Sprint("o", i), Kind: "collection", Definition: []byte(c.definition)})
		if err != nil {
			t.Fatal(err)
		}
		_, byID := cat.ByID(ctx, o.ID)
		_, byName := cat.Lookup(ctx, Name{Text: DefaultNamespace}, Name{Text: o.Name})
		for _, err := range []error{byID, byName} {
			if !fail.Is(err, c.code) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%s: %v", c.definition, err)
			}
		}
	}
	if _, err := cat.Objects(ctx, DefaultNamespace); err == nil {
		t.Error("a listing passed over definitions that it cannot read")
	}
}

func TestLimits(t *testing.T) {
	ctx := context.Background()
	cat, _ := open(t, metastore.Options{})
	o := &schema.Object{Namespace: DefaultNamespace, Name: "wide", Kind: schema.Table}
	for i := range 5000 {
		o.Fields = append(o.Fields, schema.Field{Name: fmt.Sprint("field", i), Type: types.Of(types.Text)})
	}
	if _, err := cat.Create(ctx, o); !fail.Is(err, fail.TooLarge) {
		t.Errorf("a definition of 5,000 fields: %v", err)
	}
	o.Fields = o.Fields[:1]
	o.Name = strings.Repeat("x", metastore.MaxNameLen+1)
	if _, err := cat.Create(ctx, o); !fail.Is(err, fail.InvalidParameter) && !fail.Is(err, fail.TooLarge) {
		t.Errorf("a long name: %v", err)
	}
}

// TestUnreachableMetastore: a store that cannot be read never looks like a name
// that does not exist.
func TestUnreachableMetastore(t *testing.T) {
	ctx := context.Background()
	faults := &metastore.Faults{}
	cat, _ := open(t, metastore.Options{Faults: faults})
	o, err := cat.Create(ctx, &schema.Object{Namespace: DefaultNamespace, Name: "docs", Kind: schema.Table, Fields: []schema.Field{{Name: "a", Type: types.Of(types.Text)}}})
	if err != nil {
		t.Fatal(err)
	}
	faults.Add(metastore.Fault{Kind: metastore.Unreadable})
	_, lookup := cat.Lookup(ctx, Name{Text: DefaultNamespace}, Name{Text: "docs"})
	_, byID := cat.ByID(ctx, o.ID)
	_, namespaces := cat.Namespaces(ctx)
	_, objects := cat.Objects(ctx, "")
	_, revision := cat.Revision(ctx)
	for name, err := range map[string]error{"Lookup": lookup, "ByID": byID, "Namespaces": namespaces, "Objects": objects, "Revision": revision} {
		if !fail.Is(err, fail.Unavailable) {
			t.Errorf("%s: %v", name, err)
		}
	}
	faults.Clear()
	if _, err := cat.Lookup(ctx, Name{Text: DefaultNamespace}, Name{Text: "docs"}); err != nil {
		t.Error(err)
	}
}
