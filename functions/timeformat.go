package functions

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/kernel"
	"github.com/loamdb/loam/internal/vec"
)

// formatTable holds the conversions between times and texts by a format: C's
// with %, or PostgreSQL's with letters.
var formatTable = []def{
	{names: "strftime", help: "formatted by C's codes: %Y %m %d %H %M %S %f (microseconds) %g (milliseconds) %j %a %A %b %B %p %I %y %u %w %V %G %U %W %e %z %Z %s %F %T %D %R %c %x %X %%; %-d leaves zeros out", sigs: []sig{
		{in: "timestamp, text", ret: "text", eval: evalStrftime},
		{in: "text, timestamp", ret: "text", eval: func(env *expr.Env, args []*vec.Vector, n int, out *vec.Vector) error {
			return evalStrftime(env, []*vec.Vector{args[1], args[0]}, n, out)
		}},
	}},
	{names: "strptime", help: "read by C's codes, as in strftime", sigs: []sig{{in: "text, text", ret: "timestamp", eval: parsedBy(cCodes, false)}}},
	{names: "try_strptime", help: "strptime, NULL where the text does not fit", sigs: []sig{{in: "text, text", ret: "timestamp", eval: parsedBy(cCodes, true)}}},
}

// item is one piece of a format: text that stands for itself, or a code.
type item struct {
	literal string
	// code is one of C's letters; bare leaves leading zeros out.
	code byte
	bare bool
}

// shorthands are the codes that stand for several.
var shorthands = map[byte]string{'F': "%Y-%m-%d", 'T': "%H:%M:%S", 'D': "%m/%d/%y", 'R': "%H:%M", 'c': "%a %b %e %H:%M:%S %Y", 'x': "%m/%d/%y", 'X': "%H:%M:%S", 'h': "%b"}

// cCodes reads a format of C.
func cCodes(format string) ([]item, error) {
	var out []item
	for format != "" {
		text, rest, found := strings.Cut(format, "%")
		if text != "" {
			out = append(out, item{literal: text})
		}
		if !found {
			break
		}
		bare := strings.HasPrefix(rest, "-")
		if bare {
			rest = rest[1:]
		}
		if rest == "" {
			return nil, badTimeFormat("%")
		}
		code := rest[0]
		format = rest[1:]
		switch {
		case code == '%':
			out = append(out, item{literal: "%"})
		case shorthands[code] != "":
			inner, err := cCodes(shorthands[code])
			if err != nil {
				return nil, err
			}
			out = append(out, inner...)
		case strings.IndexByte("YmdHMSfgnjaAbBpIyuwVGUWezZs", code) >= 0:
			out = append(out, item{code: code, bare: bare})
		default:
			return nil, badTimeFormat("%" + string(code))
		}
	}
	return out, nil
}

func badTimeFormat(code string) error {
	return fail.New(fail.InvalidParameter, "the time format has the unknown code %q", code).WithHint("SELECT description FROM system.functions WHERE name = 'strftime' lists them.")
}

// letterCodes reads a format of PostgreSQL as C's codes.
func letterCodes(format string) ([]item, error) {
	if strings.Contains(format, "%") {
		return cCodes(format)
	}
	var out []item
next:
	for format != "" {
		if format[0] == '"' {
			text, rest, _ := strings.Cut(format[1:], `"`)
			out, format = append(out, item{literal: text}), rest
			continue
		}
		format = strings.TrimPrefix(format, "FM")
		for _, c := range letterToC {
			if len(format) >= len(c.letters) && strings.EqualFold(format[:len(c.letters)], c.letters) {
				out, format = append(out, item{code: c.code}), format[len(c.letters):]
				continue next
			}
		}
		if format != "" {
			out, format = append(out, item{literal: format[:1]}), format[1:]
		}
	}
	return out, nil
}

// letterToC maps PostgreSQL's codes to C's, longer ones before their prefixes.
var letterToC = []struct {
	letters string
	code    byte
}{
	{"YYYY", 'Y'}, {"YY", 'y'}, {"MONTH", 'B'}, {"MON", 'b'}, {"MM", 'm'}, {"MI", 'M'}, {"MS", 'g'}, {"US", 'f'}, {"DDD", 'j'}, {"DD", 'd'},
	{"DAY", 'A'}, {"DY", 'a'}, {"HH24", 'H'}, {"HH12", 'I'}, {"HH", 'I'}, {"SS", 'S'}, {"AM", 'p'}, {"PM", 'p'}, {"TZH", 'z'}, {"TZ", 'z'},
}

// formatMemo keeps the last format of a run of rows.
type formatMemo struct {
	text  string
	items []item
}

