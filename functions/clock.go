package functions

import (
	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/kernel"
	"github.com/loamdb/loam/internal/vec"
)

// timeParts are the parts that a time of the day has.
var timeParts = map[string]func(int64) int64{
	"microsecond": parts["microsecond"], "millisecond": parts["millisecond"], "second": parts["second"], "minute": parts["minute"],
	"hour":  func(us int64) int64 { return us / hourUs },
	"epoch": func(us int64) int64 { return us / secondUs },
}

func evalTimePart(_ *expr.Env, args []*vec.Vector, n int, out *vec.Vector) error {
	return byUnit("date_part", timeParts, args, n, out.Int64s)
}

// clockTable holds the functions of times of the day and of intervals.
var clockTable = []def{
	{names: "current_time localtime", help: "the statement's time of the day, UTC", vol: expr.Stable, example: "typeof(current_time)", sigs: []sig{{ret: "time", eval: func(env *expr.Env, _ []*vec.Vector, n int, out *vec.Vector) error {
		for i := range n {
			out.Int64s[i] = kernel.ClockOf(env.Now.UnixMicro())
		}
		return nil
	}}}},
	{names: "make_time", help: "from hour, minute and seconds", example: "make_time(8, 15, 23.5)", sigs: []sig{{in: "bigint, bigint, double", ret: "time", eval: evalMakeTime}}},
	{names: "make_timestamp", help: "from year, month, day, hour, minute and seconds, or from microseconds since 1970-01-01", example: "make_timestamp(2024, 2, 29, 8, 15, 23.5)", sigs: []sig{
		{in: "bigint, bigint, bigint, bigint, bigint, double", ret: "timestamp", eval: evalMakeTimestamp},
		{in: "bigint", ret: "timestamp", eval: scaledTime(1)},
	}},
	{names: "make_interval", help: "from years, months, weeks, days, hours, minutes and seconds", example: "make_interval(0, 1, 0, 10)", sigs: []sig{
		{in: "bigint, bigint...", ret: "interval", eval: evalMakeInterval},
		{in: "bigint, bigint, bigint, bigint, bigint, bigint, double", ret: "interval", eval: evalMakeInterval},
	}},
	spanOf("to_years", vec.Span{Months: 12}), spanOf("to_months", vec.Span{Months: 1}), spanOf("to_weeks", vec.Span{Days: 7}),
	spanOf("to_days", vec.Span{Days: 1}), spanOf("to_hours", vec.Span{Nanos: hourUs * 1000}), spanOf("to_minutes", vec.Span{Nanos: minuteUs * 1000}),
	spanOf("to_seconds", vec.Span{Nanos: secondUs * 1000}), spanOf("to_milliseconds", vec.Span{Nanos: 1_000_000}), spanOf("to_microseconds", vec.Span{Nanos: 1000}),
	{names: "justify_days", help: "30 days become a month", example: "justify_days(INTERVAL '35 days')", sigs: justified(func(s vec.Span) vec.Span { return justifyDays(s) })},
	{names: "justify_hours", help: "24 hours become a day", example: "justify_hours(INTERVAL '27 hours')", sigs: justified(func(s vec.Span) vec.Span { return justifyHours(s) })},
	{names: "justify_interval", help: "24 hours become a day, 30 days a month, all of one sign", example: "justify_interval(INTERVAL '1 mon -1 hour')", sigs: justified(justify)},
}

// spanOf is the function that makes an interval of a number of units.
func spanOf(name string, unit vec.Span) def {
	return def{names: name, help: "an interval of so many " + name[3:], example: name + "(3)", sigs: []sig{{in: "bigint", ret: "interval", eval: func(_ *expr.Env, args []*vec.Vector, n int, out *vec.Vector) error {
		x := longs(args[0])
		for i := range n {
			var total spanSum
			total.add(x.at(i), unit)
			s, err := total.span()
			if err != nil {
				return err
			}
			out.Spans[i] = s
		}
		return nil
	}}}}
}

// spanSum adds up the parts of an interval.
type spanSum struct {
	months, days, nanos int64
	over                bool
}

func (s *spanSum) add(n int64, unit vec.Span) {
	s.months += s.times(n, int64(unit.Months))
	s.days += s.times(n, int64(unit.Days))
	s.nanos += s.times(n, unit.Nanos)
}

func (s *spanSum) times(n, unit int64) int64 {
	p := n * unit
	if unit != 0 && p/unit != n || p > 1<<61 || p < -1<<61 {
		s.over = true
	}
	return p
}

func (s *spanSum) span() (vec.Span, error) {
	out := vec.Span{Months: int32(s.months), Days: int32(s.days), Nanos: s.nanos}
	if s.over || int64(out.Months) != s.months || int64(out.Days) != s.days {
		return out, fail.New(fail.OutOfRange, "the interval is out of range")
	}
	return out, nil
}

var intervalUnits = []vec.Span{{Months: 12}, {Months: 1}, {Days: 7}, {Days: 1}, {Nanos: hourUs * 1000}, {Nanos: minuteUs * 1000}, {Nanos: secondUs * 1000}}

