package column

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/rand"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/cockroachdb/datadriven"
	"pgregory.net/rapid"

	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
	"github.com/loamdb/loam/storage/internal/sketch"
)

// statisticsOf streams a column and reads its statistics back from their JSON.
func statisticsOf(t testing.TB, v *vec.Vector) Statistics {
	t.Helper()
	s := NewStream(io.Discard, []string{"c"}, []types.Type{v.Type})
	for from := 0; from < v.N; from += 700 {
		part := v.Slice(from, min(from+700, v.N))
		if err := s.Append([]*vec.Vector{part}, part.N); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Finish(); err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(s.Statistics()[0])
	if err != nil {
		t.Fatal(err)
	}
	var out Statistics
	if err := json.Unmarshal(b, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestStatistics: "statistics TYPE", one value a line, 'x*70' for 70 times x.
func TestStatistics(t *testing.T) {
	datadriven.RunTest(t, "testdata/statistics", func(t *testing.T, d *datadriven.TestData) string {
		ty, ok := types.Parse(strings.ReplaceAll(d.CmdArgs[0].Key, "_", " "))
		if !ok {
			t.Fatalf("type %q", d.CmdArgs[0].Key)
		}
		v := vec.New(ty, 0)
		for line := range strings.SplitSeq(d.Input, "\n") {
			if line == "" {
				continue
			}
			if char, times, ok := strings.Cut(line, "*"); ok {
				n := 0
				if _, err := fmt.Sscan(times, &n); err != nil {
					t.Fatal(err)
				}
				line = strings.Repeat(char, n)
			}
			v.Append(readValue(t, ty, strings.TrimPrefix(line, "=")))
		}
		st := statisticsOf(t, v)
		out := fmt.Sprintf("nulls %d", st.Nulls)
		if lo, hi, ok := st.Bounds(ty); ok {
			out += fmt.Sprintf(", from %s to %s", shorten(lo.String()), shorten(hi.String()))
		}
		if st.Distinct != nil {
			sk, err := sketch.Decode(st.Distinct)
			if err != nil {
				t.Fatal(err)
			}
			out += fmt.Sprintf(", %.0f distinct", sk.Count())
		}
		return out + "\n"
	})
}

// shorten writes runs of one character as the test files do.
func shorten(s string) string {
	if s == "" {
		return "''"
	}
	first, _ := utf8.DecodeRuneInString(s)
	n := 0
	for _, r := range s {
		if r != first {
			break
		}
		n++
	}
	if n < 5 {
		return s
	}
	return fmt.Sprintf("%c*%d%s", first, n, s[n*utf8.RuneLen(first):])
}

// TestStatisticsHold: no value lies outside the bounds, NULLs are counted exactly,
// different values within the error of the sketch; and the sketches of two halves
// merge to that of the whole.
func TestStatisticsHold(t *testing.T) {
	for seed := range int64(8) {
		r := rand.New(rand.NewSource(seed))
		for _, ty := range testTypes {
			v := randomColumn(r, ty, r.Intn(3*vec.ChunkRows))
			st := statisticsOf(t, v)
			lo, hi, bounded := st.Bounds(ty)
			nulls, values := 0, map[string]bool{}
			for i := range v.N {
				x := v.Value(i)
				switch {
				case x.Null:
					nulls++
				case bounded && (Less(x, lo) || Less(hi, x)):
					t.Fatalf("%s: %s is outside of [%s, %s]", ty, x, lo, hi)
				case ty.Kind == types.Double && x.Float == 0:
					values["0"] = true
				default:
					values[x.String()] = true
				}
			}
			if st.Nulls != nulls {
				t.Fatalf("%s: %d NULLs, want %d", ty, st.Nulls, nulls)
			}
			if counted(ty) != (st.Distinct != nil) {
				t.Fatalf("%s: counted %t, but %d bytes", ty, counted(ty), len(st.Distinct))
			}
			if st.Distinct == nil {
				continue
			}
			whole, err := sketch.Decode(st.Distinct)
			if err != nil {
				t.Fatal(err)
			}
			if n := float64(len(values)); math.Abs(whole.Count()-n) > 1+5*sketch.RelativeError*n {
				t.Fatalf("%s: %.0f distinct, want %g", ty, whole.Count(), n)
			}
			cut := r.Intn(v.N + 1)
			a, _ := sketch.Decode(statisticsOf(t, v.Slice(0, cut)).Distinct)
			b, _ := sketch.Decode(statisticsOf(t, v.Slice(cut, v.N)).Distinct)
			if a.Merge(b); *a != *whole {
				t.Fatalf("%s: the halves do not merge to the whole", ty)
			}
		}
	}
}

// TestTextBounds: whatever the text, what bounds it is short, is UTF-8 and bounds it.
func TestTextBounds(t *testing.T) {
	awkward := rapid.SampledFrom([]rune{0, 'a', 0x7F, 'ß', 0x7FF, 0x800, 0xD7FF, 0xE000, 0xFFFF, 0x10000, utf8.MaxRune})
	rapid.Check(t, func(t *rapid.T) {
		s := string(rapid.SliceOfN(rapid.OneOf(awkward, rapid.Rune()), 0, 90).Draw(t, "text"))
		lo, hi := floorText(s), ceilText(s)
		if lo == nil || len(lo) > maxZoneText || !utf8.Valid(lo) || string(lo) > s {
			t.Fatalf("%q begins with %q", s, lo)
		}
		if hi != nil && (len(hi) > maxZoneText || !utf8.Valid(hi) || string(hi) < s) {
			t.Fatalf("%q is not below %q", s, hi)
		}
		if hi == nil && strings.Trim(string(lo), string(utf8.MaxRune)) != "" {
			t.Fatalf("%q has no upper bound", s)
		}
	})
	if floorText("a\xff") != nil || ceilText("a\xff") != nil {
		t.Error("bytes that are no text bound a zone")
	}
}

// TestStatisticsReadBack: what the stream says of a column is what the zone maps of the
// stored section say, whatever JSON makes of them.
func TestStatisticsReadBack(t *testing.T) {
	text := types.Of(types.Text)
	for seed := range int64(60) {
		r := rand.New(rand.NewSource(seed))
		v := vec.New(text, 0)
		for range 1 + r.Intn(3) {
			pool := [][]string{{""}, {"", "a"}, {"b", strings.Repeat("c", 70)}, {strings.Repeat(string(utf8.MaxRune), 20)}}[r.Intn(4)]
			for range vec.ChunkRows {
				if r.Intn(50) == 0 {
					v.AppendNull()
				} else {
					v.Append(vec.Text(pool[r.Intn(len(pool))]))
				}
			}
		}
		w := NewWriter(v.N)
		if err := w.Add("c", v); err != nil {
			t.Fatal(err)
		}
		data, err := w.Finish()
		if err != nil {
			t.Fatal(err)
		}
		sec, err := Open(data)
		if err != nil {
			t.Fatal(err)
		}
		got, want := statisticsOf(t, v), sec.Statistics("c")
		if got.Nulls != want.Nulls || !bytes.Equal(got.Min, want.Min) || !bytes.Equal(got.Max, want.Max) {
			t.Fatalf("seed %d: %d NULLs, %q to %q; stored %d, %q to %q", seed, got.Nulls, got.Min, got.Max, want.Nulls, want.Min, want.Max)
		}
	}
}

func BenchmarkStatistics(b *testing.B) {
	v := vec.New(types.Of(types.Int64), vec.ChunkRows)
	for i := range vec.ChunkRows {
		v.Append(vec.Int64(int64(i * 7919)))
	}
	var s sketch.Sketch
	b.SetBytes(8 * vec.ChunkRows)
	for b.Loop() {
		addDistinct(&s, v)
	}
}
