package lance_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/storage/lance"
)

var day = time.Date(2026, 11, 29, 12, 0, 0, 500, time.UTC)

func sampleManifest(t testing.TB) *lance.Manifest {
	t.Helper()
	fields, err := lance.FieldsOf(loamBatch(1, 0, 4, 0, 1).Schema(), nil)
	must(t, err)
	m := lance.NewManifest(fields, 1<<63|77<<11, day)
	file := lance.NewDataFile("a.lance", lance.FileInfo{Rows: 100, Size: 4096, Fields: []int32{0, 1}, Columns: []int32{0, 1}})
	lance.SetFragments(m, []lance.Fragment{
		{ID: 0, PhysicalRows: 100, Files: []lance.DataFile{file}},
		{ID: 3, PhysicalRows: 50, Files: []lance.DataFile{file},
			DeletionFile: &lance.DeletionFile{Type: lance.DeletionBitmap, ReadVersion: 1, ID: 9, DeletedRows: 49}},
	}, 5)
	return m
}

func TestManifestFile(t *testing.T) {
	want := sampleManifest(t)
	if want.ReaderFlags != lance.FlagDeletionFiles || want.WriterFlags != lance.FlagDeletionFiles|lance.FlagReadOnly || *want.MaxFragmentID != 5 {
		t.Errorf("flags %d, highest fragment %d", want.ReaderFlags, *want.MaxFragmentID)
	}
	b, err := lance.EncodeManifest(want)
	must(t, err)
	got, err := lance.DecodeManifest(b)
	must(t, err)
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	schema, err := lance.SchemaOf(got)
	must(t, err)
	if want := loamBatch(1, 0, 4, 0, 1).Schema(); !schema.Equal(want) {
		t.Errorf("schema %s\nwant %s", schema, want)
	}
	// Sections may come before the manifest; the tail says where it starts.
	shifted := append([]byte("index section"), b...)
	shifted[len(shifted)-16] = 13
	if _, err := lance.DecodeManifest(shifted); err != nil {
		t.Errorf("manifest after a section: %v", err)
	}
}

func TestEmptyVersion(t *testing.T) {
	fields, err := lance.FieldsOf(loamBatch(1, 0, 4, 0, 1).Schema(), nil)
	must(t, err)
	b, err := lance.EncodeManifest(lance.NewManifest(fields, 1, day))
	must(t, err)
	m, err := lance.DecodeManifest(b)
	must(t, err)
	if m.Version != 1 || m.MaxFragmentID != nil || m.ReaderFlags != 0 || m.WriterFlags != lance.FlagReadOnly || m.FileVersion != "2.1" || m.Writer.Library != "loam" || !m.Timestamp.Equal(day) {
		t.Errorf("manifest %+v", m)
	}
}

func TestManifestDamage(t *testing.T) {
	good, err := lance.EncodeManifest(sampleManifest(t))
	must(t, err)
	for at := range good {
		for bit := range 8 {
			bad := append([]byte(nil), good...)
			bad[at] ^= 1 << bit
			if _, err := lance.DecodeManifest(bad); err != nil && !fail.Is(err, fail.Corrupt) && !fail.Is(err, fail.Unsupported) {
				t.Fatalf("byte %d, bit %d: %v", at, bit, err)
			}
		}
		if _, err := lance.DecodeManifest(good[:at]); !fail.Is(err, fail.Corrupt) {
			t.Fatalf("cut at %d: %v", at, err)
		}
	}
}

func TestManifestRefused(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(m *lance.Manifest)
		want   string
	}{
		"unknown flag":   {func(m *lance.Manifest) { m.ReaderFlags |= 1 << 6 }, "0x40"},
		"flag 11":        {func(m *lance.Manifest) { m.ReaderFlags |= 2048 }, "0x800"},
		"no format":      {func(m *lance.Manifest) { m.FileFormat = "" }, "data format"},
		"mixed versions": {func(m *lance.Manifest) { m.Fragments[1].Files[0].Minor = 2 }, "version 2.2"},
		"fragment order": {func(m *lance.Manifest) { m.Fragments[0].ID = 3 }, "follows"},
		"above highest":  {func(m *lance.Manifest) { m.Fragments[1].ID = 6 }, "above the highest"},
		"no rows":        {func(m *lance.Manifest) { m.Fragments[0].PhysicalRows = 0 }, "0 rows"},
		"no files":       {func(m *lance.Manifest) { m.Fragments[0].Files = nil }, "no data file"},
		"columns":        {func(m *lance.Manifest) { m.Fragments[0].Files[0].Columns = []int32{0} }, "2 fields for 1 columns"},
		"all deleted":    {func(m *lance.Manifest) { m.Fragments[1].DeletionFile.DeletedRows = 50 }, "50 of 50"},
		"deletion type":  {func(m *lance.Manifest) { m.Fragments[1].DeletionFile.Type = 2 }, "type 2"},
		"deletion flag":  {func(m *lance.Manifest) { m.ReaderFlags = 0 }, "feature flag 1"},
		"unknown base":   {func(m *lance.Manifest) { b := uint32(4); m.Fragments[0].Files[0].BaseID = &b }, "base path 4"},
		"field twice":    {func(m *lance.Manifest) { m.Fragments[0].Files = append(m.Fragments[0].Files, m.Fragments[0].Files[0]) }, "in two files"},
		"no highest":     {func(m *lance.Manifest) { m.MaxFragmentID = nil }, "highest fragment id"},
	} {
		m := sampleManifest(t)
		// A shared slice of fields would let one change show twice.
		for i := range m.Fragments {
			m.Fragments[i].Files = append([]lance.DataFile(nil), m.Fragments[i].Files...)
		}
		good, err := lance.EncodeManifest(m)
		must(t, err)
		tc.change(m)
		body := m.Append(nil)
		bad := append([]byte{byte(len(body)), byte(len(body) >> 8), 0, 0}, body...)
		bad = append(bad, good[len(good)-16:]...)
		if _, err := lance.DecodeManifest(bad); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: error %v does not name %q", name, err, tc.want)
		}
	}
}