func (m *formatMemo) get(text string, read func(string) ([]item, error)) ([]item, error) {
	if m.items != nil && m.text == text {
		return m.items, nil
	}
	items, err := read(strings.Clone(text))
	if err != nil {
		return nil, err
	}
	m.text, m.items = strings.Clone(text), items
	return items, nil
}

func evalStrftime(_ *expr.Env, args []*vec.Vector, n int, out *vec.Vector) error {
	us, format := longs(args[0]), textsOf(args[1])
	var memo formatMemo
	var b []byte
	for i := range n {
		items, err := memo.get(format.at(i), cCodes)
		if err != nil {
			return err
		}
		b = b[:0]
		for _, it := range items {
			b = it.show(b, us.at(i))
		}
		out.Strings.Set(i, string(b))
	}
	return nil
}

// show appends what the item shows of a time.
func (it item) show(b []byte, us int64) []byte {
	t := time.UnixMicro(us).UTC()
	switch it.code {
	case 0:
		return append(b, it.literal...)
	case 'a':
		return t.AppendFormat(b, "Mon")
	case 'A':
		return t.AppendFormat(b, "Monday")
	case 'b':
		return t.AppendFormat(b, "Jan")
	case 'B':
		return t.AppendFormat(b, "January")
	case 'p':
		return t.AppendFormat(b, "PM")
	case 'z':
		return append(b, "+00"...)
	case 'Z':
		return append(b, "UTC"...)
	case 'e':
		return fmt.Appendf(b, "%2d", t.Day())
	case 's':
		return strconv.AppendInt(b, parts["epoch"](us), 10)
	}
	value, width := it.number(t, us)
	if it.bare {
		width = 1
	}
	return fmt.Appendf(b, "%0*d", width, value)
}

// number is the value of a numeric code and the digits that it has at least.
func (it item) number(t time.Time, us int64) (value int64, width int) {
	switch it.code {
	case 'Y':
		return int64(t.Year()), 4
	case 'y':
		return mod(int64(t.Year()), 100), 2
	case 'm':
		return int64(t.Month()), 2
	case 'd':
		return int64(t.Day()), 2
	case 'H':
		return int64(t.Hour()), 2
	case 'I':
		return int64((t.Hour()+11)%12 + 1), 2
	case 'M':
		return int64(t.Minute()), 2
	case 'S':
		return int64(t.Second()), 2
	case 'f':
		return mod(us, secondUs), 6
	case 'g':
		return mod(us, secondUs) / 1000, 3
	case 'n':
		return mod(us, secondUs) * 1000, 9
	case 'j':
		return int64(t.YearDay()), 3
	case 'u':
		return weekday(us) + 1, 1
	case 'w':
		return mod(weekday(us)+1, 7), 1
	case 'U':
		return (int64(t.YearDay()) + 6 - mod(weekday(us)+1, 7)) / 7, 2
	case 'W':
		return (int64(t.YearDay()) + 6 - weekday(us)) / 7, 2
	}
	y, w := isoWeek(us)
	if it.code == 'G' {
		return y, 4
	}
	return w, 2
}

// parsedBy reads texts by a format; with try a text that does not fit is NULL.
func parsedBy(read func(string) ([]item, error), try bool) expr.EvalFunc {
	return func(_ *expr.Env, args []*vec.Vector, n int, out *vec.Vector) error {
		s, format := textsOf(args[0]), textsOf(args[1])
		var memo formatMemo
		for i := range n {
			items, err := memo.get(format.at(i), read)
			if err != nil {
				return err
			}
			us, ok := parseItems(items, s.at(i))
			switch {
			case ok:
				out.Int64s[i] = us
			case try:
				out.SetNull(i)
			default:
				return fail.New(fail.InvalidDatetime, "%.60q does not fit the time format %.60q", s.at(i), format.at(i))
			}
		}
		return nil
	}
}

// parsedDate is parsedBy for a DATE.
func parsedDate(read func(string) ([]item, error)) expr.EvalFunc {
	parse := parsedBy(read, false)
	return func(env *expr.Env, args []*vec.Vector, n int, out *vec.Vector) error {
		at := vec.NewFlat(typeNamed("timestamp"), n)
		if err := parse(env, args, n, at); err != nil {
			return err
		}
		for i, us := range at.Int64s {
			out.Int32s[i] = int32(kernel.FloorDiv(us, dayUs))
		}
		return nil
	}
}

// fields are the parts of a time that a format has read.
type fields struct {
	year            int64
	month, day, doy int
	hour, minute    int64
	second, micros  int64
	east            int64
	epoch           int64
	hasEpoch        bool
	twelve, pm      bool
}

