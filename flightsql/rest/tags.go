package rest

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"github.com/loamdb/loam"
	"github.com/loamdb/loam/flightsql/internal/scan"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/schema"
	"github.com/loamdb/loam/internal/vec"
)

// tagRoutes are the routes of the tags of collections, tables or streams.
func (a *api) tagRoutes(kind schema.Kind, one, op string) []endpoint {
	const tag = "Tags"
	name := string(kind)
	return []endpoint{
		{method: http.MethodGet, path: one + "/tags", op: "listTags" + op, tag: tag, summary: "List the tags of a " + name,
			answers: answersJSON("Tags", "The tags by name."), serve: a.listTags(kind)},
		{method: http.MethodPost, path: one + "/tags", op: "createTag" + op, tag: tag, summary: "Give a version of a " + name + " a name that keeps it",
			body: jsonBody("NewTag"), answers: created("Tag", "It is there, and never moves."), serve: a.createTag(kind)},
		{method: http.MethodGet, path: one + "/tags/{t}", op: "describeTag" + op, tag: tag, summary: "Describe a tag of a " + name,
			answers: answersJSON("Tag", "What it names."), serve: a.describeTag(kind)},
		{method: http.MethodDelete, path: one + "/tags/{t}", op: "dropTag" + op, tag: tag, summary: "Drop a tag of a " + name,
			params: []param{ifExistsParam}, answers: gone, serve: a.dropTag(kind)},
	}
}

// tagJSON describes a tag.
type tagJSON struct {
	Name            string  `json:"name"`
	ManifestVersion int64   `json:"manifest_version"`
	LanceVersion    string  `json:"lance_version,omitempty"` // decimal: above what a double holds
	CreatedAt       string  `json:"created_at"`
	ExpiresAt       *string `json:"expires_at"`
	Protect         bool    `json:"protect"`
	Comment         string  `json:"comment,omitempty"`
	ExclusiveBytes  *int64  `json:"exclusive_bytes"`
}

// tags are the tags of an object; of one name with a name.
func (a *api) tags(ctx context.Context, o *schema.Object, name string) ([]tagJSON, error) {
	q := &query{}
	q.add("SELECT tag, version, lance_version, created, expires, protected, comment, exclusive_bytes FROM system.tags WHERE namespace = ").
		param(vec.Text(o.Namespace)).add(" AND name = ").param(vec.Text(o.Name))
	if name != "" {
		q.add(" AND lower(tag) = lower(").param(vec.Text(name)).add(")")
	}
	res, err := q.add(" ORDER BY lower(tag)").run(ctx, a.session(ctx, ""))
	if err != nil {
		return nil, err
	}
	defer func() { _ = res.Close() }()
	out := []tagJSON{}
	for {
		c, err := res.Next(ctx)
		if err != nil || c == nil {
			return out, err
		}
		for i := range c.N {
			out = append(out, tagOfRow(c, i))
		}
	}
}

func tagOfRow(c *vec.Chunk, i int) tagJSON {
	at := func(col int) vec.Value { return c.Cols[col].Value(i) }
	rfc := func(v vec.Value) string { return time.UnixMicro(v.Int).UTC().Format(time.RFC3339Nano) }
	t := tagJSON{Name: at(0).Str, ManifestVersion: at(1).Int, LanceVersion: at(2).Str, CreatedAt: rfc(at(3)), Protect: at(5).Bool, Comment: at(6).Str}
	if v := at(4); !v.Null {
		text := rfc(v)
		t.ExpiresAt = &text
	}
	if v := at(7); !v.Null {
		t.ExclusiveBytes = &v.Int
	}
	return t
}

func (a *api) listTags(kind schema.Kind) serving {
	return func(ctx context.Context, w *answer, r *http.Request) error {
		obj, err := a.find(ctx, target(r), kind)
		if err != nil {
			return err
		}
		tags, err := a.tags(ctx, obj, "")
		if err != nil {
			return err
		}
		return writeValue(w, http.StatusOK, object{"tags": tags})
	}
}

