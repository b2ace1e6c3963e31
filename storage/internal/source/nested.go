package source

import (
	"time"

	"github.com/tidwall/gjson"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

// endOfDay is 24:00:00 in microseconds.
const endOfDay = 86_400_000_000

// clockOf reads a time of the day: HH:MM[:SS[.fraction]].
func clockOf(r gjson.Result, t types.Type) (int64, error) {
	if r.Type == gjson.String {
		if r.Str == "24:00:00" {
			return endOfDay, nil
		}
		for _, layout := range []string{"15:04:05.999999999", "15:04"} {
			if at, err := time.Parse(layout, r.Str); err == nil {
				return int64(at.Sub(time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC)) / time.Microsecond), nil
			}
		}
	}
	return 0, fail.New(fail.InvalidDatetime, "%s is not a %s", clip(r.Raw), t).WithHint("Write it as \"12:30:00\".")
}

// structOf reads an object. Members are fields of exactly their name; an absent
// one is NULL, others are left out.
func structOf(r gjson.Result, t types.Type) (vec.Value, error) {
	v := vec.Value{Type: t, List: make([]vec.Value, len(t.Fields))}
	if !r.IsObject() {
		return v, want(r, t, false)
	}
	members := make(map[string]gjson.Result, len(t.Fields))
	r.ForEach(func(key, val gjson.Result) bool {
		members[key.String()] = val
		return true
	})
	for i, f := range t.Fields {
		var err error
		if v.List[i], err = valueOf(members[f.Name], f.Type); err != nil {
			return v, fail.Wrap(fail.CodeOf(err), err, "%q", f.Name)
		}
	}
	return v, nil
}

// mapOf reads an object, or an array of {"key": …, "value": …}.
func mapOf(r gjson.Result, t types.Type) (vec.Value, error) {
	v := vec.Value{Type: t}
	var err error
	switch {
	case r.IsArray():
		for _, e := range r.Array() {
			entry, err := structOf(e, *t.Elem)
			if err != nil {
				return v, err
			}
			v.List = append(v.List, entry)
		}
	case r.IsObject() && t.Key().Kind == types.Text:
		r.ForEach(func(key, val gjson.Result) bool {
			entry := vec.Value{Type: *t.Elem, List: []vec.Value{vec.Text(key.String()), {}}}
			entry.List[1] = vec.Null(t.Value())
			if val.Type != gjson.Null { // as in a list, null is NULL, of JSON too
				entry.List[1], err = valueOf(val, t.Value())
			}
			v.List = append(v.List, entry)
			return err == nil
		})
	default:
		return v, want(r, t, false)
	}
	if err != nil {
		return v, err
	}
	return v, vec.CheckEntries(v.List)
}
