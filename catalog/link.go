package catalog

import (
	"context"
	"time"

	"github.com/loamdb/loam/internal/schema"
)

// link is the JSON of what a link does; its transform is the view.
type link struct {
	Source     uint64     `json:"source"`
	Target     uint64     `json:"target"`
	Dead       uint64     `json:"dead,omitempty"`
	OnError    string     `json:"on_error"`
	Bytes      int64      `json:"batch_bytes"`
	IntervalMS int64      `json:"batch_interval_ms"`
	Start      []uint64   `json:"start,omitempty"`
	State      string     `json:"state"`
	Error      *linkError `json:"error,omitempty"`
	Comment    string     `json:"comment,omitempty"`
}

type linkError struct {
	Code      string `json:"code,omitempty"`
	Message   string `json:"message"`
	Partition int    `json:"partition"`
	Offset    int64  `json:"offset"`
}

func encodeLink(l *schema.LinkDef) *link {
	return &link{Source: l.Source, Target: l.Target, Dead: l.Dead, OnError: string(l.OnError), Bytes: l.BatchBytes,
		IntervalMS: l.BatchInterval.Milliseconds(), Start: l.Start, State: string(l.State), Error: (*linkError)(l.Error), Comment: l.Comment}
}

func (l *link) decode() *schema.LinkDef {
	return &schema.LinkDef{Source: l.Source, Target: l.Target, Dead: l.Dead, OnError: schema.OnError(l.OnError), BatchBytes: l.Bytes,
		BatchInterval: time.Duration(l.IntervalMS) * time.Millisecond, Start: l.Start, State: schema.LinkState(l.State),
		Error: (*schema.LinkError)(l.Error), Comment: l.Comment}
}

// Relations lists what can stand in a query, as Objects does: all but links.
func (c *Catalog) Relations(ctx context.Context, namespace string) ([]*schema.Object, error) {
	return c.only(ctx, namespace, func(o *schema.Object) bool { return o.Kind != schema.Link })
}

// Links lists the links of a namespace, or all for "".
func (c *Catalog) Links(ctx context.Context, namespace string) ([]*schema.Object, error) {
	return c.only(ctx, namespace, func(o *schema.Object) bool { return o.Kind == schema.Link })
}

func (c *Catalog) only(ctx context.Context, namespace string, keep func(*schema.Object) bool) ([]*schema.Object, error) {
	all, err := c.Objects(ctx, namespace)
	if err != nil {
		return nil, err
	}
	out := make([]*schema.Object, 0, len(all))
	for _, o := range all {
		if keep(o) {
			out = append(out, o)
		}
	}
	return out, nil
}
