package load

import (
	"context"
	"fmt"
	"strings"

	"github.com/loamdb/loam"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/schema"
	"github.com/loamdb/loam/internal/types"
)

// target is the collection or table that is loaded.
type target struct {
	namespace, name string
	kind            schema.Kind
	dynamic         bool
	cols            []column
}

// column is a column of the target.
type column struct {
	name     string
	typ      types.Type
	notNull  bool
	key      int // position in the primary key, from 1, or 0
	fulltext string
	// fresh columns join a dynamic collection with this load.
	fresh bool
}

// isCollection reports whether rows have a key, so that sending them twice changes nothing.
func (t *target) isCollection() bool { return t.kind == schema.Collection }

// sql is the target's name as SQL writes it.
func (t *target) sql() string {
	if t.namespace == "public" {
		return loam.QuoteName(t.name)
	}
	return loam.QuoteName(t.namespace) + "." + loam.QuoteName(t.name)
}

// columnNames lists them for messages.
func (t *target) columnNames() []string {
	var out []string
	for _, c := range t.cols {
		out = append(out, c.name)
	}
	return out
}

// keys are the positions of the key's columns.
func (t *target) keys() []int {
	var out []int
	for k := 1; ; k++ {
		found := false
		for i, c := range t.cols {
			if c.key == k {
				out, found = append(out, i), true
			}
		}
		if !found {
			return out
		}
	}
}

// splitName reads ns.name or loam.ns.name; names in double quotes may hold dots.
func splitName(text, namespace string) (ns, name string, err error) {
	var parts []string
	rest := text
	for {
		part, more, ok := "", "", false
		if strings.HasPrefix(rest, `"`) {
			end := strings.Index(rest[1:], `"`)
			if end < 0 {
				return "", "", fail.New(fail.InvalidParameter, "the name %s has a quote that is not closed", text)
			}
			part, more = rest[1:end+1], rest[end+2:]
			more, ok = strings.CutPrefix(more, ".")
		} else {
			part, more, ok = strings.Cut(rest, ".")
		}
		parts = append(parts, part)
		if rest = more; !ok {
			break
		}
	}
	if len(parts) == 3 && strings.EqualFold(parts[0], "loam") {
		parts = parts[1:]
	}
	switch {
	case len(parts) > 2 || parts[0] == "" || parts[len(parts)-1] == "":
		return "", "", fail.New(fail.InvalidParameter, "%q is not the name of a collection or table", text).
			WithHint("Write name, or namespace.name. Files come behind it: loam load TARGET FILE…")
	case len(parts) == 2:
		return parts[0], parts[1], nil
	case namespace == "":
		namespace = "public"
	}
	return namespace, parts[0], nil
}

// describe asks the server for the target; nil when it is not there.
func describe(ctx context.Context, s Server, namespace, name string) (*target, error) {
	found, err := s.Query(ctx, fmt.Sprintf(`SELECT namespace, name, kind FROM system.tables
WHERE lower(namespace) = lower(%s) AND lower(name) = lower(%s)`, loam.QuoteText(namespace), loam.QuoteText(name)))
	if err != nil {
		return nil, err
	}
	row := pick(found, namespace, name)
	switch {
	case len(found) > 1 && row == nil:
		return nil, fail.New(fail.AmbiguousName, "%s.%s matches %d objects, which differ in case", namespace, name, len(found))
	case row == nil:
		return nil, nil
	}
	t := &target{namespace: row[0], name: row[1], kind: schema.Kind(row[2])}
	if t.kind != schema.Collection && t.kind != schema.Table {
		return nil, fail.New(fail.WrongObjectType, "%s is a %s", t.sql(), t.kind).WithHint("Rows are loaded into collections and tables.")
	}
	return t, t.readColumns(ctx, s)
}

// pick is the row whose names match exactly, or the only one.
func pick(found [][]string, namespace, name string) []string {
	for _, r := range found {
		if r[0] == namespace && r[1] == name {
			return r
		}
	}
	if len(found) == 1 {
		return found[0]
	}
	return nil
}

func (t *target) readColumns(ctx context.Context, s Server) error {
	found, err := s.Query(ctx, fmt.Sprintf(`SELECT "column", type, nullable, key_position, fulltext FROM system.columns
WHERE namespace = %s AND "table" = %s ORDER BY position`, loam.QuoteText(t.namespace), loam.QuoteText(t.name)))
	if err != nil {
		return err
	}
	for _, r := range found {
		typ, ok := types.Parse(r[1])
		if !ok {
			return fail.New(fail.Unsupported, "column %q of %s has the type %s, which this version of loam load does not know", r[0], t.sql(), r[1])
		}
		c := column{name: r[0], typ: typ, notNull: r[2] == "false", fulltext: r[4]}
		if r[3] != "" {
			_, _ = fmt.Sscan(r[3], &c.key)
		}
		t.cols = append(t.cols, c)
	}
	if !t.isCollection() {
		return nil
	}
	dynamic, err := s.Query(ctx, fmt.Sprintf(`SELECT dynamic FROM system.collections WHERE namespace = %s AND collection = %s`, loam.QuoteText(t.namespace), loam.QuoteText(t.name)))
	if err == nil && len(dynamic) == 1 {
		t.dynamic = dynamic[0][0] == "true"
	}
	return err
}

// similar suggests names of objects near a name that is not there.
func similar(ctx context.Context, s Server, namespace, name string) string {
	found, err := s.Query(ctx, "SELECT name FROM system.tables WHERE lower(namespace) = lower("+loam.QuoteText(namespace)+")")
	if err != nil {
		return ""
	}
	var names []string
	for _, r := range found {
		names = append(names, r[0])
	}
	return fail.Closest(name, names)
}
