package loam

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/schema"
	"github.com/loamdb/loam/storage/collection"
)

// objectOptions are the WITH options of collections and tables that set budgets;
// each reads its value into the options of storage.
var objectOptions = map[string]func(o *collection.Options, value string) error{
	"batch_interval":        func(o *collection.Options, v string) error { return readDuration(v, &o.BatchInterval) },
	"max_batch_interval":    func(o *collection.Options, v string) error { return readDuration(v, &o.MaxBatchInterval) },
	"batch_bytes":           func(o *collection.Options, v string) error { return readBytes(v, &o.ApplyBytes) },
	"batch_rows":            func(o *collection.Options, v string) error { return readCount(v, &o.ApplyRows) },
	"max_splits":            func(o *collection.Options, v string) error { return readCount(v, &o.MaxSplits) },
	"max_unapplied_records": func(o *collection.Options, v string) error { return readBytes(v, &o.MaxUnappliedRecords) },
	"max_unapplied_bytes":   func(o *collection.Options, v string) error { return readBytes(v, &o.MaxUnappliedBytes) },
}

// optionsOf are an object's budgets: the engine's, changed by its WITH options.
// Errors: fail.InvalidParameter naming the option.
func (e *Engine) optionsOf(obj *schema.Object) (collection.Options, error) {
	out := e.cfg.Collection
	for name, value := range obj.Options {
		read := objectOptions[strings.ToLower(name)]
		if read == nil {
			known := slices.Sorted(maps.Keys(objectOptions))
			err := fail.New(fail.InvalidParameter, "%s %s: there is no option %q", obj.Kind, obj.Name, name)
			if near := fail.Closest(name, known); near != "" {
				return out, err.WithHint("Did you mean %s?", near)
			}
			return out, err.WithHint("Options are partitions, dynamic, %s.", strings.Join(known, ", "))
		}
		if err := read(&out, value); err != nil {
			return out, fail.New(fail.InvalidParameter, "%s %s: option %s: %s", obj.Kind, obj.Name, name, err.Error())
		}
	}
	return out, nil
}

func readDuration(v string, to *time.Duration) error {
	d, err := time.ParseDuration(v)
	if err != nil || d < 10*time.Millisecond || d > time.Hour {
		return fail.New(fail.InvalidParameter, "%q is not a duration from 10ms to 1h, such as '2s'", v)
	}
	*to = d
	return nil
}

func readCount(v string, to *int) error {
	n, err := strconv.Atoi(v)
	if err != nil || n < 1 || n > 1<<30 {
		return fail.New(fail.InvalidParameter, "%q is not a number from 1 to %d", v, 1<<30)
	}
	*to = n
	return nil
}

var byteUnits = []struct {
	suffix string
	factor int64
}{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"", 1}}

// readBytes reads a number with an optional unit, such as '64MiB'.
func readBytes(v string, to *int64) error {
	for _, u := range byteUnits {
		digits, ok := strings.CutSuffix(strings.TrimSpace(v), u.suffix)
		if !ok {
			continue
		}
		n, err := strconv.ParseInt(strings.TrimSpace(digits), 10, 64)
		if err == nil && n > 0 && n <= (1<<50)/u.factor {
			*to = n * u.factor
			return nil
		}
	}
	return fail.New(fail.InvalidParameter, "%q is not a positive number, such as 1000 or '64MiB'", v)
}
