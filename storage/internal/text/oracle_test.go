package text

import (
	"math"
	"sort"
	"strings"
	"testing"

	"github.com/RoaringBitmap/roaring/v2"
)

// oracle scores documents straight from the formulas of the package comment,
// with nothing but tokens in memory.
type oracle struct {
	t      *testing.T
	fields []FieldConfig
	docs   [][][]Token // by document and field
	live   []bool
	idfs   map[queryTerm]float64 // computed once, after live is set
	stats  map[int][2]float64
}

func newOracle(t *testing.T, fields []FieldConfig, docs [][][]string) *oracle {
	o := &oracle{t: t, fields: fields, idfs: map[queryTerm]float64{}, stats: map[int][2]float64{}}
	for _, d := range docs {
		byField := make([][]Token, len(fields))
		for f, values := range d {
			a, err := AnalyzerByName(fields[f].Analyzer)
			if err != nil {
				t.Fatal(err)
			}
			base := uint32(0)
			for _, v := range values {
				tokens := a.Tokens(nil, v)
				for _, tok := range tokens {
					byField[f] = append(byField[f], Token{tok.Term, base + tok.Pos})
				}
				if len(tokens) > 0 {
					base += tokens[len(tokens)-1].Pos + 101
				}
			}
		}
		o.docs = append(o.docs, byField)
		o.live = append(o.live, true)
	}
	return o
}

func (o *oracle) stat(field int) (docs, tokens float64) {
	if s, ok := o.stats[field]; ok {
		return s[0], s[1]
	}
	for i, d := range o.docs {
		if o.live[i] && len(d[field]) > 0 {
			docs++
			tokens += float64(len(d[field]))
		}
	}
	o.stats[field] = [2]float64{docs, tokens}
	return docs, tokens
}

// tf is the frequency of a query term in a document.
func (o *oracle) tf(t queryTerm, doc int) float64 {
	count := [3]int{}
	for _, tok := range o.docs[doc][t.field] {
		switch t.kind {
		case termExact:
			if tok.Term == t.text {
				count[0]++
			}
		case termPrefix:
			if strings.HasPrefix(tok.Term, t.text) {
				count[0]++
			}
		case termFuzzy:
			if d := editDistance([]rune(tok.Term), []rune(t.text)); d <= t.edits {
				count[d]++
			}
		}
	}
	return float64(6*count[0]+3*count[1]+2*count[2]) / 6
}

func (o *oracle) idf(t queryTerm) float64 {
	if x, ok := o.idfs[t]; ok {
		return x
	}
	n, _ := o.stat(t.field)
	df := 0.0
	for i := range o.docs {
		if o.live[i] && o.tf(t, i) > 0 {
			df++
		}
	}
	o.idfs[t] = math.Log1p((n - df + .5) / (df + .5))
	return o.idfs[t]
}

func (o *oracle) weight(field int, boost, idf float64) float64 {
	return boost * idf * (o.fields[field].K1 + 1)
}

func (o *oracle) contribution(field int, w, tf float64, doc int) float64 {
	n, tokens := o.stat(field)
	f := o.fields[field]
	c0 := f.K1 * (1 - f.B)
	c1 := f.K1 * f.B / (tokens / n)
	prod := c1 * float64(len(o.docs[doc][field]))
	return w * (tf / (tf + (c0 + prod)))
}

func (o *oracle) eval(q *Query, n *node, doc int) (bool, float64) {
	switch n.kind {
	case nodeTerm:
		t := q.terms[n.term]
		tf := o.tf(t, doc)
		if tf == 0 {
			return false, 0
		}
		return true, o.contribution(n.field, o.weight(n.field, n.boost, o.idf(t)), tf, doc)
	case nodePhrase:
		return o.evalPhrase(q, n, doc)
	}
	return o.evalBool(q, n, doc)
}

