package kernel

import (
	"math"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

// AddSpan adds an interval to a timestamp: months on the calendar (the day is
// cut to the month's length), then days, then time; ok is false on overflow.
func AddSpan(us int64, s vec.Span) (int64, bool) {
	if s.Months != 0 {
		day := FloorDiv(us, MicrosPerDay)
		y, m, d := DateOf(day)
		total := y*12 + int64(m-1) + int64(s.Months)
		y, m = FloorDiv(total, 12), int(total-FloorDiv(total, 12)*12)+1
		days := DaysOf(y, m, min(d, DaysIn(y, m)))
		if days > math.MaxInt64/MicrosPerDay || days < math.MinInt64/MicrosPerDay {
			return 0, false
		}
		us += (days - day) * MicrosPerDay
	}
	shift := int64(s.Days)*MicrosPerDay + FloorDiv(s.Nanos, 1000)
	sum := us + shift
	return sum, (us^sum)&(shift^sum) >= 0
}

func negSpan(s vec.Span) vec.Span { return vec.Span{Months: -s.Months, Days: -s.Days, Nanos: -s.Nanos} }

// micros gives the timestamps of a TIMESTAMP or DATE vector.
func micros(v *vec.Vector, n int) []int64 {
	if v.Type.Kind == types.Timestamp {
		return spread(v.Int64s, v, n)
	}
	out := make([]int64, n)
	for i, d := range spread(v.Int32s, v, n) {
		out[i] = int64(d) * MicrosPerDay
	}
	return out
}

// AddTimeSpan is TIMESTAMP or DATE plus INTERVAL, a TIMESTAMP.
func AddTimeSpan(a, b *vec.Vector, n int, out *vec.Vector) error {
	spans := spread(b.Spans, b, n)
	for i, us := range micros(a, n) {
		r, ok := AddSpan(us, spans[i])
		if !ok {
			return overflow(a, b, i, "+", out.Type)
		}
		out.Int64s[i] = r
	}
	return nil
}

// AddSpanTime is INTERVAL plus TIMESTAMP or DATE.
func AddSpanTime(a, b *vec.Vector, n int, out *vec.Vector) error { return AddTimeSpan(b, a, n, out) }

// SubTimeSpan is TIMESTAMP or DATE minus INTERVAL, a TIMESTAMP.
func SubTimeSpan(a, b *vec.Vector, n int, out *vec.Vector) error {
	spans := spread(b.Spans, b, n)
	for i, us := range micros(a, n) {
		r, ok := AddSpan(us, negSpan(spans[i]))
		if !ok {
			return overflow(a, b, i, "-", out.Type)
		}
		out.Int64s[i] = r
	}
	return nil
}

// AddClockSpan is TIME plus INTERVAL: the time of the day, round the clock. Days
// and months of the interval do not count.
func AddClockSpan(a, b *vec.Vector, n int, out *vec.Vector) error {
	spans := spread(b.Spans, b, n)
	for i, us := range spread(a.Int64s, a, n) {
		out.Int64s[i] = ClockOf(us + ClockOf(FloorDiv(spans[i].Nanos, 1000)))
	}
	return nil
}

// AddSpanClock is INTERVAL plus TIME.
func AddSpanClock(a, b *vec.Vector, n int, out *vec.Vector) error { return AddClockSpan(b, a, n, out) }

// SubClockSpan is TIME minus INTERVAL, round the clock.
func SubClockSpan(a, b *vec.Vector, n int, out *vec.Vector) error {
	spans := spread(b.Spans, b, n)
	for i, us := range spread(a.Int64s, a, n) {
		out.Int64s[i] = ClockOf(us - ClockOf(FloorDiv(spans[i].Nanos, 1000)))
	}
	return nil
}

// SubClocks is TIME minus TIME, an INTERVAL.
func SubClocks(a, b *vec.Vector, n int, out *vec.Vector) error {
	y := spread(b.Int64s, b, n)
	for i, us := range spread(a.Int64s, a, n) {
		out.Spans[i] = vec.Span{Nanos: (us - y[i]) * 1000}
	}
	return nil
}

// AddDateClock is DATE plus TIME, a TIMESTAMP.
func AddDateClock(a, b *vec.Vector, n int, out *vec.Vector) error {
	clocks := spread(b.Int64s, b, n)
	for i, d := range spread(a.Int32s, a, n) {
		day, ok := DateToMicros(d)
		if out.Int64s[i] = day + clocks[i]; !ok || out.Int64s[i] < day {
			return overflow(a, b, i, "+", out.Type)
		}
	}
	return nil
}

// AddClockDate is TIME plus DATE.
func AddClockDate(a, b *vec.Vector, n int, out *vec.Vector) error { return AddDateClock(b, a, n, out) }

// SubTimes is TIMESTAMP minus TIMESTAMP: an INTERVAL of whole days and a time.
func SubTimes(a, b *vec.Vector, n int, out *vec.Vector) error {
	x, y := micros(a, n), micros(b, n)
	for i, v := range x {
		d := v - y[i]
		days := d / MicrosPerDay
		if (v^y[i])&(v^d) < 0 || int64(int32(days)) != days {
			return overflow(a, b, i, "-", out.Type)
		}
		out.Spans[i] = vec.Span{Days: int32(days), Nanos: d % MicrosPerDay * 1000}
	}
	return nil
}

// AddDateInt is DATE plus a number of days, INT or BIGINT.
func AddDateInt(a, b *vec.Vector, n int, out *vec.Vector) error {
	return shiftDate(a, b, n, out, 1, "+")
}

// AddIntDate is a number of days plus DATE.
func AddIntDate(a, b *vec.Vector, n int, out *vec.Vector) error {
	return shiftDate(b, a, n, out, 1, "+")
}

// SubDateInt is DATE minus a number of days.
func SubDateInt(a, b *vec.Vector, n int, out *vec.Vector) error {
	return shiftDate(a, b, n, out, -1, "-")
}

func shiftDate(a, b *vec.Vector, n int, out *vec.Vector, sign int64, op string) error {
	dates, days := spread(a.Int32s, a, n), intsOf(b, n)
	for i, d := range dates {
		if days[i] > math.MaxInt32*2 || days[i] < math.MinInt32*2 {
			return overflow(a, b, i, op, out.Type)
		}
		r := int64(d) + sign*days[i]
		if int64(int32(r)) != r {
			return overflow(a, b, i, op, out.Type)
		}
		out.Int32s[i] = int32(r)
	}
	return nil
}

func intsOf(v *vec.Vector, n int) []int64 {
	if v.Type.Kind == types.Int64 {
		return spread(v.Int64s, v, n)
	}
	out := make([]int64, n)
	for i, x := range spread(v.Int32s, v, n) {
		out[i] = int64(x)
	}
	return out
}

// SubDates is DATE minus DATE, an INT of days.
func SubDates(a, b *vec.Vector, n int, out *vec.Vector) error {
	x, y := spread(a.Int32s, a, n), spread(b.Int32s, b, n)
	for i, v := range x {
		r := int64(v) - int64(y[i])
		if int64(int32(r)) != r {
			return overflow(a, b, i, "-", out.Type)
		}
		out.Int32s[i] = int32(r)
	}
	return nil
}

// AddSpans adds intervals part by part.
func AddSpans(a, b *vec.Vector, n int, out *vec.Vector) error { return sumSpans(a, b, n, out, 1, "+") }

// SubSpans subtracts intervals part by part.
func SubSpans(a, b *vec.Vector, n int, out *vec.Vector) error { return sumSpans(a, b, n, out, -1, "-") }

func sumSpans(a, b *vec.Vector, n int, out *vec.Vector, sign int64, op string) error {
	x, y := spread(a.Spans, a, n), spread(b.Spans, b, n)
	for i, s := range x {
		months := int64(s.Months) + sign*int64(y[i].Months)
		days := int64(s.Days) + sign*int64(y[i].Days)
		nanos, r := sign*y[i].Nanos, s.Nanos+sign*y[i].Nanos
		if int64(int32(months)) != months || int64(int32(days)) != days || (s.Nanos^r)&(nanos^r) < 0 {
			return overflow(a, b, i, op, out.Type)
		}
		out.Spans[i] = vec.Span{Months: int32(months), Days: int32(days), Nanos: r}
	}
	return nil
}

// MulSpan is INTERVAL times DOUBLE; fractions of months become days of 30 to the
// month, fractions of days become time.
func MulSpan(a, b *vec.Vector, n int, out *vec.Vector) error {
	f := spread(b.Float64s, b, n)
	for i, s := range spread(a.Spans, a, n) {
		r, ok := scaleSpan(s, f[i])
		if !ok {
			return overflow(a, b, i, "*", out.Type)
		}
		out.Spans[i] = r
	}
	return nil
}

// MulBySpan is DOUBLE times INTERVAL.
func MulBySpan(a, b *vec.Vector, n int, out *vec.Vector) error { return MulSpan(b, a, n, out) }

// DivSpan is INTERVAL divided by DOUBLE.
func DivSpan(a, b *vec.Vector, n int, out *vec.Vector) error {
	f := spread(b.Float64s, b, n)
	for i, s := range spread(a.Spans, a, n) {
		if f[i] == 0 {
			return fail.New(fail.DivisionByZero, "division by zero")
		}
		r, ok := scaleSpan(s, 1/f[i])
		if !ok {
			return overflow(a, b, i, "/", out.Type)
		}
		out.Spans[i] = r
	}
	return nil
}

func scaleSpan(s vec.Span, f float64) (vec.Span, bool) {
	months := float64(s.Months) * f
	wholeMonths := math.Trunc(months)
	days := float64(s.Days)*f + snap((months-wholeMonths)*30)
	wholeDays := math.Trunc(days)
	nanos := float64(s.Nanos)*f + math.Round((days-wholeDays)*86_400e6)*1000
	ok := math.Abs(wholeMonths) <= math.MaxInt32 && math.Abs(wholeDays) <= math.MaxInt32 && math.Abs(nanos) < 1<<63
	if !ok || math.IsNaN(f) {
		return vec.Span{}, false
	}
	return vec.Span{Months: int32(wholeMonths), Days: int32(wholeDays), Nanos: int64(math.Round(nanos/1000)) * 1000}, true
}

// snap takes away the noise that a binary fraction of a month leaves.
func snap(days float64) float64 {
	if r := math.Round(days); math.Abs(days-r) < 1e-9 {
		return r
	}
	return days
}
