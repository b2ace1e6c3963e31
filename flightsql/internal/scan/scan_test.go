package scan

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"pgregory.net/rapid"

	"github.com/loamdb/loam"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/schema"
	"github.com/loamdb/loam/internal/snapshot"
	"github.com/loamdb/loam/internal/types"
)

// TestRequests reads requests as text: "flight" as over Flight, "rest" with a
// path that names docs.
func TestRequests(t *testing.T) {
	datadriven.RunTest(t, "testdata/requests", func(_ *testing.T, d *datadriven.TestData) string {
		var target *loam.Target
		if d.Cmd == "rest" {
			target = &loam.Target{Namespace: "public", Name: "docs"}
		}
		r, err := ParseJSON([]byte(d.Input), target)
		if err != nil {
			return fmt.Sprintf("%s: %s\n", fail.CodeOf(err), err)
		}
		out := fmt.Sprintf("%s.%s tail=%q columns=%v", r.Target.Namespace, r.Target.Name, r.Tail, r.Columns)
		if r.ManifestVersion != nil {
			out += fmt.Sprintf(" manifest=%d", *r.ManifestVersion)
		}
		if r.Token != nil {
			out += " token=" + r.Token.String()
		}
		if r.Tag != nil {
			out += " tag=" + *r.Tag
		}
		if r.Timestamp != nil {
			out += " timestamp=" + r.Timestamp.String()
		}
		return out + "\n"
	})
}

func TestCommandsRoundTrip(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		name := rapid.StringN(1, 8, 20)
		want := loam.ScanRequest{Target: loam.Target{Namespace: rapid.String().Draw(rt, "ns"), Name: name.Draw(rt, "name")}}
		switch rapid.IntRange(0, 4).Draw(rt, "at") {
		case 1:
			v := rapid.Uint64().Draw(rt, "version")
			want.ManifestVersion = &v
		case 2:
			want.Token = &snapshot.Token{ObjectID: 7, Incarnation: "x", Offsets: []uint64{rapid.Uint64().Draw(rt, "offset")}}
		case 3:
			tag := rapid.String().Draw(rt, "tag")
			want.Tag = &tag
		case 4:
			at := time.UnixMicro(rapid.Int64().Draw(rt, "time")).UTC()
			want.Timestamp = &at
		}
		want.Tail = rapid.SampledFrom(tails).Draw(rt, "tail")
		if want.Past() && want.Tail != "" {
			want.Tail = loam.TailNone
		}
		want.Columns = rapid.SliceOfN(name, 0, 3).Draw(rt, "columns")
		if len(want.Columns) == 0 {
			want.Columns = nil
		}
		got, err := ParseCommand(MarshalCommand(want))
		if err != nil || !reflect.DeepEqual(got, want) {
			rt.Errorf("got %+v, %v; want %+v", got, err, want)
		}
	})
}

func TestCommandsThatAreWrong(t *testing.T) {
	good := MarshalCommand(loam.ScanRequest{Target: loam.Target{Name: "docs"}, Tail: loam.TailWait})
	for _, c := range []struct {
		name string
		cmd  []byte
		code fail.Code
	}{
		{"empty", nil, fail.BadRequest},
		{"cut", good[:len(good)-1], fail.BadRequest},
		{"no collection", []byte{0x30, 1}, fail.BadRequest},
		{"unknown tail", append(append([]byte(nil), good...), 0x30, 9), fail.InvalidParameter},
		{"a tag with tail wait", append(append([]byte(nil), good...), 0x2a, 1, 't'), fail.InvalidParameter},
		{"a time with tail wait", append(append([]byte(nil), good...), 0x40, 5), fail.InvalidParameter},
		{"a bad token", append(append([]byte(nil), good...), 0x22, 1, 't'), fail.InvalidParameter},
		{"a manifest version with tail wait", append(append([]byte(nil), good...), 0x18, 5), fail.InvalidParameter},
		{"an unknown field", append(append([]byte(nil), good...), 0x78, 5), fail.OK},
	} {
		if _, err := ParseCommand(c.cmd); fail.CodeOf(err) != c.code {
			t.Errorf("%s: %v, want %s", c.name, err, c.code)
		}
	}
}

func FuzzRequests(f *testing.F) {
	f.Add([]byte(`{"collection":"docs","at":{"manifest_version":3}}`), MarshalCommand(loam.ScanRequest{Target: loam.Target{Name: "docs"}}))
	f.Fuzz(func(t *testing.T, text, command []byte) {
		for _, err := range []error{second(ParseJSON(text, nil)), second(ParseCommand(command))} {
			if err != nil && fail.CodeOf(err) == fail.Internal {
				t.Errorf("untyped error %v", err)
			}
		}
	})
}