func parseItems(items []item, s string) (int64, bool) {
	f := fields{year: 1970, month: 1, day: 1}
	s = strings.TrimSpace(s)
	for _, it := range items {
		var ok bool
		if s, ok = f.read(it, s); !ok {
			return 0, false
		}
	}
	return f.micro(s)
}

// micro is the time of the fields; nothing of the text may be left.
func (f *fields) micro(rest string) (int64, bool) {
	if strings.TrimSpace(rest) != "" {
		return 0, false
	}
	if f.hasEpoch {
		return f.epoch * secondUs, true
	}
	if f.twelve {
		if f.hour < 1 || f.hour > 12 {
			return 0, false
		}
		f.hour %= 12
		if f.pm {
			f.hour += 12
		}
	}
	days := kernel.DaysOf(f.year, f.month, f.day)
	if f.doy > 0 {
		days = kernel.DaysOf(f.year, 1, 1) + int64(f.doy) - 1
	} else if f.day > kernel.DaysIn(f.year, f.month) {
		return 0, false
	}
	if f.hour > 23 || f.minute > 59 || f.second > 59 {
		return 0, false
	}
	return days*dayUs + f.hour*hourUs + f.minute*minuteUs + f.second*secondUs + f.micros - f.east*secondUs, true
}

// read takes one item from the front of the text.
func (f *fields) read(it item, s string) (string, bool) {
	switch it.code {
	case 0:
		if strings.TrimSpace(it.literal) == "" {
			return strings.TrimLeft(s, " "), true
		}
		return strings.CutPrefix(s, it.literal)
	case 'b', 'B':
		return f.readName(s, 12, func(k int) string { return time.Month(k + 1).String() }, func(k int) { f.month = k + 1 })
	case 'a', 'A':
		return f.readName(s, 7, func(k int) string { return time.Weekday(k).String() }, func(int) {})
	case 'p':
		if len(s) < 2 || !strings.EqualFold(s[:2], "am") && !strings.EqualFold(s[:2], "pm") {
			return s, false
		}
		f.pm = s[0] == 'p' || s[0] == 'P'
		return s[2:], true
	case 'z', 'Z':
		return f.readZone(s)
	case 's':
		end := len(s)
		n, err := strconv.ParseInt(s, 10, 40)
		f.epoch, f.hasEpoch = n, true
		return s[end:], err == nil
	}
	return f.readNumber(it.code, s)
}

// readName takes the longest of the names, or its first three letters.
func (f *fields) readName(s string, count int, name func(int) string, set func(int)) (string, bool) {
	for k := range count {
		for _, n := range []string{name(k), name(k)[:3]} {
			if len(s) >= len(n) && strings.EqualFold(s[:len(n)], n) {
				set(k)
				return s[len(n):], true
			}
		}
	}
	return s, false
}

func (f *fields) readZone(s string) (string, bool) {
	for _, utc := range []string{"UTC", "GMT", "Z"} {
		if rest, ok := strings.CutPrefix(s, utc); ok {
			return rest, true
		}
	}
	for _, layout := range []string{"-07:00", "-0700", "-07"} {
		if len(s) < len(layout) {
			continue
		}
		if t, err := time.Parse(layout, s[:len(layout)]); err == nil {
			_, east := t.Zone()
			f.east = int64(east)
			return s[len(layout):], true
		}
	}
	return s, false
}

// widest are the digits that a numeric code takes at most.
var widest = map[byte]int{'Y': 4, 'j': 3, 'f': 6, 'g': 3, 'n': 9}

func (f *fields) readNumber(code byte, s string) (string, bool) {
	most := widest[code]
	if most == 0 {
		most = 2
	}
	s = strings.TrimLeft(s, " ")
	end := 0
	for end < len(s) && end < most && s[end] >= '0' && s[end] <= '9' {
		end++
	}
	n, err := strconv.ParseInt(s[:end], 10, 64)
	if err != nil {
		return s, false
	}
	ok := true
	switch code {
	case 'Y':
		f.year = n
	case 'y':
		f.year = 1900 + n
		if n < 69 {
			f.year = 2000 + n
		}
	case 'm':
		f.month, ok = int(n), n >= 1 && n <= 12
	case 'd', 'e':
		f.day, ok = int(n), n >= 1 && n <= 31
	case 'j':
		f.doy, ok = int(n), n >= 1 && n <= 366
	case 'H':
		f.hour = n
	case 'I':
		f.hour, f.twelve = n, true
	case 'M':
		f.minute = n
	case 'S':
		f.second = n
	case 'f', 'g', 'n': // a fraction: its digits count from the point
		for range 9 - end {
			n *= 10
		}
		f.micros = n / 1000
	default:
		ok = false
	}
	return s[end:], ok
}
