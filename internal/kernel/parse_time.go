package kernel

import (
	"strconv"
	"strings"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

// DaysOf is the number of days from 1970-01-01 to a date of the proleptic
// Gregorian calendar (H. Hinnant, chrono-compatible low-level date algorithms).
func DaysOf(year int64, month, day int) int64 {
	if month <= 2 {
		year--
	}
	era := FloorDiv(year, 400)
	yoe := year - era*400
	m := int64((month + 9) % 12)
	doy := (153*m+2)/5 + int64(day) - 1
	doe := yoe*365 + yoe/4 - yoe/100 + doy
	return era*146097 + doe - 719468
}

// DateOf is the inverse of DaysOf.
func DateOf(days int64) (year int64, month, day int) {
	days += 719468
	era := FloorDiv(days, 146097)
	doe := days - era*146097
	yoe := (doe - doe/1460 + doe/36524 - doe/146096) / 365
	doy := doe - (365*yoe + yoe/4 - yoe/100)
	mp := (5*doy + 2) / 153
	day = int(doy - (153*mp+2)/5 + 1)
	month = int((mp+2)%12) + 1
	year = yoe + era*400
	if month <= 2 {
		year++
	}
	return year, month, day
}

// DaysIn is the number of days of a month.
func DaysIn(year int64, month int) int {
	switch month {
	case 4, 6, 9, 11:
		return 30
	case 2:
		if year%4 == 0 && (year%100 != 0 || year%400 == 0) {
			return 29
		}
		return 28
	}
	return 31
}

func invalidTime(s string, k types.Kind) error {
	hint := "2024-12-31"
	switch k {
	case types.Time:
		hint = "23:59:59.123456"
	case types.Timestamp:
		hint = "2024-12-31 23:59:59.123456, with T and Z or +01:00 if wanted"
	}
	return fail.New(fail.InvalidDatetime, "%s is not a valid %s", quote(s), types.Of(k)).WithHint("Write it as %s.", hint)
}

// scanner reads digits from the front of a time text.
type scanner struct{ s string }

func (p *scanner) number(least, most int) (int, bool) {
	i := 0
	for i < len(p.s) && i < most && p.s[i] >= '0' && p.s[i] <= '9' {
		i++
	}
	if i < least {
		return 0, false
	}
	n, err := strconv.Atoi(p.s[:i])
	p.s = p.s[i:]
	return n, err == nil
}

func (p *scanner) accept(set string) bool {
	if p.s != "" && strings.IndexByte(set, p.s[0]) >= 0 {
		p.s = p.s[1:]
		return true
	}
	return false
}

// date reads YYYY-MM-DD (also with slashes) as days.
func (p *scanner) date() (int64, bool) {
	y, ok := p.number(4, 6)
	if !ok || !p.accept("-/") {
		return 0, false
	}
	m, ok := p.number(1, 2)
	if !ok || !p.accept("-/") {
		return 0, false
	}
	d, ok := p.number(1, 2)
	if !ok || y < 1 || m < 1 || m > 12 || d < 1 || d > DaysIn(int64(y), m) {
		return 0, false
	}
	return DaysOf(int64(y), m, d), true
}

// clock reads HH:MM[:SS[.fraction]] as microseconds; up to 9 fraction digits,
// those past the sixth are cut off. 24:00:00 is the end of the day.
func (p *scanner) clock() (int64, bool) {
	h, ok := p.number(1, 2)
	if !ok || !p.accept(":") {
		return 0, false
	}
	m, ok := p.number(2, 2)
	if !ok {
		return 0, false
	}
	sec, frac := 0, int64(0)
	if p.accept(":") {
		if sec, ok = p.number(2, 2); !ok {
			return 0, false
		}
		if p.accept(".,") {
			if frac, ok = p.fraction(); !ok {
				return 0, false
			}
		}
	}
	us := (int64(h)*3600+int64(m)*60+int64(sec))*1_000_000 + frac
	return us, h <= 24 && m <= 59 && sec <= 59 && us <= MicrosPerDay
}

func (p *scanner) fraction() (int64, bool) {
	before := p.s
	_, ok := p.number(1, 9)
	digits := before[:len(before)-len(p.s)]
	us, _ := strconv.ParseInt((digits + "000000")[:6], 10, 64)
	return us, ok
}

// zone reads Z, UTC or an offset ±HH[[:]MM] as microseconds east of UTC.
func (p *scanner) zone() (int64, bool) {
	p.s = strings.TrimSpace(p.s)
	switch strings.ToUpper(p.s) {
	case "", "Z", "UTC", "GMT":
		p.s = ""
		return 0, true
	}
	neg := p.s[0] == '-'
	if !p.accept("+-") {
		return 0, false
	}
	h, ok := p.number(2, 2)
	m := 0
	if ok && p.s != "" {
		p.accept(":")
		m, ok = p.number(2, 2)
	}
	if !ok || p.s != "" || h > 18 || m > 59 {
		return 0, false
	}
	us := int64(h*3600+m*60) * 1_000_000
	if neg {
		us = -us
	}
	return us, true
}

// ParseDate reads an ISO date as days since the epoch; a time behind it is cut off.
func ParseDate(s string) (int32, error) {
	p := scanner{strings.TrimSpace(s)}
	days, ok := p.date()
	if ok && p.s != "" {
		if us, err := ParseTimestamp(s); err == nil {
			return int32(FloorDiv(us, MicrosPerDay)), nil
		}
		ok = false
	}
	if !ok {
		return 0, invalidTime(s, types.Date)
	}
	return int32(days), nil
}

// ParseTimestamp reads an ISO date or date and time, separated by T or space, as
// microseconds since the epoch. With an offset it is that instant, without one UTC.
func ParseTimestamp(s string) (int64, error) {
	p := scanner{strings.TrimSpace(s)}
	days, ok := p.date()
	if !ok {
		return 0, invalidTime(s, types.Timestamp)
	}
	us := int64(0)
	if p.s != "" {
		if ok = p.accept("Tt "); ok {
			p.s = strings.TrimLeft(p.s, " ")
			us, ok = p.clock()
		}
		if ok {
			var east int64
			east, ok = p.zone()
			us -= east
		}
	}
	day, fits := DateToMicros(int32(days))
	if !ok {
		return 0, invalidTime(s, types.Timestamp)
	}
	sum := day + us
	if !fits || (sum < day) != (us < 0) {
		return 0, OutOfRange(quote(s), types.Of(types.Timestamp))
	}
	return sum, nil
}

// ParseTime reads HH:MM[:SS[.fraction]], also with AM or PM, as microseconds
// since midnight; of a timestamp it is the time of the day.
func ParseTime(s string) (int64, error) {
	p := scanner{strings.TrimSpace(s)}
	us, ok := p.clock()
	half := strings.ToLower(strings.TrimSpace(p.s))
	switch {
	case ok && half == "":
		return us, nil
	case ok && (half == "am" || half == "pm") && us >= microsPerHour && us < 13*microsPerHour:
		us %= 12 * microsPerHour
		if half == "pm" {
			us += 12 * microsPerHour
		}
		return us, nil
	}
	at, err := ParseTimestamp(s)
	if err != nil {
		return 0, invalidTime(s, types.Time)
	}
	return ClockOf(at), nil
}

const microsPerHour = 3_600_000_000

// ClockOf is the time of the day of a timestamp, or of a time that ran over midnight.
func ClockOf(us int64) int64 { return us - FloorDiv(us, MicrosPerDay)*MicrosPerDay }

// spanUnits maps a unit's names to months, days or nanoseconds of one.
var spanUnits = func() map[string]vec.Span {
	units := map[string]vec.Span{}
	add := func(s vec.Span, names ...string) {
		for _, n := range names {
			units[n] = s
		}
	}
	add(vec.Span{Months: 1200}, "century", "centuries", "c")
	add(vec.Span{Months: 120}, "decade", "decades")
	add(vec.Span{Months: 12}, "year", "years", "y", "yr", "yrs")
	add(vec.Span{Months: 3}, "quarter", "quarters")
	add(vec.Span{Months: 1}, "month", "months", "mon", "mons")
	add(vec.Span{Days: 7}, "week", "weeks", "w")
	add(vec.Span{Days: 1}, "day", "days", "d")
	add(vec.Span{Nanos: 3_600_000_000_000}, "hour", "hours", "h", "hr", "hrs")
	add(vec.Span{Nanos: 60_000_000_000}, "minute", "minutes", "min", "mins", "m")
	add(vec.Span{Nanos: 1_000_000_000}, "second", "seconds", "sec", "secs", "s")
	add(vec.Span{Nanos: 1_000_000}, "millisecond", "milliseconds", "ms", "msec", "msecs")
	add(vec.Span{Nanos: 1_000}, "microsecond", "microseconds", "us", "usec", "usecs")
	add(vec.Span{Nanos: 1}, "nanosecond", "nanoseconds", "ns")
	return units
}()

// SpanUnit is the interval of one unit, by its name in any case.
func SpanUnit(name string) (vec.Span, bool) {
	s, ok := spanUnits[strings.ToLower(name)]
	return s, ok
}

// ParseInterval reads "1 year 2 mons -3 days 04:05:06.5", "90 minutes", "1 day
// ago" and ISO 8601 durations. A fraction of a month is days of 30 to the month,
// a fraction of a day is hours.
func ParseInterval(s string) (vec.Span, error) {
	bad := fail.New(fail.InvalidDatetime, "%s is not a valid INTERVAL", quote(s)).
		WithHint("Write it as '1 day 02:03:04' or '90 minutes'.")
	text := strings.ToLower(strings.TrimSpace(s))
	if text == "" {
		return vec.Span{}, bad
	}
	var acc spanAcc
	var ok bool
	switch text[0] {
	case 'p':
		ok = acc.iso(text[1:])
	default:
		ok = acc.words(strings.Fields(splitUnits(text)))
	}
	out, fits := acc.span()
	if !ok {
		return vec.Span{}, bad
	}
	if !fits {
		return vec.Span{}, OutOfRange(quote(s), types.Of(types.Interval))
	}
	return out, nil
}

// splitUnits puts a space between numbers and the units that touch them.
func splitUnits(s string) string {
	var b strings.Builder
	for i := range len(s) {
		if i > 0 && isDigit(s[i-1]) && isLetter(s[i]) || i > 0 && isLetter(s[i-1]) && isDigit(s[i]) {
			b.WriteByte(' ')
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

func isLetter(c byte) bool { return c >= 'a' && c <= 'z' }

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// spanAcc sums the parts of an interval; months, days and seconds may be fractional.
type spanAcc struct {
	months, days int64
	nanos        int64
	over         bool
}

func (a *spanAcc) words(words []string) bool {
	for len(words) > 0 {
		w := words[0]
		if w == "ago" && len(words) == 1 {
			a.months, a.days, a.nanos = -a.months, -a.days, -a.nanos
			return true
		}
		if strings.LastIndexByte(w, '-') > 0 && a.yearMonth(w) {
			words = words[1:]
			continue
		}
		if len(words) > 1 && strings.Contains(words[1], ":") && !strings.Contains(w, ":") && a.add(w, spanUnits["day"]) { // the standard's '3 04:05:06'
			words = words[1:]
			continue
		}
		if strings.Contains(w, ":") {
			if !a.clock(w) {
				return false
			}
			words = words[1:]
			continue
		}
		unit := vec.Span{Nanos: 1_000_000_000} // a bare number is seconds
		rest := words[1:]
		if len(rest) > 0 && rest[0] != "ago" {
			var ok bool
			if unit, ok = spanUnits[rest[0]]; !ok {
				return false
			}
			rest = rest[1:]
		}
		if !a.add(w, unit) {
			return false
		}
		words = rest
	}
	return true
}

// yearMonth adds the standard's [-]Y-M.
func (a *spanAcc) yearMonth(w string) bool {
	sign := ""
	if w[0] == '-' || w[0] == '+' {
		sign, w = w[:1], w[1:]
	}
	years, months, _ := strings.Cut(w, "-")
	m, err := strconv.Atoi(months)
	if err != nil || m > 11 || strings.Trim(years+months, "0123456789") != "" || years == "" {
		return false
	}
	return a.add(sign+years, spanUnits["year"]) && a.add(sign+months, spanUnits["month"])
}

// clock adds [-]HH:MM[:SS[.fraction]]; hours may exceed 24.
func (a *spanAcc) clock(w string) bool {
	neg := strings.HasPrefix(w, "-")
	parts := strings.Split(strings.TrimLeft(w, "+-"), ":")
	if len(parts) > 3 || len(parts) < 2 {
		return false
	}
	before := *a
	a.months, a.days, a.nanos = 0, 0, 0
	for i, unit := range []string{"hour", "minute", "second"}[:len(parts)] {
		if parts[i] == "" || !isDigit(parts[i][0]) || !a.add(parts[i], spanUnits[unit]) {
			return false
		}
	}
	if neg {
		a.nanos = -a.nanos
	}
	a.months, a.days = before.months, before.days
	a.nanos += before.nanos
	return true
}

// iso adds the parts of an ISO 8601 duration without its P.
func (a *spanAcc) iso(s string) bool {
	date, clock, hasClock := strings.Cut(s, "t")
	units := map[byte]string{'y': "year", 'm': "month", 'w': "week", 'd': "day"}
	if date == "" && clock == "" || !a.isoPart(date, units) {
		return false
	}
	return !hasClock || a.isoPart(clock, map[byte]string{'h': "hour", 'm': "minute", 's': "second"})
}

func (a *spanAcc) isoPart(s string, units map[byte]string) bool {
	start := 0
	for i := range len(s) {
		if isDigit(s[i]) || strings.IndexByte("+-.", s[i]) >= 0 {
			continue
		}
		unit, ok := units[s[i]]
		if !ok || !a.add(s[start:i], spanUnits[unit]) {
			return false
		}
		start = i + 1
	}
	return start == len(s)
}

// add adds number times unit, exactly to 9 fraction digits.
func (a *spanAcc) add(number string, unit vec.Span) bool {
	const one = 1_000_000_000
	neg := strings.HasPrefix(number, "-")
	whole, frac, _ := strings.Cut(strings.TrimLeft(number, "+-"), ".")
	if whole+frac == "" || strings.Trim(whole+frac, "0123456789") != "" || len(frac) > 9 {
		return false
	}
	if whole == "" {
		whole = "0"
	}
	n, err := strconv.ParseInt(whole, 10, 64)
	if err != nil {
		a.over = true
		return true
	}
	f, _ := strconv.ParseInt((frac + "000000000")[:9], 10, 64)
	if neg {
		n, f = -n, -f
	}
	switch {
	case unit.Months > 0:
		m := f * int64(unit.Months) // in 1/one months
		a.months += a.times(n, int64(unit.Months)) + m/one
		d := m % one * 30
		a.days += d / one
		a.nanos += d % one * 86_400
	case unit.Days > 0:
		d := f * int64(unit.Days)
		a.days += a.times(n, int64(unit.Days)) + d/one
		a.nanos += d % one * 86_400
	default:
		a.nanos += a.times(n, unit.Nanos) + int64(float64(f)*(float64(unit.Nanos)/one))
	}
	return true
}

// times multiplies and notes an overflow.
func (a *spanAcc) times(n, unit int64) int64 {
	p := n * unit
	if p/unit != n || p > 1<<62 || p < -1<<62 {
		a.over = true
		return 0
	}
	return p
}

func (a *spanAcc) span() (vec.Span, bool) {
	s := vec.Span{Months: int32(a.months), Days: int32(a.days), Nanos: a.nanos}
	return s, !a.over && int64(s.Months) == a.months && int64(s.Days) == a.days
}