func second(_ loam.ScanRequest, err error) error { return err }

func samplePlan() *loam.ScanPlan {
	planned := time.UnixMilli(1_800_000_000_000)
	return &loam.ScanPlan{
		Object: &schema.Object{ID: 7, Namespace: "public", Name: "docs", SchemaVersion: 2},
		ID:     "P1", ManifestVersion: 9, LiveRows: 5, Tail: loam.TailMerge, TailRecords: 1,
		Lance: &loam.LanceVersion{URI: "file:///d", Version: 1<<63 | 4096, VersionText: "9223372036854779904", ManifestPath: "_versions/x.manifest", StorageFormat: "2.1"},
		Fragments: []loam.ScanFragment{
			{ID: 1, PhysicalRows: 6, DeletedRows: 1, LiveRows: 5, Files: []string{"data/a.lance"}, Lance: []byte(`{"id":1}`), Superseded: []byte{1, 2},
				DeletionFile: &loam.ScanDeletion{Path: "_deletions/1", Kind: "bitmap", DeletedRows: 1}},
			{ID: 2},
		},
		Columns: []loam.ScanColumn{
			{Name: "_pk", Type: types.Of(types.Text), Role: "pk"},
			{Name: "emb", Type: types.VectorOf(8), Role: "vector", Dim: 8, Metric: "cosine"},
		},
		Offsets:      []loam.ScanOffset{{Applied: 3, Target: 4}},
		DurableToken: snapshot.Token{ObjectID: 7, Incarnation: "i", Offsets: []uint64{4}},
		PlannedAt:    planned, ExpiresAt: planned.Add(24 * time.Hour),
	}
}

func TestPlanAsJSON(t *testing.T) {
	p := samplePlan()
	data, err := PlanJSON(p)
	if err != nil {
		t.Fatal(err)
	}
	token := p.DurableToken.String()
	want := strings.Join([]string{
		`{"namespace":"public","collection":"docs","collection_id":7,"plan":"P1","manifest_version":9,"schema_version":2,`,
		`"lance":{"uri":"file:///d","version":9223372036854779904,"version_text":"9223372036854779904","manifest_path":"_versions/x.manifest","storage_format":"2.1","stable_row_ids":false},`,
		`"fragments":[{"id":1,"physical_rows":6,"deleted_rows":1,"live_rows":5,"files":["data/a.lance"],`,
		`"deletion_file":{"path":"_deletions/1","kind":"bitmap","deleted_rows":1},"lance":{"id":1},"superseded":"AQI="},`,
		`{"id":2,"physical_rows":0,"deleted_rows":0,"live_rows":0,"files":[],"deletion_file":null,"lance":null}],"live_rows":5,`,
		`"columns":[{"name":"_pk","role":"pk","type":"TEXT"},{"name":"emb","role":"vector","type":"VECTOR(8)","dim":8,"distance":"cosine"}],`,
		`"pk_encoding":"loam_canonical_v1","tail":"merge","tail_records":1,"offsets":[{"applied":3,"target":4}],"durable_token":"` + token + `",`,
		`"pin":{"manifest_version":9,"token":"` + token + `"},"planned_at_ms":1800000000000,"expires_at_ms":1800086400000}`,
	}, "")
	if string(data) != want {
		t.Errorf("got\n%s\nwant\n%s", data, want)
	}
	p.ExpiresAt, p.Lance, p.Fragments, p.Columns, p.Offsets = time.Time{}, nil, nil, nil, nil
	data, err = PlanJSON(p)
	if err != nil || !strings.Contains(string(data), `"lance":null,"fragments":[]`) || !strings.Contains(string(data), `"expires_at_ms":null`) {
		t.Errorf("%s, %v", data, err)
	}
	if got := Expiry(p, time.Hour); !got.Equal(p.PlannedAt.Add(time.Hour)) {
		t.Errorf("tickets end at %v", got)
	}
}

func TestEndpointsAsJSON(t *testing.T) {
	p := samplePlan()
	for fragment, want := range map[int64]string{
		3:  `{"plan":"P1","manifest":9,"fragment":3,"live_rows":5}`,
		-1: `{"plan":"P1","manifest":9,"fragment":null,"live_rows":5}`,
	} {
		got, err := EndpointJSON(p, loam.ScanPart{Fragment: fragment, LiveRows: 5})
		if err != nil || string(got) != want || !json.Valid(got) {
			t.Errorf("got %s, %v; want %s", got, err, want)
		}
	}
}
