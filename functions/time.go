package functions

import (
	"fmt"
	"math"
	"strings"
	"time"
	_ "time/tzdata" // zones also where the system has none

	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/kernel"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

// timeTable holds the functions of time. Timestamps are UTC; now() is the
// statement's time, the same for all its rows.
var timeTable = []def{
	{names: "now current_timestamp transaction_timestamp localtimestamp", help: "the statement's time", vol: expr.Stable, sigs: []sig{{ret: "timestamp", eval: evalNow}}},
	{names: "current_date today", help: "the statement's date, UTC", vol: expr.Stable, sigs: []sig{{ret: "date", eval: evalToday}}},
	{names: "date_trunc", help: "cut to a unit: year, quarter, month, week, day, hour, minute, second, …", sigs: []sig{
		{in: "text, timestamp", ret: "timestamp", eval: evalDateTrunc},
		{in: "text, interval", ret: "interval", eval: evalSpanTrunc},
	}},
	{names: "date_part extract datepart", help: "a part as a whole number: year, month, day, hour, minute, second, dow, isodow, doy, week, isoyear, quarter, epoch, …", sigs: []sig{
		{in: "text, timestamp", ret: "bigint", eval: evalDatePart},
		{in: "text, time", ret: "bigint", eval: evalTimePart},
		{in: "text, interval", ret: "bigint", eval: evalSpanPart},
	}},
	{names: "epoch to_unixtime", help: "seconds since 1970-01-01, with fraction", sigs: []sig{{in: "timestamp", ret: "double", eval: func(_ *expr.Env, args []*vec.Vector, n int, out *vec.Vector) error {
		us := longs(args[0])
		for i := range n {
			out.Float64s[i] = float64(us.at(i)) / 1e6
		}
		return nil
	}}}},
	partFunc("year"), partFunc("month"), partFunc("day"), partFunc("hour"), partFunc("minute"), partFunc("second"),
	partFunc("quarter"), partFunc("week"),
	{names: "date_bin", help: "cut to a multiple of an interval counted from an origin (default 1970-01-01)", sigs: []sig{
		{in: "interval, timestamp", ret: "timestamp", eval: evalDateBin},
		{in: "interval, timestamp, timestamp", ret: "timestamp", eval: evalDateBin},
	}},
	{names: "to_timestamp", help: "from seconds since 1970-01-01, from ISO text, or from text in a format of to_char or strftime", sigs: []sig{
		{in: "text, text", ret: "timestamp", eval: parsedBy(letterCodes, false)},
		{in: "bigint", ret: "timestamp", eval: scaledTime(1_000_000)},
		{in: "double", ret: "timestamp", eval: evalFromSeconds},
		{in: "text", ret: "timestamp", eval: castTo(types.Of(types.Timestamp))},
		{in: "timestamp", ret: "timestamp", eval: identity},
	}},
	{names: "to_timestamp_seconds from_unixtime", help: "from seconds since 1970-01-01", sigs: []sig{{in: "bigint", ret: "timestamp", eval: scaledTime(1_000_000)}}},
	{names: "to_timestamp_millis", help: "from milliseconds since 1970-01-01", sigs: []sig{{in: "bigint", ret: "timestamp", eval: scaledTime(1000)}}},
	{names: "to_timestamp_micros", help: "from microseconds since 1970-01-01", sigs: []sig{{in: "bigint", ret: "timestamp", eval: scaledTime(1)}}},
	{names: "to_date", help: "from ISO text, or from text in a format of to_char or strftime", sigs: []sig{
		{in: "text, text", ret: "date", eval: parsedDate(letterCodes)},
		{in: "text", ret: "date", eval: castTo(types.Of(types.Date))},
		{in: "timestamp", ret: "date", eval: castTo(types.Of(types.Date))},
	}},
	{names: "timezone", help: "the local time in a zone (name or offset) of a UTC time: x AT TIME ZONE zone", sigs: []sig{{in: "text, timestamp", ret: "timestamp", eval: evalTimezone}}},
	{names: "make_date", help: "from year, month and day", sigs: []sig{{in: "bigint, bigint, bigint", ret: "date", eval: evalMakeDate}}},
	{names: "age", help: "years, months, days and time between two timestamps, or to today", vol: expr.Stable, sigs: []sig{
		{in: "timestamp, timestamp", ret: "interval", eval: evalAge},
		{in: "timestamp", ret: "interval", eval: evalAge},
	}},
	{names: "to_char", help: "formatted by YYYY, YY, MM, Mon, Month, DD, DDD, D, ID, Dy, Day, HH24, HH12, MI, SS, SSSS, MS, US, AM, IW, IYYY, WW, Q, CC, J; names are not padded", sigs: []sig{
		{in: "timestamp, text", ret: "text", eval: evalToChar},
	}},
}

func partFunc(part string) def {
	d := def{names: part, help: "the " + part + " of a time", sigs: []sig{{in: "timestamp", ret: "bigint", eval: long1(parts[part])}}}
	if get := timeParts[part]; get != nil {
		d.sigs = append(d.sigs, sig{in: "time", ret: "bigint", eval: long1(get)})
	}
	return d
}

func evalNow(env *expr.Env, _ []*vec.Vector, n int, out *vec.Vector) error {
	for i := range n {
		out.Int64s[i] = env.Now.UnixMicro()
	}
	return nil
}

func evalToday(env *expr.Env, _ []*vec.Vector, n int, out *vec.Vector) error {
	for i := range n {
		out.Int32s[i] = int32(kernel.FloorDiv(env.Now.UnixMicro(), kernel.MicrosPerDay))
	}
	return nil
}

// castTo adapts a cast as a function.
func castTo(t types.Type) expr.EvalFunc {
	return func(_ *expr.Env, args []*vec.Vector, n int, out *vec.Vector) error {
		v, err := kernel.Cast(args[0], t, false)
		if err == nil {
			*out = *v.Flatten()
		}
		return err
	}
}

const (
	secondUs = 1_000_000
	minuteUs = 60 * secondUs
	hourUs   = 60 * minuteUs
	dayUs    = kernel.MicrosPerDay
)

func civil(us int64) (year int64, month, day int) { return kernel.DateOf(kernel.FloorDiv(us, dayUs)) }

func midnight(year int64, month, day int) int64 { return kernel.DaysOf(year, month, day) * dayUs }

// weekday is 0 for Monday.
func weekday(us int64) int64 { return mod(kernel.FloorDiv(us, dayUs)+3, 7) }

func mod(a, b int64) int64 { return a - kernel.FloorDiv(a, b)*b }

// isoWeek gives the ISO 8601 year and week: that of the week's Thursday.
func isoWeek(us int64) (year, week int64) {
	thursday := kernel.FloorDiv(us, dayUs) - weekday(us) + 3
	year, _, _ = kernel.DateOf(thursday)
	return year, (thursday-kernel.DaysOf(year, 1, 1))/7 + 1
}

// truncs cuts a timestamp to a unit.
var truncs = map[string]func(int64) int64{
	"microsecond": func(us int64) int64 { return us },
	"millisecond": func(us int64) int64 { return kernel.FloorDiv(us, 1000) * 1000 },
	"second":      func(us int64) int64 { return kernel.FloorDiv(us, secondUs) * secondUs },
	"minute":      func(us int64) int64 { return kernel.FloorDiv(us, minuteUs) * minuteUs },
	"hour":        func(us int64) int64 { return kernel.FloorDiv(us, hourUs) * hourUs },
	"day":         func(us int64) int64 { return kernel.FloorDiv(us, dayUs) * dayUs },
	"week":        func(us int64) int64 { return (kernel.FloorDiv(us, dayUs) - weekday(us)) * dayUs },
	"month":       func(us int64) int64 { y, m, _ := civil(us); return midnight(y, m, 1) },
	"quarter":     func(us int64) int64 { y, m, _ := civil(us); return midnight(y, (m-1)/3*3+1, 1) },
	"year":        func(us int64) int64 { y, _, _ := civil(us); return midnight(y, 1, 1) },
	"decade":      func(us int64) int64 { y, _, _ := civil(us); return midnight(kernel.FloorDiv(y, 10)*10, 1, 1) },
	"century":     func(us int64) int64 { y, _, _ := civil(us); return midnight(kernel.FloorDiv(y-1, 100)*100+1, 1, 1) },
}

// parts gives a part of a timestamp as a whole number.
var parts = map[string]func(int64) int64{
	"microsecond": func(us int64) int64 { return mod(us, minuteUs) },
	"millisecond": func(us int64) int64 { return mod(us, minuteUs) / 1000 },
	"second":      func(us int64) int64 { return mod(us, minuteUs) / secondUs },
	"minute":      func(us int64) int64 { return mod(us, hourUs) / minuteUs },
	"hour":        func(us int64) int64 { return mod(us, dayUs) / hourUs },
	"day":         func(us int64) int64 { _, _, d := civil(us); return int64(d) },
	"month":       func(us int64) int64 { _, m, _ := civil(us); return int64(m) },
	"quarter":     func(us int64) int64 { _, m, _ := civil(us); return int64(m+2) / 3 },
	"year":        func(us int64) int64 { y, _, _ := civil(us); return y },
	"decade":      func(us int64) int64 { y, _, _ := civil(us); return kernel.FloorDiv(y, 10) },
	"century":     func(us int64) int64 { y, _, _ := civil(us); return kernel.FloorDiv(y-1, 100) + 1 },
	"millennium":  func(us int64) int64 { y, _, _ := civil(us); return kernel.FloorDiv(y-1, 1000) + 1 },
	"dow":         func(us int64) int64 { return mod(weekday(us)+1, 7) },
	"isodow":      func(us int64) int64 { return weekday(us) + 1 },
	"doy": func(us int64) int64 {
		y, _, _ := civil(us)
		return kernel.FloorDiv(us, dayUs) - kernel.DaysOf(y, 1, 1) + 1
	},
	"week":    func(us int64) int64 { _, w := isoWeek(us); return w },
	"isoyear": func(us int64) int64 { y, _ := isoWeek(us); return y },
	"epoch":   func(us int64) int64 { return kernel.FloorDiv(us, secondUs) },
	"julian":  func(us int64) int64 { return kernel.FloorDiv(us, dayUs) + 2440588 },
}

// unitName folds the spellings of a unit: case, plural, short forms.
func unitName(s string) string {
	s = strings.ToLower(strings.TrimSpace(s))
	switch s {
	case "y", "yr", "yrs":
		return "year"
	case "mon", "mons":
		return "month"
	case "d":
		return "day"
	case "h", "hr", "hrs":
		return "hour"
	case "m", "min", "mins":
		return "minute"
	case "s", "sec", "secs":
		return "second"
	case "ms", "msec", "msecs":
		return "millisecond"
	case "us", "usec", "usecs":
		return "microsecond"
	case "dayofweek", "weekday":
		return "dow"
	case "dayofyear":
		return "doy"
	case "w", "weekofyear", "isoweek":
		return "week"
	case "centuries":
		return "century"
	}
	return strings.TrimSuffix(s, "s")
}

func unknownUnit(what, unit string, of map[string]func(int64) int64) error {
	names := make([]string, 0, len(of))
	for n := range of {
		names = append(names, n)
	}
	err := fail.New(fail.InvalidParameter, "%s: unknown unit %q", what, unit)
	if near := fail.Closest(unit, names); near != "" {
		return err.WithHint("Did you mean '%s'?", near)
	}
	return err
}

// byUnit applies, per row, the function that the unit of the first argument names.
func byUnit(what string, table map[string]func(int64) int64, args []*vec.Vector, n int, out []int64) error {
	unit, us := textsOf(args[0]), longs(args[1])
	var f func(int64) int64
	last := ""
	for i := range n {
		if u := unit.at(i); f == nil || u != last {
			if f = table[unitName(u)]; f == nil {
				return unknownUnit(what, u, table)
			}
			last = u
		}
		out[i] = f(us.at(i))
	}
	return nil
}

func evalDateTrunc(_ *expr.Env, args []*vec.Vector, n int, out *vec.Vector) error {
	return byUnit("date_trunc", truncs, args, n, out.Int64s)
}

func evalDatePart(_ *expr.Env, args []*vec.Vector, n int, out *vec.Vector) error {
	return byUnit("date_part", parts, args, n, out.Int64s)
}

func evalSpanPart(_ *expr.Env, args []*vec.Vector, n int, out *vec.Vector) error {
	unit, s := textsOf(args[0]), spans(args[1])
	for i := range n {
		x := s.at(i)
		us := x.Nanos / 1000
		switch u := unitName(unit.at(i)); u {
		case "year":
			out.Int64s[i] = int64(x.Months / 12)
		case "month":
			out.Int64s[i] = int64(x.Months % 12)
		case "day":
			out.Int64s[i] = int64(x.Days)
		case "hour":
			out.Int64s[i] = us / hourUs
		case "minute":
			out.Int64s[i] = us % hourUs / minuteUs
		case "second":
			out.Int64s[i] = us % minuteUs / secondUs
		case "epoch":
			out.Int64s[i] = (int64(x.Months)*30+int64(x.Days))*86400 + us/secondUs
		default:
			return fail.New(fail.InvalidParameter, "date_part: an interval has no %q", unit.at(i))
		}
	}
	return nil
}

func evalDateBin(_ *expr.Env, args []*vec.Vector, n int, out *vec.Vector) error {
	stride, us := spans(args[0]), longs(args[1])
	for i := range n {
		s := stride.at(i)
		width := int64(s.Days)*dayUs + s.Nanos/1000
		if s.Months != 0 || width <= 0 {
			return fail.New(fail.InvalidParameter, "date_bin: the stride %s is not a positive number of days and time", s).
				WithHint("Use date_trunc for months and years.")
		}
		origin := int64(0)
		if len(args) > 2 {
			origin = longs(args[2]).at(i)
		}
		d := us.at(i) - origin
		if (us.at(i)^origin)&(us.at(i)^d) < 0 {
			return kernel.OutOfRange("the distance to the origin", out.Type)
		}
		out.Int64s[i] = origin + kernel.FloorDiv(d, width)*width
	}
	return nil
}

func scaledTime(factor int64) expr.EvalFunc {
	return func(_ *expr.Env, args []*vec.Vector, n int, out *vec.Vector) error {
		x := longs(args[0])
		for i := range n {
			us := x.at(i) * factor
			if us/factor != x.at(i) {
				return kernel.OutOfRange(fmt.Sprint(x.at(i)), out.Type)
			}
			out.Int64s[i] = us
		}
		return nil
	}
}

func evalFromSeconds(_ *expr.Env, args []*vec.Vector, n int, out *vec.Vector) error {
	x := doubles(args[0])
	for i := range n {
		us, ok := kernel.DoubleToInt(x.at(i) * 1e6)
		if !ok {
			return kernel.OutOfRange(vec.FormatDouble(x.at(i)), out.Type)
		}
		out.Int64s[i] = us
	}
	return nil
}

func evalTimezone(_ *expr.Env, args []*vec.Vector, n int, out *vec.Vector) error {
	name, us := textsOf(args[0]), longs(args[1])
	var zone *time.Location
	last := ""
	for i := range n {
		if z := name.at(i); zone == nil || z != last {
			var err error
			if zone, err = zoneNamed(z); err != nil {
				return err
			}
			last = z
		}
		_, east := time.UnixMicro(us.at(i)).In(zone).Zone()
		out.Int64s[i] = us.at(i) + int64(east)*secondUs
	}
	return nil
}

// zoneNamed finds a zone of the IANA database by name, or reads an offset east
// of UTC such as +02:00.
func zoneNamed(name string) (*time.Location, error) {
	if t, err := time.Parse("-07:00", name); err == nil {
		return t.Location(), nil
	}
	zone, err := time.LoadLocation(name)
	if err != nil || name == "" || name == "Local" {
		return nil, fail.New(fail.InvalidParameter, "there is no time zone %q", name).WithHint("Write it as 'Europe/Berlin' or '+02:00'.")
	}
	return zone, nil
}

func evalMakeDate(_ *expr.Env, args []*vec.Vector, n int, out *vec.Vector) error {
	y, m, d := longs(args[0]), longs(args[1]), longs(args[2])
	for i := range n {
		if y.at(i) < 1 || y.at(i) > 999999 || m.at(i) < 1 || m.at(i) > 12 || d.at(i) < 1 || d.at(i) > int64(kernel.DaysIn(y.at(i), int(m.at(i)))) {
			return fail.New(fail.InvalidDatetime, "make_date: there is no date %d-%d-%d", y.at(i), m.at(i), d.at(i))
		}
		out.Int32s[i] = int32(kernel.DaysOf(y.at(i), int(m.at(i)), int(d.at(i))))
	}
	return nil
}

func evalAge(env *expr.Env, args []*vec.Vector, n int, out *vec.Vector) error {
	a := longs(args[0])
	for i := range n {
		if len(args) == 1 {
			out.Spans[i] = age(truncs["day"](env.Now.UnixMicro()), a.at(i))
		} else {
			out.Spans[i] = age(a.at(i), longs(args[1]).at(i))
		}
	}
	return nil
}

// age is to - from in calendar years, months and days: whole months counted from
// the earlier one, then the days and time that are left.
func age(to, from int64) vec.Span {
	if to < from {
		s := age(from, to)
		return vec.Span{Months: -s.Months, Days: -s.Days, Nanos: -s.Nanos}
	}
	y1, m1, _ := civil(from)
	y2, m2, _ := civil(to)
	months := (y2-y1)*12 + int64(m2-m1)
	start, ok := kernel.AddSpan(from, vec.Span{Months: int32(months)})
	if !ok || start > to {
		months--
		start, _ = kernel.AddSpan(from, vec.Span{Months: int32(months)})
	}
	rest := to - start
	return vec.Span{Months: int32(months), Days: int32(rest / dayUs), Nanos: rest % dayUs * 1000}
}

func evalToChar(_ *expr.Env, args []*vec.Vector, n int, out *vec.Vector) error {
	us, format := longs(args[0]), textsOf(args[1])
	for i := range n {
		if us.at(i) > math.MaxInt64/2 || us.at(i) < math.MinInt64/2 {
			return kernel.OutOfRange("the timestamp", args[0].Type)
		}
		out.Strings.Set(i, toChar(us.at(i), format.at(i)))
	}
	return nil
}

// charCodes are to_char's codes, longer ones before their prefixes.
var charCodes = []struct {
	code string
	show func(t time.Time, us int64) string
}{
	{"YYYY", func(t time.Time, _ int64) string { return fmt.Sprintf("%04d", t.Year()) }},
	{"YY", func(t time.Time, _ int64) string { return fmt.Sprintf("%02d", t.Year()%100) }},
	{"Month", func(t time.Time, _ int64) string { return t.Month().String() }},
	{"MONTH", func(t time.Time, _ int64) string { return strings.ToUpper(t.Month().String()) }},
	{"month", func(t time.Time, _ int64) string { return strings.ToLower(t.Month().String()) }},
	{"Mon", func(t time.Time, _ int64) string { return t.Format("Jan") }},
	{"MON", func(t time.Time, _ int64) string { return strings.ToUpper(t.Format("Jan")) }},
	{"mon", func(t time.Time, _ int64) string { return strings.ToLower(t.Format("Jan")) }},
	{"MM", func(t time.Time, _ int64) string { return t.Format("01") }},
	{"MI", func(t time.Time, _ int64) string { return t.Format("04") }},
	{"MS", func(_ time.Time, us int64) string { return fmt.Sprintf("%03d", mod(us, secondUs)/1000) }},
	{"US", func(_ time.Time, us int64) string { return fmt.Sprintf("%06d", mod(us, secondUs)) }},
	{"DDD", func(t time.Time, _ int64) string { return fmt.Sprintf("%03d", t.YearDay()) }},
	{"DD", func(t time.Time, _ int64) string { return t.Format("02") }},
	{"Day", func(t time.Time, _ int64) string { return t.Weekday().String() }},
	{"DAY", func(t time.Time, _ int64) string { return strings.ToUpper(t.Weekday().String()) }},
	{"Dy", func(t time.Time, _ int64) string { return t.Format("Mon") }},
	{"DY", func(t time.Time, _ int64) string { return strings.ToUpper(t.Format("Mon")) }},
	{"HH24", func(t time.Time, _ int64) string { return t.Format("15") }},
	{"HH12", func(t time.Time, _ int64) string { return t.Format("03") }},
	{"HH", func(t time.Time, _ int64) string { return t.Format("03") }},
	{"SSSS", func(_ time.Time, us int64) string { return fmt.Sprint(mod(us, dayUs) / secondUs) }},
	{"SS", func(t time.Time, _ int64) string { return t.Format("05") }},
	{"AM", func(t time.Time, _ int64) string { return t.Format("PM") }},
	{"PM", func(t time.Time, _ int64) string { return t.Format("PM") }},
	{"dy", func(t time.Time, _ int64) string { return strings.ToLower(t.Format("Mon")) }},
	{"day", func(t time.Time, _ int64) string { return strings.ToLower(t.Weekday().String()) }},
	{"am", func(t time.Time, _ int64) string { return t.Format("pm") }},
	{"pm", func(t time.Time, _ int64) string { return t.Format("pm") }},
	{"IYYY", func(_ time.Time, us int64) string { y, _ := isoWeek(us); return fmt.Sprintf("%04d", y) }},
	{"WW", func(t time.Time, _ int64) string { return fmt.Sprintf("%02d", (t.YearDay()-1)/7+1) }},
	{"CC", func(_ time.Time, us int64) string { return fmt.Sprintf("%02d", parts["century"](us)) }},
	{"FM", func(time.Time, int64) string { return "" }},
	{"D", func(_ time.Time, us int64) string { return fmt.Sprint(mod(weekday(us)+1, 7) + 1) }},
	{"J", func(_ time.Time, us int64) string { return fmt.Sprint(parts["julian"](us)) }},
	{"IW", func(_ time.Time, us int64) string { _, w := isoWeek(us); return fmt.Sprintf("%02d", w) }},
	{"ID", func(_ time.Time, us int64) string { return fmt.Sprint(weekday(us) + 1) }},
	{"Q", func(t time.Time, _ int64) string { return fmt.Sprint((int(t.Month()) + 2) / 3) }},
}

// toChar replaces codes, keeps text in double quotes and everything else as it is.
func toChar(us int64, format string) string {
	t := time.UnixMicro(us).UTC()
	var b strings.Builder
next:
	for format != "" {
		if format[0] == '"' {
			text, rest, _ := strings.Cut(format[1:], `"`)
			b.WriteString(text)
			format = rest
			continue
		}
		for _, c := range charCodes {
			if strings.HasPrefix(format, c.code) {
				b.WriteString(c.show(t, us))
				format = format[len(c.code):]
				continue next
			}
		}
		b.WriteByte(format[0])
		format = format[1:]
	}
	return b.String()
}
