package loam

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/schema"
	"github.com/loamdb/loam/storage/collection"
)

// objectOptions are the WITH options of collections, tables and streams that set
// budgets; each reads its value into the options of storage.
var objectOptions = map[string]func(o *collection.Options, value string) error{
	"batch_interval":        func(o *collection.Options, v string) error { return readDuration(v, &o.BatchInterval) },
	"max_batch_interval":    func(o *collection.Options, v string) error { return readDuration(v, &o.MaxBatchInterval) },
	"batch_bytes":           func(o *collection.Options, v string) error { return readBytes(v, &o.ApplyBytes) },
	"batch_rows":            func(o *collection.Options, v string) error { return readCount(v, &o.ApplyRows) },
	"max_splits":            func(o *collection.Options, v string) error { return readCount(v, &o.MaxSplits) },
	"min_fragment":          func(o *collection.Options, v string) error { return readBytes(v, &o.MinFragment) },
	"max_unapplied_records": func(o *collection.Options, v string) error { return readBytes(v, &o.MaxUnappliedRecords) },
	"max_unapplied_bytes":   func(o *collection.Options, v string) error { return readBytes(v, &o.MaxUnappliedBytes) },
	"time_travel":           func(o *collection.Options, v string) error { return readPeriod(v, &o.TimeTravel) },
	"max_tags":              func(o *collection.Options, v string) error { return readTags(v, &o.MaxTags) },
	"retention":             func(o *collection.Options, v string) error { return readRetention(v, &o.Retention) },
	"retention_bytes":       func(o *collection.Options, v string) error { return readBytes(v, &o.RetentionBytes) },
	"max_record_bytes":      func(o *collection.Options, v string) error { return readRecordBytes(v, &o.MaxRecordBytes) },
}

// onlyOf are those of objectOptions that one kind has.
var onlyOf = map[string]schema.Kind{
	"retention": schema.Stream, "retention_bytes": schema.Stream, "max_record_bytes": schema.Stream,
	"min_fragment": schema.Collection,
}

// optionNames are the options that a kind has.
func optionNames(kind schema.Kind) []string {
	names := append(slices.Collect(maps.Keys(objectOptions)), "partitions")
	switch kind {
	case schema.Collection:
		names = append(names, "dynamic")
	case schema.Stream:
		names = append(names, "key")
	}
	names = slices.DeleteFunc(names, func(n string) bool { return onlyOf[n] != "" && onlyOf[n] != kind })
	slices.Sort(names)
	return names
}

// noOption is the error for an option that a thing does not have.
func noOption(thing, name string, known []string) error {
	err := fail.New(fail.InvalidParameter, "%s: there is no option %q", thing, name)
	if near := fail.Closest(name, known); near != "" {
		return err.WithHint("Did you mean %s?", near)
	}
	return err.WithHint("Options are %s.", strings.Join(known, ", "))
}

// optionsOf are an object's budgets: the engine's, changed by its WITH options.
// Errors: fail.InvalidParameter naming the option.
func (e *Engine) optionsOf(obj *schema.Object) (collection.Options, error) {
	out := e.cfg.Collection
	for name, value := range obj.Options {
		read := objectOptions[strings.ToLower(name)]
		known := optionNames(obj.Kind)
		if read == nil || !slices.Contains(known, strings.ToLower(name)) {
			if read != nil {
				kind := onlyOf[strings.ToLower(name)]
				return out, fail.New(fail.InvalidParameter, "%s %s: %s is an option of %ss", obj.Kind, obj.Name, name, kind).
					WithHint("CREATE %s makes one.", strings.ToUpper(string(kind)))
			}
			return out, noOption(fmt.Sprintf("%s %s", obj.Kind, obj.Name), name, known)
		}
		if err := read(&out, value); err != nil {
			return out, fail.New(fail.InvalidParameter, "%s %s: option %s: %s", obj.Kind, obj.Name, name, err.Error())
		}
	}
	return out, nil
}

func readDuration(v string, to *time.Duration) (err error) {
	*to, err = schema.ParseDuration(v)
	return err
}

func readBytes(v string, to *int64) (err error) {
	*to, err = schema.ParseBytes(v)
	return err
}

// readRetention reads a duration that may be long: '7d', '36h', '1 week'; '0' or
// 'forever' keeps everything.
func readRetention(v string, to *time.Duration) error {
	text := strings.ToLower(strings.TrimSpace(v))
	if text == "0" || text == "forever" {
		*to = 0
		return nil
	}
	at := strings.IndexFunc(text, func(r rune) bool { return r < '0' || r > '9' })
	bad := fail.New(fail.InvalidParameter, "%q is not a duration from 1s to 36500d, such as '36h' or '7d', nor 'forever'", v)
	if at < 1 {
		return bad
	}
	n, err := strconv.ParseInt(text[:at], 10, 64)
	unit, ok := retentionUnits[strings.TrimSpace(text[at:])]
	if err != nil || !ok || n < 1 || n > int64(maxRetention/unit) {
		return bad
	}
	*to = time.Duration(n) * unit
	return nil
}

const maxRetention = 36500 * 24 * time.Hour

var retentionUnits = map[string]time.Duration{
	"s": time.Second, "second": time.Second, "seconds": time.Second,
	"m": time.Minute, "min": time.Minute, "minute": time.Minute, "minutes": time.Minute,
	"h": time.Hour, "hour": time.Hour, "hours": time.Hour,
	"d": 24 * time.Hour, "day": 24 * time.Hour, "days": 24 * time.Hour,
	"w": 7 * 24 * time.Hour, "week": 7 * 24 * time.Hour, "weeks": 7 * 24 * time.Hour,
}

// readRecordBytes reads the limit of one record.
func readRecordBytes(v string, to *int64) error {
	var n int64
	if err := readBytes(v, &n); err != nil {
		return err
	}
	if n > maxRecordBytes {
		return fail.New(fail.InvalidParameter, "%q is above the limit of %d MiB a record", v, maxRecordBytes>>20)
	}
	*to = n
	return nil
}

// maxRecordBytes is the largest limit of one record.
const maxRecordBytes = 64 << 20

func readCount(v string, to *int) error {
	n, err := strconv.Atoi(v)
	if err != nil || n < 1 || n > 1<<30 {
		return fail.New(fail.InvalidParameter, "%q is not a number from 1 to %d", v, 1<<30)
	}
	*to = n
	return nil
}