func (o *oracle) evalBool(q *Query, n *node, doc int) (bool, float64) {
	for _, c := range n.not {
		if m, _ := o.eval(q, c, doc); m {
			return false, 0
		}
	}
	sum := 0.0
	for _, c := range n.must {
		m, s := o.eval(q, c, doc)
		if !m {
			return false, 0
		}
		sum += s
	}
	should := append([]*node(nil), n.should...)
	plain := len(n.must) == 0
	for _, c := range should {
		plain = plain && c.kind == nodeTerm
	}
	if plain {
		sort.SliceStable(should, func(i, j int) bool {
			a, b := should[i], should[j]
			return o.weight(a.field, a.boost, o.idf(q.terms[a.term])) > o.weight(b.field, b.boost, o.idf(q.terms[b.term]))
		})
	}
	any := false
	for _, c := range should {
		if m, s := o.eval(q, c, doc); m {
			any = true
			sum += s
		}
	}
	return any || len(n.must) > 0, sum
}

// evalPhrase tries every anchor and every window width with every assignment.
func (o *oracle) evalPhrase(q *Query, n *node, doc int) (bool, float64) {
	idfs := 0.0
	anchors := map[int]bool{}
	for _, p := range n.phrase {
		idfs += o.idf(q.terms[p.term])
		for _, tok := range o.docs[doc][n.field] {
			if tok.Term == q.terms[p.term].text {
				anchors[int(tok.Pos)-int(p.offset)] = true
			}
		}
	}
	var order []int
	for m := range anchors {
		order = append(order, m)
	}
	sort.Ints(order)
	freq := 0.0
	for _, m := range order {
		for w := 0; w <= int(n.slop); w++ {
			if o.assign(q, n, doc, 0, m, w, map[uint32]bool{}) {
				freq += 1 / float64(1+w)
				break
			}
		}
	}
	if freq == 0 {
		return false, 0
	}
	return true, o.contribution(n.field, o.weight(n.field, n.boost, idfs), freq, doc)
}

func (o *oracle) assign(q *Query, n *node, doc, i, m, w int, used map[uint32]bool) bool {
	if i == len(n.phrase) {
		return true
	}
	p := n.phrase[i]
	for _, tok := range o.docs[doc][n.field] {
		d := int(tok.Pos) - int(p.offset)
		if tok.Term != q.terms[p.term].text || d < m || d > m+w || used[tok.Pos] {
			continue
		}
		used[tok.Pos] = true
		if o.assign(q, n, doc, i+1, m, w, used) {
			return true
		}
		delete(used, tok.Pos)
	}
	return false
}

// search is every live, allowed match in final order.
func (o *oracle) search(q *Query, allowed *roaring.Bitmap, less func(a, b DocID) bool) []Hit {
	var out []Hit
	if q.root == nil {
		return nil
	}
	for d := range o.docs {
		if !o.live[d] || allowed != nil && !allowed.Contains(uint32(d)) {
			continue
		}
		if m, s := o.eval(q, q.root, d); m {
			out = append(out, Hit{Doc: DocID(d), Score: s})
		}
	}
	sort.SliceStable(out, func(i, j int) bool {
		if out[i].Score != out[j].Score {
			return out[i].Score > out[j].Score
		}
		return less(out[i].Doc, out[j].Doc)
	})
	return out
}

// editDistance is optimal string alignment, from its recurrence.
func editDistance(a, b []rune) int {
	d := make([][]int, len(a)+1)
	for i := range d {
		d[i] = make([]int, len(b)+1)
		d[i][0] = i
	}
	for j := range d[0] {
		d[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			c := 1
			if a[i-1] == b[j-1] {
				c = 0
			}
			d[i][j] = min(d[i-1][j]+1, d[i][j-1]+1, d[i-1][j-1]+c)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				d[i][j] = min(d[i][j], d[i-2][j-2]+1)
			}
		}
	}
	return d[len(a)][len(b)]
}