func TestPaths(t *testing.T) {
	id, err := lance.NewDetachedID(bytes.NewReader([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}))
	must(t, err)
	for _, tc := range []struct{ got, want string }{
		{lance.ManifestPath(1), "_versions/18446744073709551614.manifest"},
		{lance.ManifestPath(1 << 40), "_versions/18446742974197923839.manifest"},
		{lance.ManifestPath(id), "_versions/d18446744073709549568.manifest"},
		{lance.DataPath("x.lance"), "data/x.lance"},
		{lance.DeletionPath(4, lance.DeletionFile{Type: lance.DeletionBitmap, ReadVersion: 9, ID: 77}), "_deletions/4-9-77.bin"},
		{lance.DeletionPath(4, lance.DeletionFile{ReadVersion: 9, ID: 77}), "_deletions/4-9-77.arrow"},
		{lance.TagPath("v1"), "_refs/tags/v1.json"},
		{lance.ExportPath("v1"), "_exports/v1.lance/"},
	} {
		if tc.got != tc.want {
			t.Errorf("got %q, want %q", tc.got, tc.want)
		}
	}
	if f := float64(id); uint64(f) != id {
		t.Errorf("id %d is not exact in a float64", id)
	}
	for _, v := range []uint64{1, 2, 1 << 62, id, 1 << 63} {
		if got, ok := lance.ParseManifestPath(lance.ManifestPath(v)); !ok || got != v {
			t.Errorf("version %d parses as %d, %v", v, got, ok)
		}
	}
	for _, p := range []string{"", "_versions/1.manifest", "_versions/d5.manifest", "_versions/latest_version_hint.json", "data/18446744073709551614.manifest"} {
		if v, ok := lance.ParseManifestPath(p); ok {
			t.Errorf("%q parses as version %d", p, v)
		}
	}
}

func TestNamesAreUniqueAndSpread(t *testing.T) {
	random := rand.NewChaCha8([32]byte{3})
	seen := map[string]bool{}
	for range 200 {
		name, err := lance.NewDataFileName(random)
		must(t, err)
		if len(name) != 24+26+len(".lance") || strings.Trim(name[:24], "01") != "" {
			t.Fatalf("name %q", name)
		}
		if seen[name] {
			t.Fatalf("%q twice", name)
		}
		seen[name] = true
	}
	if _, err := lance.NewDataFileName(bytes.NewReader(nil)); err == nil {
		t.Error("a name without randomness")
	}
	if _, err := lance.NewDetachedID(bytes.NewReader(nil)); err == nil {
		t.Error("an id without randomness")
	}
}

