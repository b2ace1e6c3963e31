package loam

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/plan"
	"github.com/loamdb/loam/internal/vec"
	"github.com/loamdb/loam/metastore"
)

// limits are what the options of a namespace say; zero values are no limits.
type limits struct {
	quota   int64 // bytes
	maxTags int
}

// namespaceOptions are the WITH options of namespaces; each reads its value.
var namespaceOptions = map[string]func(l *limits, value string) error{
	"storage_quota":           func(l *limits, v string) error { return readBytes(v, &l.quota) },
	"max_tags_per_collection": func(l *limits, v string) error { return readTags(v, &l.maxTags) },
}

// limitsOf reads the options of a namespace. Errors: fail.InvalidParameter naming the option.
func limitsOf(namespace string, options map[string]string) (limits, error) {
	var l limits
	for name, value := range options {
		read := namespaceOptions[name]
		if read == nil {
			return l, noOption("namespace "+namespace, name, slices.Sorted(maps.Keys(namespaceOptions)))
		}
		if err := read(&l, value); err != nil {
			return l, fail.New(fail.InvalidParameter, "namespace %s: option %s: %s", namespace, name, err.Error())
		}
	}
	return l, nil
}

func (e *Engine) createNamespace(ctx context.Context, x *plan.CreateNamespace) (*Result, error) {
	if _, err := limitsOf(x.Namespace, x.Options); err != nil {
		return nil, err
	}
	created, err := e.cat.CreateNamespace(ctx, x.Namespace, x.Options)
	if err != nil || created {
		return &Result{}, err
	}
	note := fmt.Sprintf("namespace %s exists already", x.Namespace)
	if !x.IfNotExists {
		return nil, fail.New(fail.DuplicateObject, "%s", note).WithHint("CREATE NAMESPACE IF NOT EXISTS accepts that.")
	}
	return &Result{Note: note}, nil
}

func (e *Engine) alterNamespace(ctx context.Context, x *plan.AlterNamespace) error {
	err := e.cat.SetNamespace(ctx, x.Namespace, func(options map[string]string) error {
		for _, o := range x.Options {
			if o.Value != nil {
				options[o.Name] = *o.Value
				continue
			}
			if namespaceOptions[o.Name] == nil {
				options[o.Name] = "" // to be named by the error
				continue
			}
			delete(options, o.Name)
		}
		_, err := limitsOf(x.Namespace, options)
		return err
	})
	e.quotas.again()
	return err
}

// maxTags is how many tags an object of a namespace may have, as the namespace says.
func (e *Engine) maxTags(ctx context.Context, namespace string) (int, error) {
	list, err := e.cat.Namespaces(ctx)
	if err != nil {
		return 0, err
	}
	for _, n := range list {
		if n.Name == namespace {
			l, err := limitsOf(n.Name, n.Options)
			if err != nil || l.maxTags > 0 {
				return l.maxTags, err
			}
		}
	}
	return metastore.MaxTags, nil
}

// namespaceRecords are the rows of system.namespaces.
func namespaceRecords(ctx context.Context, s *Session) ([]record, error) {
	list, err := s.engine.Usage(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]record, len(list))
	for i, u := range list {
		out[i] = record{"namespace": vec.Text(u.Name), "objects": vec.Int64(int64(u.Objects)), "options": vec.Text(optionsText(u.Options)),
			"used_bytes": vec.Int64(u.Bytes), "tag_exclusive_bytes": vec.Int64(u.TagBytes)}
		if u.Quota > 0 {
			out[i]["storage_quota"] = vec.Int64(u.Quota)
		}
	}
	return out, nil
}
