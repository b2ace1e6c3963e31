package dense

import (
	"math"
	"strings"

	"github.com/loamdb/loam/internal/fail"
)

// Metric says how close two vectors are.
type Metric uint8

// The metrics; their numbers are stored.
const (
	Cosine Metric = iota
	L2
	Dot
	numMetrics
)

var metricNames = [numMetrics]string{"cosine", "l2", "dot"}

// String is the metric's name in SQL.
func (m Metric) String() string {
	if m < numMetrics {
		return metricNames[m]
	}
	return "unknown"
}

// MetricByName finds a metric by its SQL name in any letter case; an unknown
// name is InvalidParameter.
func MetricByName(name string) (Metric, error) {
	for m, n := range metricNames {
		if strings.EqualFold(n, strings.TrimSpace(name)) {
			return Metric(m), nil
		}
	}
	return 0, fail.New(fail.InvalidParameter, "unknown distance %q", name).
		WithHint("The distances are %s.", strings.Join(metricNames[:], ", "))
}

// ValidateVector checks a vector before it is stored or searched for: dim
// elements, all finite, and under Cosine not all zero. Errors: InvalidVector.
func ValidateVector(m Metric, dim int, v []float32) error {
	if len(v) != dim {
		return fail.New(fail.InvalidVector, "the vector has %s, the column has %d", fail.Count(len(v), "dimension"), dim)
	}
	zero := true
	for i, x := range v {
		if x-x != 0 { // only NaN and the infinities
			return fail.New(fail.InvalidVector, "element %d of the vector is %v", i+1, x).
				WithHint("All elements must be finite numbers.")
		}
		zero = zero && x == 0
	}
	if zero && m == Cosine {
		return fail.New(fail.InvalidVector, "the zero vector has no direction, which the cosine distance needs").
			WithHint("Leave the vector NULL, or declare the column with DISTANCE l2 or dot.")
	}
	return nil
}

// Query is a query vector made ready for one metric. It is immutable.
type Query struct {
	metric Metric
	v      []float32
	square float64 // |v|² under Cosine
}

// NewQuery validates the vector and keeps it; it must not change afterwards.
func NewQuery(m Metric, dim int, v []float32) (*Query, error) {
	if err := ValidateVector(m, dim, v); err != nil {
		return nil, err
	}
	q := &Query{metric: m, v: v}
	if m == Cosine {
		q.square = float64(dot1(v, v))
	}
	return q, nil
}

// Dim is the number of dimensions.
func (q *Query) Dim() int { return len(q.v) }

// Score is the closeness of one vector of the query's dimension; NaN for a
// zero vector under Cosine, which cannot have been stored.
func (q *Query) Score(v []float32) float64 {
	var out [1]float64
	q.ScoreRows(v, out[:])
	return out[0]
}

// Score is the closeness of two valid vectors of the same dimension.
func Score(m Metric, a, b []float32) float64 {
	q := &Query{metric: m, v: a}
	if m == Cosine {
		q.square = float64(dot1(a, a))
	}
	return q.Score(b)
}

// batch is the number of rows scored by one call of a kernel; a second pass
// over them, for their norms, finds them in the cache.
const batch = 32

// ScoreRows scores len(out) rows that lie behind each other in rows, which
// must hold len(out)·Dim elements.
func (q *Query) ScoreRows(rows []float32, out []float64) {
	dim := len(q.v)
	if dim == 0 {
		clear(out)
		return
	}
	for len(out) > 0 {
		n := min(batch, len(out))
		q.scoreBatch(rows[:n*dim], out[:n])
		rows, out = rows[n*dim:], out[n:]
	}
}

func (q *Query) scoreBatch(rows []float32, out []float64) {
	var a, b [batch]float32
	dim, n := len(q.v), len(out)
	switch q.metric {
	case Cosine:
		dotRows(q.v, rows, dim, a[:n])
		normRows(rows, dim, b[:n])
		for i := range out {
			out[i] = q.cosine(float64(a[i]), float64(b[i]), rows[i*dim:(i+1)*dim])
		}
	case L2:
		l2Rows(q.v, rows, dim, a[:n])
		for i := range out {
			out[i] = 0 - math.Sqrt(q.checked(a[i], rows[i*dim:(i+1)*dim], square64)) // 0, not -0, for equal vectors
		}
	default:
		dotRows(q.v, rows, dim, a[:n])
		for i := range out {
			out[i] = q.checked(a[i], rows[i*dim:(i+1)*dim], dot64)
		}
	}
}

// Squares below tiny lose digits to denormals in float32, and above huge the
// sum may have overflowed on its way.
const (
	tiny = 1e-28
	huge = 1e37
)

func (q *Query) cosine(dot, square float64, row []float32) float64 {
	own := q.square
	if !(own >= tiny && own <= huge && square >= tiny && square <= huge) {
		dot, own, square = dot64(q.v, row), dot64(q.v, q.v), dot64(row, row)
	}
	return max(-1, min(1, dot/(math.Sqrt(own)*math.Sqrt(square))))
}

// checked is the sum, or its float64 twin where float32 may have overflowed
// or vanished.
func (q *Query) checked(sum float32, row []float32, in64 func(a, b []float32) float64) float64 {
	if x := math.Abs(float64(sum)); x >= tiny && x <= huge {
		return float64(sum)
	}
	return in64(q.v, row)
}

func dot64(a, b []float32) float64 {
	sum := 0.0
	for i := range a {
		sum += float64(float64(a[i]) * float64(b[i]))
	}
	return sum
}

func square64(a, b []float32) float64 {
	sum := 0.0
	for i := range a {
		d := float64(a[i]) - float64(b[i])
		sum += float64(d * d)
	}
	return sum
}
