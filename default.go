package loam

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/plan"
	"github.com/loamdb/loam/internal/schema"
	"github.com/loamdb/loam/internal/vec"
)

// fillDefaults makes the values of the fields that a batch leaves out and that
// have a DEFAULT, for its upserts: a patch leaves them as they are. A key that a
// batch with deletes or patches lacks is not made up, for it names their rows.
func (s *Session) fillDefaults(ctx context.Context, obj *schema.Object, b *batch) error {
	b.defaults = make([]*vec.Vector, len(obj.Fields))
	if b.n == 0 || !slices.Contains(b.ops, opUpsert) {
		return nil
	}
	plain := !slices.ContainsFunc(b.ops, func(op rowOp) bool { return op != opUpsert })
	var at []int
	for i, f := range obj.Fields {
		if f.Default != "" && b.cols[i] == nil && (plain || !obj.IsKey(i)) {
			at = append(at, i)
		}
	}
	if len(at) == 0 {
		return nil
	}
	cols, err := s.defaults(ctx, obj, at, b.n)
	if err != nil {
		return err
	}
	for k, i := range at {
		b.defaults[i] = cols[k].Flatten()
	}
	return nil
}

// defaults evaluates the DEFAULTs of fields for n rows, as one statement does.
func (s *Session) defaults(ctx context.Context, obj *schema.Object, at []int, n int) ([]*vec.Vector, error) {
	list := make([]string, len(at))
	for k, i := range at {
		f := obj.Fields[i]
		list[k] = "CAST((" + f.Default + ") AS " + f.Type.String() + ")"
	}
	st, err := s.Prepare(ctx, "SELECT "+strings.Join(list, ", ")+" FROM generate_series(1, "+strconv.Itoa(n)+")", nil)
	if err != nil {
		return nil, defaultError(obj, err)
	}
	q, ok := st.prepared.Statement.(*plan.Query)
	if !ok {
		return nil, fail.Bug("the defaults of %s are no query", obj.QualifiedName())
	}
	pin, snaps, err := s.pin(ctx, q.Root)
	if err != nil {
		return nil, err
	}
	cols, _, err := st.collect(ctx, q.Root, pin, snaps)
	if err != nil {
		return nil, defaultError(obj, err)
	}
	return cols, nil
}

// defaultError says that a DEFAULT of an object failed, without the place in a
// text that the client does not see.
func defaultError(obj *schema.Object, err error) error {
	e := fail.As(err)
	if e.Code == fail.Internal || e.Code == fail.Canceled || e.Code == fail.Unavailable {
		return err
	}
	return fail.New(e.Code, "a DEFAULT of %s: %s", obj.QualifiedName(), e.Message).WithHint("Change it with ALTER … ALTER COLUMN … SET DEFAULT.")
}

// checkDefaults refuses documents without a member that has a DEFAULT: documents
// are kept as they are sent, so that nothing can be put into them.
func checkDefaults(obj *schema.Object, docs [][]byte) error {
	for _, f := range obj.Fields {
		if f.Default == "" {
			continue
		}
		for i, doc := range docs {
			var members map[string]json.RawMessage
			if json.Unmarshal(doc, &members) != nil {
				continue // whoever reads it says what is wrong
			}
			if _, ok := members[f.Name]; !ok {
				return fail.New(fail.Unsupported, "document %d has no member %q: the DEFAULT of a column is not put into documents, which are kept as they are sent", i+1, f.Name).
					WithHint("Send the member, or null; or send rows with INSERT or as record batches.")
			}
		}
	}
	return nil
}