func evalMakeInterval(_ *expr.Env, args []*vec.Vector, n int, out *vec.Vector) error {
	if len(args) > len(intervalUnits) {
		return fail.New(fail.InvalidParameter, "make_interval takes up to %d numbers, not %d", len(intervalUnits), len(args))
	}
	for i := range n {
		var total spanSum
		for k, a := range args {
			if len(a.Float64s) == 0 {
				total.add(longs(a).at(i), intervalUnits[k])
				continue
			}
			us, ok := kernel.DoubleToInt(doubles(a).at(i) * secondUs)
			total.over = total.over || !ok
			total.add(us, vec.Span{Nanos: 1000})
		}
		s, err := total.span()
		if err != nil {
			return err
		}
		out.Spans[i] = s
	}
	return nil
}

// clockAt is the time of the day of hour, minute and seconds.
func clockAt(h, m int64, seconds float64) (int64, error) {
	us, ok := kernel.DoubleToInt(seconds * secondUs)
	if !ok || h < 0 || h > 23 || m < 0 || m > 59 || us < 0 || us >= minuteUs {
		return 0, fail.New(fail.InvalidDatetime, "there is no time %d:%d:%s", h, m, vec.FormatDouble(seconds))
	}
	return h*hourUs + m*minuteUs + us, nil
}

func evalMakeTime(_ *expr.Env, args []*vec.Vector, n int, out *vec.Vector) (err error) {
	h, m, s := longs(args[0]), longs(args[1]), doubles(args[2])
	for i := range n {
		if out.Int64s[i], err = clockAt(h.at(i), m.at(i), s.at(i)); err != nil {
			return err
		}
	}
	return nil
}

func evalMakeTimestamp(env *expr.Env, args []*vec.Vector, n int, out *vec.Vector) error {
	day := vec.NewFlat(typeNamed("date"), n)
	if err := evalMakeDate(env, args[:3], n, day); err != nil {
		return err
	}
	h, m, s := longs(args[3]), longs(args[4]), doubles(args[5])
	for i := range n {
		clock, err := clockAt(h.at(i), m.at(i), s.at(i))
		if err != nil {
			return err
		}
		us, ok := kernel.DateToMicros(day.Int32s[i])
		if !ok {
			return kernel.OutOfRange(vec.FormatDate(day.Int32s[i]), out.Type)
		}
		out.Int64s[i] = us + clock
	}
	return nil
}

func justified(f func(vec.Span) vec.Span) []sig {
	return []sig{{in: "interval", ret: "interval", eval: func(_ *expr.Env, args []*vec.Vector, n int, out *vec.Vector) error {
		x := spans(args[0])
		for i := range n {
			out.Spans[i] = f(x.at(i))
		}
		return nil
	}}}
}

const dayNanos = 1000 * dayUs

func justifyDays(s vec.Span) vec.Span {
	s.Months += s.Days / 30
	s.Days %= 30
	if s.Months > 0 && s.Days < 0 {
		s.Months, s.Days = s.Months-1, s.Days+30
	} else if s.Months < 0 && s.Days > 0 {
		s.Months, s.Days = s.Months+1, s.Days-30
	}
	return s
}

func justifyHours(s vec.Span) vec.Span {
	s.Days += int32(s.Nanos / dayNanos)
	s.Nanos %= dayNanos
	if s.Days > 0 && s.Nanos < 0 {
		s.Days, s.Nanos = s.Days-1, s.Nanos+dayNanos
	} else if s.Days < 0 && s.Nanos > 0 {
		s.Days, s.Nanos = s.Days+1, s.Nanos-dayNanos
	}
	return s
}

// justify counts the interval's length as days and time and cuts months off it.
func justify(s vec.Span) vec.Span {
	total := int64(s.Months)*30 + int64(s.Days) + s.Nanos/dayNanos
	nanos := s.Nanos % dayNanos
	if total > 0 && nanos < 0 {
		total, nanos = total-1, nanos+dayNanos
	} else if total < 0 && nanos > 0 {
		total, nanos = total+1, nanos-dayNanos
	}
	return vec.Span{Months: int32(total / 30), Days: int32(total % 30), Nanos: nanos}
}

// evalSpanTrunc cuts the parts of an interval that are smaller than the unit.
func evalSpanTrunc(_ *expr.Env, args []*vec.Vector, n int, out *vec.Vector) error {
	unit, s := textsOf(args[0]), spans(args[1])
	for i := range n {
		u, ok := kernel.SpanUnit(unitName(unit.at(i)))
		if !ok {
			return unknownUnit("date_trunc", unit.at(i), truncs)
		}
		x := s.at(i)
		switch {
		case u.Months > 0:
			x = vec.Span{Months: x.Months / u.Months * u.Months}
		case u.Days > 0:
			x.Days, x.Nanos = x.Days/u.Days*u.Days, 0
		default:
			x.Nanos = x.Nanos / u.Nanos * u.Nanos
		}
		out.Spans[i] = x
	}
	return nil
}
