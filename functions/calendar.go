package functions

import (
	"math"
	"time"

	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/kernel"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

// calendarTable holds the arithmetic of the calendar, and times as texts.
var calendarTable = []def{
	{names: "date_diff datediff", help: "how many boundaries of a unit lie between two times", sigs: []sig{{in: "text, timestamp, timestamp", ret: "bigint", eval: evalDateDiff}}},
	{names: "date_sub datesub", help: "how many whole units lie between two times", sigs: []sig{{in: "text, timestamp, timestamp", ret: "bigint", eval: evalDateSub}}},
	{names: "date_add dateadd", help: "a time moved by an interval, or by so many units", sigs: []sig{
		{in: "timestamp, interval", ret: "timestamp", eval: op2(kernel.AddTimeSpan)},
		{in: "text, bigint, timestamp", ret: "timestamp", eval: evalDateAdd},
	}},
	{names: "add_months", help: "a date moved by months; the day is cut to the month's length", sigs: []sig{{in: "date, bigint", ret: "date", eval: evalAddMonths}}},
	{names: "months_between", help: "whole months between two times, the later one first", sigs: []sig{{in: "timestamp, timestamp", ret: "bigint", eval: longPair(func(a, b int64) int64 { return wholeUnits("month", b, a) })}}},
	{names: "last_day", help: "the last day of the month", sigs: []sig{{in: "timestamp", ret: "date", eval: func(_ *expr.Env, args []*vec.Vector, n int, out *vec.Vector) error {
		us := longs(args[0])
		for i := range n {
			y, m, _ := civil(us.at(i))
			out.Int32s[i] = int32(kernel.DaysOf(y, m, kernel.DaysIn(y, m)))
		}
		return nil
	}}}},
	{names: "dayname", help: "the English name of the weekday", sigs: []sig{{in: "timestamp", ret: "text", eval: timeText(func(us int64) string {
		return time.Weekday(mod(weekday(us)+1, 7)).String()
	})}}},
	{names: "monthname", help: "the English name of the month", sigs: []sig{{in: "timestamp", ret: "text", eval: timeText(func(us int64) string {
		_, m, _ := civil(us)
		return time.Month(m).String()
	})}}},
	{names: "yearweek", help: "ISO year and week as one number, such as 202401", sigs: []sig{{in: "timestamp", ret: "bigint", eval: longPart(func(us int64) int64 {
		y, w := isoWeek(us)
		return y*100 + w
	})}}},
	{names: "epoch_ms", help: "milliseconds since 1970-01-01, or the time of so many", sigs: []sig{
		{in: "timestamp", ret: "bigint", eval: longPart(func(us int64) int64 { return kernel.FloorDiv(us, 1000) })}, {in: "bigint", ret: "timestamp", eval: scaledTime(1000)},
	}},
	{names: "epoch_us", help: "microseconds since 1970-01-01", sigs: []sig{{in: "timestamp", ret: "bigint", eval: longPart(func(us int64) int64 { return us })}}},
	{names: "epoch_ns", help: "nanoseconds since 1970-01-01", sigs: []sig{{in: "timestamp", ret: "bigint", eval: func(_ *expr.Env, args []*vec.Vector, n int, out *vec.Vector) error {
		us := longs(args[0])
		for i := range n {
			x := us.at(i)
			if out.Int64s[i] = x * 1000; out.Int64s[i]/1000 != x {
				return kernel.OutOfRange(vec.FormatTimestamp(x)+" in nanoseconds", out.Type)
			}
		}
		return nil
	}}}},
	{names: "to_timestamp_nanos", help: "from nanoseconds since 1970-01-01", sigs: []sig{{in: "bigint", ret: "timestamp", eval: long1(func(x int64) int64 { return kernel.FloorDiv(x, 1000) })}}},
	{names: "unix_timestamp", help: "whole seconds since 1970-01-01", sigs: []sig{{in: "timestamp", ret: "bigint", eval: longPart(parts["epoch"])}}},
	{names: "date", help: "the date of a time or a text", sigs: []sig{
		{in: "timestamp", ret: "date", eval: castTo(types.Of(types.Date))}, {in: "text", ret: "date", eval: castTo(types.Of(types.Date))},
	}},
	{names: "time_bucket", help: "cut to a multiple of an interval, also of months, counted from 2000-01-01 or an origin", sigs: []sig{
		{in: "interval, timestamp", ret: "timestamp", eval: evalTimeBucket}, {in: "interval, timestamp, timestamp", ret: "timestamp", eval: evalTimeBucket},
	}},
	{names: "to_utc_timestamp", help: "the UTC time of a local time in a zone", sigs: []sig{{in: "timestamp, text", ret: "timestamp", eval: evalToUTC}}},
	{names: "from_utc_timestamp", help: "the local time in a zone of a UTC time", sigs: []sig{{in: "timestamp, text", ret: "timestamp", eval: func(env *expr.Env, args []*vec.Vector, n int, out *vec.Vector) error {
		return evalTimezone(env, []*vec.Vector{args[1], args[0]}, n, out)
	}}}},
	partOf("dayofmonth", "day", "the day of the month"), partOf("dayofweek weekday dow", "dow", "the day of the week, 0 for Sunday"),
	partOf("isodow", "isodow", "the day of the week, 1 for Monday to 7"), partOf("dayofyear doy", "doy", "the day of the year"),
	partOf("weekofyear", "week", "the ISO week"), partOf("isoyear", "isoyear", "the year that the ISO week belongs to"), partOf("century", "century", "the century"),
	partOf("decade", "decade", "the decade: the year divided by 10"), partOf("millennium", "millennium", "the millennium"), partOf("julian", "julian", "the Julian day"),
	partOf("millisecond", "millisecond", "the seconds of the minute in milliseconds"), partOf("microsecond", "microsecond", "the seconds of the minute in microseconds"),
}

func partOf(names, part, help string) def {
	return def{names: names, help: help, sigs: []sig{{in: "timestamp", ret: "bigint", eval: longPart(parts[part])}}}
}

func longPart(f func(int64) int64) expr.EvalFunc { return long1(f) }

func longPair(f func(a, b int64) int64) expr.EvalFunc {
	return long2e(func(a, b int64) (int64, error) { return f(a, b), nil })
}

func timeText(f func(us int64) string) expr.EvalFunc { return longText(f) }

// unitSizes are the units of a fixed number of microseconds.
var unitSizes = map[string]int64{"microsecond": 1, "millisecond": 1000, "second": secondUs, "minute": minuteUs, "hour": hourUs, "day": dayUs, "week": 7 * dayUs}

// unitMonths are the units of a fixed number of months.
var unitMonths = map[string]int64{"month": 1, "quarter": 3, "year": 12, "decade": 120, "century": 1200, "millennium": 12000}

// boundaries counts the starts of a unit that lie in (from, to].
func boundaries(unit string, from, to int64) int64 {
	if size, ok := unitSizes[unit]; ok {
		if unit == "week" {
			return kernel.FloorDiv(truncs["week"](to)-truncs["week"](from), size)
		}
		return kernel.FloorDiv(to, size) - kernel.FloorDiv(from, size)
	}
	y1, m1, _ := civil(from)
	y2, m2, _ := civil(to)
	switch unit {
	case "century":
		return parts["century"](to) - parts["century"](from)
	case "millennium":
		return parts["millennium"](to) - parts["millennium"](from)
	case "isoyear":
		return parts["isoyear"](to) - parts["isoyear"](from)
	}
	months := unitMonths[unit]
	return kernel.FloorDiv(y2*12+int64(m2-1), months) - kernel.FloorDiv(y1*12+int64(m1-1), months)
}

// wholeUnits counts whole units from one time to the other, toward zero.
func wholeUnits(unit string, from, to int64) int64 {
	if to < from {
		return -wholeUnits(unit, to, from)
	}
	if size, ok := unitSizes[unit]; ok {
		return (to - from) / size
	}
	return int64(age(to, from).Months) / unitMonths[unit]
}

// knownUnit reports units that date_diff and its kin count.
func knownUnit(what, name string) (string, error) {
	unit := unitName(name)
	_, fixed := unitSizes[unit]
	_, months := unitMonths[unit]
	if fixed || months || unit == "isoyear" && what == "date_diff" {
		return unit, nil
	}
	return "", unknownUnit(what, name, truncs)
}

func evalDateDiff(_ *expr.Env, args []*vec.Vector, n int, out *vec.Vector) error {
	return byPair("date_diff", boundaries, args, n, out)
}

func evalDateSub(_ *expr.Env, args []*vec.Vector, n int, out *vec.Vector) error {
	return byPair("date_sub", wholeUnits, args, n, out)
}

func byPair(what string, f func(unit string, from, to int64) int64, args []*vec.Vector, n int, out *vec.Vector) error {
	name, from, to := textsOf(args[0]), longs(args[1]), longs(args[2])
	for i := range n {
		unit, err := knownUnit(what, name.at(i))
		if err != nil {
			return err
		}
		if a, b := from.at(i), to.at(i); a > math.MaxInt64/2 || a < math.MinInt64/2 || b > math.MaxInt64/2 || b < math.MinInt64/2 {
			return kernel.OutOfRange("the timestamp", args[1].Type)
		}
		out.Int64s[i] = f(unit, from.at(i), to.at(i))
	}
	return nil
}

func evalDateAdd(_ *expr.Env, args []*vec.Vector, n int, out *vec.Vector) error {
	name, k, us := textsOf(args[0]), longs(args[1]), longs(args[2])
	for i := range n {
		unit, err := knownUnit("date_add", name.at(i))
		if err != nil {
			return err
		}
		var total spanSum
		if months := unitMonths[unit]; months > 0 {
			total.add(k.at(i), vec.Span{Months: int32(months)})
		} else {
			total.add(k.at(i), vec.Span{Nanos: unitSizes[unit] * 1000})
			if unit == "day" || unit == "week" {
				total = spanSum{}
				total.add(k.at(i), vec.Span{Days: int32(unitSizes[unit] / dayUs)})
			}
		}
		s, err := total.span()
		if err != nil {
			return err
		}
		var ok bool
		if out.Int64s[i], ok = kernel.AddSpan(us.at(i), s); !ok {
			return kernel.OutOfRange("the sum", out.Type)
		}
	}
	return nil
}

func evalAddMonths(_ *expr.Env, args []*vec.Vector, n int, out *vec.Vector) error {
	days, step := reader[int32]{args[0].Int32s, step(args[0])}, longs(args[1])
	for i := range n {
		y, m, d := kernel.DateOf(int64(days.at(i)))
		total := y*12 + int64(m-1) + step.at(i)
		y, m = kernel.FloorDiv(total, 12), int(mod(total, 12))+1
		if step.at(i) > math.MaxInt32 || step.at(i) < math.MinInt32 || y < 1 || y > 999999 {
			return kernel.OutOfRange("the sum", out.Type)
		}
		out.Int32s[i] = int32(kernel.DaysOf(y, m, min(d, kernel.DaysIn(y, m))))
	}
	return nil
}

// bucketOrigin is what time_bucket counts from: a Monday for weeks would be
// 2000-01-03, as DuckDB and Timescale have it for widths without months.
var bucketOrigin, monthOrigin = midnight(2000, 1, 3), midnight(2000, 1, 1)

func evalTimeBucket(_ *expr.Env, args []*vec.Vector, n int, out *vec.Vector) error {
	width, us := spans(args[0]), longs(args[1])
	for i := range n {
		s, origin := width.at(i), int64(0)
		fixed := int64(s.Days)*dayUs + s.Nanos/1000
		switch {
		case len(args) > 2:
			origin = longs(args[2]).at(i)
		case s.Months > 0:
			origin = monthOrigin
		default:
			origin = bucketOrigin
		}
		switch {
		case s.Months > 0 && fixed == 0:
			y, m, _ := civil(us.at(i))
			oy, om, _ := civil(origin)
			base := oy*12 + int64(om-1)
			total := base + kernel.FloorDiv(y*12+int64(m-1)-base, int64(s.Months))*int64(s.Months)
			out.Int64s[i] = midnight(kernel.FloorDiv(total, 12), int(mod(total, 12))+1, 1)
		case s.Months == 0 && fixed > 0:
			out.Int64s[i] = origin + kernel.FloorDiv(us.at(i)-origin, fixed)*fixed
		default:
			return fail.New(fail.InvalidParameter, "time_bucket: the width %s is not a positive number of months, or of days and time", s)
		}
	}
	return nil
}

func evalToUTC(_ *expr.Env, args []*vec.Vector, n int, out *vec.Vector) error {
	us, name := longs(args[0]), textsOf(args[1])
	for i := range n {
		zone, err := zoneNamed(name.at(i))
		if err != nil {
			return err
		}
		t := time.UnixMicro(us.at(i)).UTC()
		y, m, d := t.Date()
		out.Int64s[i] = time.Date(y, m, d, t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), zone).UnixMicro()
	}
	return nil
}
