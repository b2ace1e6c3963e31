package text

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/cockroachdb/datadriven"
)

// session is the state of a testdata/session file: documents in the order of
// their arrival, cut into parts, some deleted.
type session struct {
	t       *testing.T
	docs    [][][]string
	cuts    []int // where parts begin, after the first
	dead    *roaring.Bitmap
	inSplit bool // parts are segments, not tails
}

// TestSession runs testdata/session. Commands:
//
//	add            one document a line: title | element | element …
//	cut            the next documents go to a new part
//	kind segment   what parts are from here on: segment or mem
//	delete N …     documents stop to count
//	search k=3     queries, one a line; prints hits, best first
//	stats          queries, one a line; prints live statistics
//	matches        queries, one a line; prints all documents
func TestSession(t *testing.T) {
	s := &session{t: t, dead: roaring.New()}
	datadriven.RunTest(t, "testdata/session", func(t *testing.T, d *datadriven.TestData) string {
		s.t = t
		switch d.Cmd {
		case "reset":
			*s = session{t: t, dead: roaring.New()}
		case "add":
			return s.add(d.Input)
		case "cut":
			s.cuts = append(s.cuts, len(s.docs))
		case "kind":
			s.inSplit = d.CmdArgs[0].Key == "segment"
		case "delete":
			for _, a := range d.CmdArgs {
				n, err := strconv.Atoi(a.Key)
				if err != nil {
					t.Fatal(err)
				}
				s.dead.Add(uint32(n))
			}
		case "search", "stats", "matches":
			return s.ask(d)
		default:
			t.Fatalf("unknown command %s", d.Cmd)
		}
		return ""
	})
}

func (s *session) add(input string) string {
	from := len(s.docs)
	for line := range strings.SplitSeq(input, "\n") {
		title, rest, list := strings.Cut(line, "|")
		doc := [][]string{{strings.TrimSpace(title)}}
		if list {
			var body []string
			for e := range strings.SplitSeq(rest, "|") {
				body = append(body, strings.TrimSpace(e))
			}
			doc = append(doc, body)
		}
		s.docs = append(s.docs, doc)
	}
	return fmt.Sprintf("documents %d to %d\n", from, len(s.docs)-1)
}

func (s *session) layout() layout {
	l := layout{name: "session"}
	from := 0
	for _, to := range append(append([]int{}, s.cuts...), len(s.docs)) {
		l.first = append(l.first, from)
		if s.inSplit {
			l.parts = append(l.parts, segmentOf(s.t, s.docs[from:to]))
		} else {
			l.parts = append(l.parts, memOf(s.t, s.docs[from:to]).At(1<<30))
		}
		from = to
	}
	return l
}

func (s *session) ask(d *datadriven.TestData) string {
	k := 10
	d.MaybeScanArgs(s.t, "k", &k)
	l := s.layout()
	var out strings.Builder
	for line := range strings.SplitSeq(d.Input, "\n") {
		q, err := ParseQuery(line, testFields, QueryOptions{})
		if err != nil {
			s.t.Fatal(err)
		}
		fmt.Fprintf(&out, "%s:", line)
		switch d.Cmd {
		case "search":
			for _, h := range l.search(s.t, q, s.dead, nil, k, func(a, b DocID) bool { return a < b }, false) {
				fmt.Fprintf(&out, " %d=%.4f", h.Doc, h.Score)
			}
		case "matches":
			for _, doc := range l.matches(s.t, q, s.dead, nil).ToArray() {
				fmt.Fprintf(&out, " %d", doc)
			}
		case "stats":
			out.WriteString(s.stats(l, q))
		}
		out.WriteByte('\n')
	}
	return out.String()
}

func (s *session) stats(l layout, q *Query) string {
	var sum Stats
	for i, p := range l.parts {
		b, err := p.Bind(context.Background(), q, NewExclusion(shift(s.dead, l.first[i], int(p.NumDocs()))))
		if err != nil {
			s.t.Fatal(err)
		}
		sum.Add(b.Stats())
	}
	var out strings.Builder
	for f, st := range sum.Fields {
		fmt.Fprintf(&out, " %s %d docs %d tokens;", testFields[f].Name, st.Docs, st.Tokens)
	}
	for i, t := range q.terms {
		fmt.Fprintf(&out, " %s:%s in %d", testFields[t.field].Name, t.text, sum.DF[i])
	}
	return out.String()
}
