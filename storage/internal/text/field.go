package text

import (
	"math"
	"slices"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/storage/internal/postings"
)

// DocID numbers the documents of one part from 0.
type DocID = postings.DocID

// Hit is one matching document.
type Hit = postings.Hit

// noDoc is past every document; a part holds at most noDoc documents.
const noDoc = math.MaxUint32

// PositionGap lies between the last token of one element of a list and the
// first of the next, so that no phrase crosses elements.
const PositionGap = 100

// maxSlop keeps a sloppy phrase inside one element.
const maxSlop = PositionGap - 1

// Defaults of BM25 (Lucene's).
const (
	DefaultK1 = 1.2
	DefaultB  = 0.75
)

// FieldConfig is one analyzed field of a part. All parts of a collection list
// the same fields in the same order; a field is known by its ordinal.
type FieldConfig struct {
	Name     string
	Analyzer string
	// K1 ≥ 0 and 0 ≤ B ≤ 1 are used as they are; [NewField] fills in the defaults.
	K1, B float64
}

// NewField is a field with the default k1 and b.
func NewField(name, analyzer string) FieldConfig {
	return FieldConfig{Name: name, Analyzer: analyzer, K1: DefaultK1, B: DefaultB}
}

// Validate checks the analyzer's name and the ranges of k1 and b.
func (f FieldConfig) Validate() error {
	if _, err := AnalyzerByName(f.Analyzer); err != nil {
		return err
	}
	if !(f.K1 >= 0 && f.K1 <= 1000) {
		return fail.New(fail.InvalidParameter, "field %q: k1 = %v is outside 0 to 1000", f.Name, f.K1).
			WithHint("The usual value is %v.", DefaultK1)
	}
	if !(f.B >= 0 && f.B <= 1) {
		return fail.New(fail.InvalidParameter, "field %q: b = %v is outside 0 to 1", f.Name, f.B).
			WithHint("The usual value is %v.", DefaultB)
	}
	return nil
}

// FieldStats counts what one field holds.
type FieldStats struct {
	Docs   uint64 // documents with at least one token
	Tokens uint64 // tokens of those documents
}

// Stats are the live statistics of one query over one or more parts. Fields is
// indexed by field, DF by the query's distinct terms. The zero value is the
// statistics of nothing; [Stats.Add] grows it.
type Stats struct {
	Fields []FieldStats
	DF     []uint64
}

// Add adds the statistics of another part for the same query.
func (s *Stats) Add(o Stats) {
	if len(s.Fields) < len(o.Fields) {
		s.Fields = append(slices.Clone(s.Fields), make([]FieldStats, len(o.Fields)-len(s.Fields))...)
	}
	if len(s.DF) < len(o.DF) {
		s.DF = append(slices.Clone(s.DF), make([]uint64, len(o.DF)-len(s.DF))...)
	}
	for i, f := range o.Fields {
		s.Fields[i].Docs += f.Docs
		s.Fields[i].Tokens += f.Tokens
	}
	for i, d := range o.DF {
		s.DF[i] += d
	}
}

// Clone is a copy that shares nothing.
func (s Stats) Clone() Stats {
	return Stats{Fields: slices.Clone(s.Fields), DF: slices.Clone(s.DF)}
}