// oneTag answers with a tag that is there.
func (a *api) oneTag(ctx context.Context, w *answer, status int, o *schema.Object, name string) error {
	tags, err := a.tags(ctx, o, name)
	if err == nil && len(tags) == 0 {
		err = fail.New(fail.UndefinedTag, "%s has no tag %q", o.Name, name).WithHint("GET …/tags lists them.")
	}
	if err != nil {
		return err
	}
	return writeValue(w, status, tags[0])
}

func (a *api) describeTag(kind schema.Kind) serving {
	return func(ctx context.Context, w *answer, r *http.Request) error {
		obj, err := a.find(ctx, target(r), kind)
		if err != nil {
			return err
		}
		return a.oneTag(ctx, w, http.StatusOK, obj, r.PathValue("t"))
	}
}

// newTag is the body that makes a tag.
type newTag struct {
	Name        string          `json:"name"`
	At          json.RawMessage `json:"at"`
	Protect     bool            `json:"protect"`
	ExpiresAt   *string         `json:"expires_at"`
	Comment     string          `json:"comment"`
	IfNotExists bool            `json:"if_not_exists"`
}

var newTagKeys = []string{"name", "at", "protect", "expires_at", "comment", "if_not_exists"}

func (a *api) createTag(kind schema.Kind) serving {
	return func(ctx context.Context, w *answer, r *http.Request) error {
		data, _, err := body(r, mediaJSON)
		if err != nil {
			return err
		}
		var in newTag
		if err := scan.Strict(data, &in, newTagKeys); err != nil {
			return err
		}
		if in.Name == "" {
			return fail.New(fail.BadRequest, "the body has no \"name\"").WithHint("Send {\"name\": \"v1\"}.")
		}
		obj, err := a.find(ctx, target(r), kind)
		if err != nil {
			return err
		}
		q, err := in.translate(obj)
		if err == nil {
			err = a.ddl(ctx, q)
		}
		if err != nil {
			return err
		}
		return a.oneTag(ctx, w, http.StatusCreated, obj, in.Name)
	}
}

// translate writes the tag as CREATE TAG.
func (in *newTag) translate(o *schema.Object) (*query, error) {
	q := &query{}
	q.add("CREATE TAG ")
	if in.IfNotExists {
		q.add("IF NOT EXISTS ")
	}
	q.add(quoteName(in.Name), " ON ", fullName(o))
	var at loam.ScanRequest
	if err := scan.ParseAt(in.At, &at); err != nil {
		return nil, err
	}
	switch {
	case at.ManifestVersion != nil:
		q.add(" AT (VERSION => ", strconv.FormatUint(*at.ManifestVersion, 10), ")")
	case at.Tag != nil:
		q.add(" AT (TAG => ", loam.QuoteText(*at.Tag), ")")
	case at.Timestamp != nil:
		q.add(" AT (TIMESTAMP => ", loam.QuoteText(at.Timestamp.UTC().Format("2006-01-02 15:04:05.999999Z")), ")")
	case at.Token != nil:
		q.add(" AT (TOKEN => ", loam.QuoteText(at.Token.String()), ")")
	}
	q.add(" WITH (protect = ", strconv.FormatBool(in.Protect), ", comment = ", loam.QuoteText(in.Comment))
	if in.ExpiresAt != nil {
		q.add(", expires_at = ", loam.QuoteText(*in.ExpiresAt))
	}
	return q.add(")"), nil
}

func (a *api) dropTag(kind schema.Kind) serving {
	return func(ctx context.Context, w *answer, r *http.Request) error {
		ifExists, err := flag(r, "if_exists")
		if err != nil {
			return err
		}
		obj, err := a.find(ctx, target(r), kind)
		if err != nil {
			return err
		}
		q := &query{}
		q.add("DROP TAG ")
		if ifExists {
			q.add("IF EXISTS ")
		}
		if err := a.ddl(ctx, q.add(quoteName(r.PathValue("t")), " ON ", fullName(obj))); err != nil {
			return err
		}
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
}