func TestTagNames(t *testing.T) {
	for name, ok := range map[string]bool{
		"v1.0-rc_1": true, "A": true, "": false, ".a": false, "a.": false, "a..b": false, "x.lock": false, "a/b": false, "ü": false, "a b": false,
	} {
		if err := lance.CheckTagName(name); (err == nil) != ok {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestDeletionFiles(t *testing.T) {
	random := rand.NewChaCha8([32]byte{4})
	r := rand.New(rand.NewPCG(2, 2))
	for range 100 {
		rows := uint64(1 + r.Uint32N(200_000))
		bm := roaring.New()
		for range r.IntN(3000) {
			bm.Add(r.Uint32N(uint32(rows)))
		}
		if r.IntN(3) == 0 {
			bm.AddRange(0, rows/2)
			bm.RunOptimize()
		}
		bm.Remove(uint32(rows - 1))
		if bm.IsEmpty() {
			continue
		}
		d, body, err := lance.NewDeletionFile(bm, rows, 7, random)
		must(t, err)
		if d.DeletedRows != bm.GetCardinality() || d.Type != lance.DeletionBitmap || d.ReadVersion != 7 {
			t.Fatalf("%+v", d)
		}
		got, err := lance.DecodeDeletions(body, d, rows)
		must(t, err)
		if cookie := binary.LittleEndian.Uint32(body); !got.Equals(bm) || cookie != 12346 {
			t.Fatalf("bitmap of %d rows differs, or has runs: cookie %d", d.DeletedRows, cookie)
		}
		bad := d
		bad.DeletedRows++
		if _, err := lance.DecodeDeletions(body, bad, rows); !fail.Is(err, fail.Corrupt) {
			t.Errorf("wrong count: %v", err)
		}
		if _, err := lance.DecodeDeletions(body, d, uint64(bm.Maximum())); !fail.Is(err, fail.Corrupt) {
			t.Errorf("row past the fragment: %v", err)
		}
		if _, err := lance.DecodeDeletions(append(body, 0), d, rows); !fail.Is(err, fail.Corrupt) {
			t.Errorf("trailing byte: %v", err)
		}
	}
}

func TestDeletionFileRefused(t *testing.T) {
	random := rand.NewChaCha8([32]byte{5})
	for name, bm := range map[string]*roaring.Bitmap{
		"empty": roaring.New(), "outside": roaring.BitmapOf(10), "all": roaring.BitmapOf(0, 1, 2, 3, 4, 5, 6, 7, 8, 9),
	} {
		if _, _, err := lance.NewDeletionFile(bm, 10, 1, random); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
	if _, err := lance.DecodeDeletions(nil, lance.DeletionFile{}, 5); !fail.Is(err, fail.Corrupt) {
		t.Errorf("array file: %v", err)
	}
}

func TestDeletionDamage(t *testing.T) {
	bm := roaring.BitmapOf(1, 5, 9, 70_000, 70_002)
	bm.AddRange(140_000, 150_000)
	d, good, err := lance.NewDeletionFile(bm, 200_000, 1, rand.NewChaCha8([32]byte{6}))
	must(t, err)
	for at := range good {
		for bit := range 8 {
			bad := append([]byte(nil), good...)
			bad[at] ^= 1 << bit
			if _, err := lance.DecodeDeletions(bad, d, 200_000); err != nil && !fail.Is(err, fail.Corrupt) {
				t.Fatal(err)
			}
		}
		if _, err := lance.DecodeDeletions(good[:at], d, 200_000); !fail.Is(err, fail.Corrupt) {
			t.Fatalf("cut at %d: %v", at, err)
		}
	}
}

func TestFragmentJSON(t *testing.T) {
	m := sampleManifest(t)
	for i, want := range []string{
		`{"id":0,"files":[{"path":"a.lance","fields":[0,1],"column_indices":[0,1],"file_major_version":2,"file_minor_version":1,"file_size_bytes":4096,"base_id":null}],"physical_rows":100}`,
		`{"id":3,"files":[{"path":"a.lance","fields":[0,1],"column_indices":[0,1],"file_major_version":2,"file_minor_version":1,"file_size_bytes":4096,"base_id":null}],` +
			`"deletion_file":{"read_version":1,"id":9,"file_type":"bitmap","num_deleted_rows":49,"base_id":null},"physical_rows":50}`,
	} {
		got, err := lance.FragmentJSON(m.Fragments[i])
		must(t, err)
		if string(got) != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

func TestTagFile(t *testing.T) {
	want := lance.Tag{Version: 1<<63 | 4096, ManifestSize: 812, CreatedAt: day, UpdatedAt: day.Add(time.Second)}
	b, err := lance.TagJSON(want)
	must(t, err)
	text := `{"branch":null,"version":9223372036854779904,"createdAt":"2026-11-29T12:00:00.0000005Z","updatedAt":"2026-11-29T12:00:01.0000005Z","manifestSize":812,"metadata":{}}`
	if string(b) != text {
		t.Errorf("got  %s\nwant %s", b, text)
	}
	got, err := lance.DecodeTag(b)
	must(t, err)
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	for _, bad := range []string{"", "{", `{"version":-1}`, `{"version":1,"createdAt":"x"}`, strings.Replace(text, "12:00:01", "25:00:01", 1)} {
		if _, err := lance.DecodeTag([]byte(bad)); !fail.Is(err, fail.Corrupt) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestExportManifest(t *testing.T) {
	m := sampleManifest(t)
	before, err := json.Marshal(m)
	must(t, err)
	out := lance.ExportManifest(m, "s3://bucket/docs.lance", day)
	if out.Version != 1 || out.ReaderFlags != lance.FlagDeletionFiles|lance.FlagBasePaths || out.WriterFlags&lance.FlagReadOnly == 0 || len(out.BasePaths) != 1 || !out.BasePaths[0].IsDatasetRoot {
		t.Errorf("%+v", out)
	}
	for _, f := range out.Fragments {
		if *f.Files[0].BaseID != 1 || (f.DeletionFile != nil && *f.DeletionFile.BaseID != 1) {
			t.Errorf("fragment %d is not resolved against the base", f.ID)
		}
	}
	if _, err := lance.EncodeManifest(out); err != nil {
		t.Error(err)
	}
	if after, _ := json.Marshal(m); !bytes.Equal(before, after) {
		t.Error("the pinned manifest was changed")
	}
}
