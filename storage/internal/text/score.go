package text

import "math"

// scorer computes one clause's contributions; see the package comment for the
// formula. The conversions keep the compiler from fusing a product into a sum.
type scorer struct {
	weight, c0, c1 float64
	div            float64 // frequencies count 1/div each
	lens           lengths
}

func (s *scorer) score(freq float64, length uint32) float64 {
	norm := s.c0 + float64(s.c1*float64(length))
	return float64(s.weight * (freq / (freq + norm)))
}

// at is the contribution of freq occurrences in the document.
func (s *scorer) at(doc, freq uint32) float64 {
	f := float64(freq)
	if s.div != 1 {
		f /= s.div
	}
	return s.score(f, s.lens.at(doc))
}

// impact is a pair that bounds documents: none has more occurrences and a
// shorter length at once.
type impact struct{ freq, length uint32 }

func (s *scorer) bound(list []impact) float64 {
	best := 0.0
	for _, p := range list {
		best = max(best, s.score(float64(p.freq)/s.div, p.length))
	}
	return best
}

// idf is Lucene's form of the Robertson weight, never negative.
func idf(df, n uint64) float64 {
	d, N := float64(df), float64(n)
	return math.Log1p((N - d + 0.5) / (d + 0.5))
}

// newScorer is the scorer of a clause with the summed idf over the field.
func newScorer(f FieldConfig, fs FieldStats, boost, idfSum float64, lens lengths) *scorer {
	s := &scorer{weight: float64(float64(boost*idfSum) * (f.K1 + 1)), c0: float64(f.K1 * (1 - f.B)), div: 1, lens: lens}
	if fs.Tokens > 0 {
		avg := float64(fs.Tokens) / float64(fs.Docs)
		s.c1 = float64(f.K1*f.B) / avg
	}
	return s
}

// slack covers the rounding of sums and of the bound itself: a document is
// left out only when its bound times slack is still below the threshold.
const slack = 1 + 1e-9
