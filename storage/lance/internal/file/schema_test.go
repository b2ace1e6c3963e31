package file

import (
	"reflect"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/storage/lance/internal/pb"
)

func metadata(kv ...string) arrow.Metadata {
	m := map[string]string{}
	for i := 0; i < len(kv); i += 2 {
		m[kv[i]] = kv[i+1]
	}
	return arrow.MetadataFrom(m)
}

func TestSchemaRoundTrip(t *testing.T) {
	var fields []arrow.Field
	for name, typ := range simpleTypes {
		if name == "json" {
			continue // is read only
		}
		fields = append(fields, arrow.Field{Name: "f_" + name, Type: typ, Nullable: len(name)%2 == 0})
	}
	fields = append(fields,
		arrow.Field{Name: "v", Type: vectorType(768), Metadata: metadata("distance", "cosine", "a", "b")},
		arrow.Field{Name: "h", Type: arrow.FixedSizeListOf(4, arrow.FixedWidthTypes.Float16), Nullable: true},
		arrow.Field{Name: "sp", Type: sparseType(), Nullable: true},
		arrow.Field{Name: "ll", Type: arrow.LargeListOf(arrow.StructOf(arrow.Field{Name: "x", Type: arrow.PrimitiveTypes.Int8}))},
		arrow.Field{Name: "ls", Type: arrow.ListOf(arrow.StructOf(arrow.Field{Name: "x", Type: arrow.ListOf(arrow.BinaryTypes.String)}))},
		arrow.Field{Name: "t1", Type: &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"}},
		arrow.Field{Name: "t2", Type: &arrow.TimestampType{Unit: arrow.Nanosecond}},
		arrow.Field{Name: "t3", Type: &arrow.TimestampType{Unit: arrow.Second, TimeZone: "+02:00"}},
	)
	md := metadata("k", "v")
	want := arrow.NewSchema(fields, &md)
	flat, err := FieldsOf(want, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, f := range flat {
		if f.ID != int32(i) {
			t.Errorf("field %d has id %d", i, f.ID)
		}
	}
	got, err := SchemaOf(flat, map[string]string{"k": "v"})
	if err != nil {
		t.Fatal(err)
	}
	if !got.Equal(want) || !got.Metadata().Equal(want.Metadata()) {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestLogicalNames(t *testing.T) {
	for want, typ := range map[string]arrow.DataType{
		"fixed_size_list:float:768":         vectorType(768),
		"fixed_size_list:halffloat:3":       arrow.FixedSizeListOf(3, arrow.FixedWidthTypes.Float16),
		"timestamp:us:UTC":                  &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"},
		"timestamp:ms:-":                    &arrow.TimestampType{Unit: arrow.Millisecond},
		"large_binary":                      arrow.BinaryTypes.LargeBinary,
		"date32:day":                        arrow.FixedWidthTypes.Date32,
		"double":                            arrow.PrimitiveTypes.Float64,
		"bool":                              arrow.FixedWidthTypes.Boolean,
		"null":                              arrow.Null,
		"date64:ms":                         arrow.FixedWidthTypes.Date64,
		"time32:ms":                         arrow.FixedWidthTypes.Time32ms,
		"time64:ns":                         arrow.FixedWidthTypes.Time64ns,
		"duration:us":                       arrow.FixedWidthTypes.Duration_us,
		"fixed_size_binary:16":              &arrow.FixedSizeBinaryType{ByteWidth: 16},
		"decimal:128:12:2":                  &arrow.Decimal128Type{Precision: 12, Scale: 2},
		"decimal:256:50:-3":                 &arrow.Decimal256Type{Precision: 50, Scale: -3},
		"fixed_size_list:bool:8":            arrow.FixedSizeListOf(8, arrow.FixedWidthTypes.Boolean),
		"fixed_size_list:decimal:128:5:1:4": arrow.FixedSizeListOf(4, &arrow.Decimal128Type{Precision: 5, Scale: 1}),
		"fixed_size_list:timestamp:us:-:4":  arrow.FixedSizeListOf(4, &arrow.TimestampType{Unit: arrow.Microsecond}),
	} {
		got, err := leafLogical(typ)
		if err != nil || got != want {
			t.Errorf("%s is %q, %v; want %q", typ, got, err, want)
		}
		if back, err := arrowLeaf(want); err != nil || !arrow.TypeEqual(back, typ) {
			t.Errorf("%q is %v, %v; want %s", want, back, err, typ)
		}
	}
	if got, err := arrowLeaf("dict:timestamp:us:UTC:int8:false"); err != nil || got.String() != "timestamp[us, tz=UTC]" {
		t.Errorf("a dictionary is read as %v, %v", got, err)
	}
	for _, bad := range []string{
		"", "decimal:128:39:2", "decimal:128:9", "decimal:64:9:2", "decimal:128:3:7", "time32:us", "duration:h", "fixed_size_binary:0",
		"fixed_size_binary:x", "fixed_size_list:null:3", "dict:int8", "dict:blob:int8:false", "fixed_size_list:float:0", "fixed_size_list:float:-1", "fixed_size_list:float:99999999999",
		"fixed_size_list:string:3", "fixed_size_list:3", "timestamp:h:UTC", "struct", "list", "fixed_size_list:fixed_size_list:float:2:3",
	} {
		if typ, err := arrowLeaf(bad); !fail.Is(err, fail.Unsupported) {
			t.Errorf("%q is %v, %v", bad, typ, err)
		}
	}
}

func TestSchemaRefused(t *testing.T) {
	leaf := func(id, parent int32, logical string) pb.Field {
		return pb.Field{Type: pb.Leaf, Name: "f", ID: id, ParentID: parent, LogicalType: logical}
	}
	for name, fields := range map[string][]pb.Field{
		"orphan":            {leaf(0, 5, "int32")},
		"top level by 0":    {leaf(0, 0, "int32")},
		"empty list":        {leaf(0, -1, "list")},
		"list of two":       {leaf(0, -1, "list"), leaf(1, 0, "int32"), leaf(2, 0, "int32")},
		"child of a leaf":   {leaf(0, -1, "int32"), leaf(1, 0, "int32")},
		"unknown type":      {leaf(0, -1, "blob")},
		"unknown child":     {leaf(0, -1, "struct"), leaf(1, 0, "blob")},
		"child out of line": {leaf(0, -1, "struct"), leaf(1, 0, "int32"), leaf(2, -1, "int32"), leaf(3, 0, "int32")},
	} {
		if s, err := SchemaOf(fields, nil); !fail.Is(err, fail.Corrupt) && !fail.Is(err, fail.Unsupported) {
			t.Errorf("%s: %v, %v", name, s, err)
		}
	}
	good := []pb.Field{leaf(0, -1, "int32"), leaf(1, -1, "struct"), leaf(2, 1, "odd"), leaf(3, 1, "int8"), leaf(4, -1, "string"), leaf(5, -1, "struct"), leaf(-1, -1, "uint8"), leaf(6, -1, "bool")}
	s, refused, err := ReadSchema(good, nil)
	if err != nil || s.NumFields() != 5 || refused[0] != nil || !fail.Is(refused[1], fail.Unsupported) || refused[2] != nil || refused[3] != nil || refused[4] != nil {
		t.Errorf("%v, %v, %v", s, refused, err)
	}
	if n := storedColumns(good[1:4], false); n != 2 {
		t.Errorf("a struct of two counts %d columns", n)
	}
	if n := storedColumns(good[5:7], false); n != 1 {
		t.Errorf("a struct with a loose part counts %d columns", n)
	}
	deep := []pb.Field{leaf(0, -1, "struct")}
	for i := int32(1); i < 100; i++ {
		deep = append(deep, leaf(i, i-1, "struct"))
	}
	if _, err := SchemaOf(append(deep, leaf(100, 99, "int32")), nil); err == nil || !strings.Contains(err.Error(), "parent") {
		t.Errorf("a hundred structs: %v", err)
	}
}

// TestCanonicalLevels pins the numbering of a leaf below structs and lists.
func TestCanonicalLevels(t *testing.T) {
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "a", Type: arrow.PrimitiveTypes.Int32},
		{Name: "sp", Type: sparseType()},
		{Name: "x", Type: arrow.StructOf(arrow.Field{Name: "l", Type: arrow.ListOf(arrow.StructOf(arrow.Field{Name: "y", Type: arrow.ListOf(arrow.PrimitiveTypes.Int8)}))})},
	}, nil)
	leaves, err := leavesOf(schema)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []struct {
		name       string
		null       []uint16
		maxVisible uint16
		lists      int
	}{
		{"a", []uint16{1}, 1, 0},
		{"sp.indices", []uint16{4, 2, 1}, 1, 1},
		{"sp.values", []uint16{4, 2, 1}, 1, 1},
		{"x.l.y", []uint16{7, 5, 4, 2, 1}, 1, 2},
	} {
		l := leaves[i]
		if l.name != want.name || !reflect.DeepEqual(l.nullLevel, want.null) || l.maxVisible != want.maxVisible || l.lists != want.lists {
			t.Errorf("leaf %d: %s %v visible to %d, %d lists; want %+v", i, l.name, l.nullLevel, l.maxVisible, l.lists, want)
		}
	}
}

func TestLevelMap(t *testing.T) {
	schema := arrow.NewSchema([]arrow.Field{{Name: "sp", Type: sparseType()}}, nil)
	leaves, err := leavesOf(schema)
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		layers       []pb.Layer
		null, empty  []uint16 // struct, list, leaf
		max, visible uint16
	}{
		{[]pb.Layer{1, 2, 1}, []uint16{0, 0, 0}, []uint16{0, 0, 0}, 0, 0},
		{[]pb.Layer{1, 5, 3}, []uint16{2, 0, 0}, []uint16{0, 1, 0}, 2, 0},
		{[]pb.Layer{3, 6, 3}, []uint16{4, 2, 1}, []uint16{0, 3, 0}, 4, 1},
		{[]pb.Layer{3, 4, 1}, []uint16{0, 2, 1}, []uint16{0, 0, 0}, 2, 1},
	} {
		m, err := newLevelMap(leaves[0], tc.layers)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(m.null, tc.null) || !reflect.DeepEqual(m.empty, tc.empty) || m.max != tc.max || m.visible != tc.visible {
			t.Errorf("layers %v: %+v", tc.layers, m)
		}
	}
	for _, layers := range [][]pb.Layer{nil, {1, 2}, {1, 2, 1, 1}, {2, 1, 1}, {1, 1, 1}, {1, 2, 5}} {
		if _, err := newLevelMap(leaves[0], layers); !fail.Is(err, fail.Corrupt) {
			t.Errorf("layers %v: %v", layers, err)
		}
	}
	m, err := newLevelMap(leaves[0], []pb.Layer{1, 5, 3})
	if err != nil {
		t.Fatal(err)
	}
	run := levelRun{n: 7, rep: []uint16{0, 1, 0, 0, 1, 1, 1}, def: []uint16{0, 0, 0, 0, 1, 2, 0}}
	if n := m.countVisible(run); n != 5 {
		t.Errorf("%d visible entries", n)
	}
	// The run begins within row 9; rows 10 to 13 start in it.
	for _, tc := range []struct {
		rows     rowRange
		from, to int
	}{
		{rowRange{9, 10}, 0, 1}, {rowRange{10, 11}, 1, 4}, {rowRange{9, 14}, 0, 7}, {rowRange{12, 13}, 5, 6}, {rowRange{13, 20}, 6, 7}, {rowRange{0, 9}, 0, 0},
	} {
		if from, to := m.entriesOf(run, 10, tc.rows); from != tc.from || to != tc.to {
			t.Errorf("rows %v are entries [%d, %d), want [%d, %d)", tc.rows, from, to, tc.from, tc.to)
		}
	}
	if n := run.plainItems(2); n != 2 {
		t.Errorf("%d plain items", n)
	}
	for _, bad := range []levelRun{{n: 1, rep: []uint16{2}}, {n: 1, rep: []uint16{1}, def: []uint16{3}}} {
		if err := m.check(bad); !fail.Is(err, fail.Corrupt) {
			t.Errorf("%v: %v", bad, err)
		}
	}
}
