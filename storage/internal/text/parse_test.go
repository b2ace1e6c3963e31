package text

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/loamdb/loam/internal/fail"
)

// TestParse runs testdata/parse: queries in, canonical forms out.
func TestParse(t *testing.T) {
	datadriven.RunTest(t, "testdata/parse", func(t *testing.T, d *datadriven.TestData) string {
		o := QueryOptions{}
		for _, a := range d.CmdArgs {
			switch a.Key {
			case "and":
				o.Operator = And
			case "match":
				o.Mode = ModeMatch
			case "phrase":
				o.Mode = ModePhrase
			case "title":
				o.Fields = []FieldBoost{{Name: "title"}}
			case "boosted":
				o.Fields = []FieldBoost{{Name: "title", Boost: 3}, {Name: "body"}}
			case "unknown":
				o.Fields = []FieldBoost{{Name: "titel"}}
			case "tags":
				o.Fields = []FieldBoost{{Name: "tags"}, {Name: "title"}}
			default:
				t.Fatalf("unknown option %s", a.Key)
			}
		}
		fields := append(append([]FieldConfig{}, testFields...), NewField("tags", "keyword"))
		if o.Fields == nil {
			o.Fields = []FieldBoost{{Name: "title"}, {Name: "body"}}
		}
		var out strings.Builder
		for line := range strings.SplitSeq(d.Input, "\n") {
			q, err := ParseQuery(line, fields, o)
			if err != nil {
				fmt.Fprintf(&out, "ERROR %s: %v\n", fail.CodeOf(err), err)
				continue
			}
			out.WriteString(q.String() + "\n")
			if q.Warning != "" {
				out.WriteString("  warning: " + q.Warning + "\n")
			}
		}
		return out.String()
	})
}

func TestParseLimits(t *testing.T) {
	if _, err := ParseQuery(strings.Repeat("alpha1 beta2 gamma3 ", 400), testFields, QueryOptions{}); err != nil {
		t.Errorf("1,200 words, three of them distinct: %v", err)
	}
	long := strings.Repeat("alpha1 beta2 gamma3 ", 4000)
	var distinct strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&distinct, "w%d ", i)
	}
	for _, text := range []string{long, distinct.String()} {
		if _, err := ParseQuery(text, testFields, QueryOptions{}); !fail.Is(err, fail.TooLarge) {
			t.Errorf("%d bytes: %v", len(text), err)
		}
	}
	for _, text := range []string{
		strings.Repeat("(", 100_000), strings.Repeat("-", 100_000) + "a", strings.Repeat("title:", 100_000) + "a",
		strings.Repeat("(", 60) + "alpha" + strings.Repeat(")", 60),
	} {
		q, err := ParseQuery(text, testFields, QueryOptions{})
		if err != nil && !fail.Is(err, fail.TooLarge) {
			t.Errorf("%.20s…: %v", text, err)
		}
		if err == nil && q.Warning == "" && !strings.HasPrefix(text, "(((") {
			t.Errorf("%.20s…: no warning", text)
		}
	}
}

// FuzzParseQuery: any text parses or is refused, and its query runs.
func FuzzParseQuery(f *testing.F) {
	for _, s := range []string{`a AND (b OR "c d"~2) -e`, `title:x^2 y* z~1`, `\( \"`, `((`, `"`, `a:b:c^`, `NOT NOT a`, `~ * ^ : `} {
		f.Add(s, uint8(0))
	}
	seg := segmentOf(f, [][][]string{{{"alpha beta"}, {"gamma", "delta"}}, {nil, {"beta"}}})
	f.Fuzz(func(t *testing.T, text string, mode uint8) {
		if len(text) > 2000 {
			return
		}
		q, err := ParseQuery(text, testFields, QueryOptions{Mode: Mode(mode % 3), Operator: Operator(mode / 3 % 2)})
		if err != nil {
			if !fail.Is(err, fail.TooLarge) {
				t.Fatal(err)
			}
			return
		}
		_ = q.String()
		b, err := seg.Bind(context.Background(), q, nil)
		if err != nil {
			t.Fatal(err)
		}
		hits, err := b.Search(context.Background(), b.Stats(), SearchOptions{K: 10})
		if err != nil {
			t.Fatal(err)
		}
		all, err := b.Matches(context.Background(), nil)
		if err != nil || all.GetCardinality() != uint64(len(hits)) {
			t.Fatalf("%v: %d hits, %d matches", err, len(hits), all.GetCardinality())
		}
	})
}
