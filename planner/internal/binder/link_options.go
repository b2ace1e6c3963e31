package binder

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/loamdb/loam/catalog"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/plan"
	"github.com/loamdb/loam/internal/schema"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/planner/internal/ast"
	"github.com/loamdb/loam/planner/internal/deparse"
)

// A link's batch without options of its own.
const (
	defaultBatchBytes    = 16 << 20
	maxBatchBytes        = 64 << 20 // what a batch becomes must fit one write of the log
	defaultBatchInterval = 2 * time.Second
)

var linkOptionNames = []string{"batch_bytes", "batch_interval", "dead_letters", "on_error", "start"}

// linkOptions reads START, ON ERROR and WITH (…) of CREATE LINK.
func (b *Binder) linkOptions(s *ast.CreateLink, out *plan.CreateLink) error {
	link := out.Link
	given := map[string]string{}
	if s.Start != nil {
		given["start"] = "START"
		out.Latest = s.Start.Kind == ast.StartLatest
	}
	if s.OnError != "" {
		given["on_error"] = "ON ERROR"
		link.Link.OnError = schema.OnError(strings.ToLower(s.OnError))
	}
	if !s.DeadLetter.IsZero() {
		given["dead_letters"] = "TO STREAM"
	}
	for _, o := range s.Options {
		name := strings.ToLower(o.Name.String())
		if before := given[name]; before != "" {
			return b.fail(fail.InvalidParameter, o.Pos(), "%s is given twice: by %s too", name, before)
		}
		given[name] = "WITH"
		value, err := b.optionValue(o.Value)
		if err != nil {
			return err
		}
		if name == "start" {
			switch strings.ToLower(value) {
			case "earliest":
			case "latest":
				out.Latest = true
			default:
				return b.fail(fail.InvalidParameter, o.Pos(), "start is earliest or latest, not %q", value)
			}
			continue
		}
		if err := b.linkOption(link.Link, o, name, value); err != nil {
			return err
		}
	}
	return nil
}

// linkOption reads one option that can also be set later.
func (b *Binder) linkOption(l *schema.LinkDef, o *ast.Option, name, value string) error {
	var err error
	switch name {
	case "batch_bytes":
		if l.BatchBytes, err = schema.ParseBytes(value); err == nil && l.BatchBytes > maxBatchBytes {
			err = fail.New(fail.InvalidParameter, "%q is more than a batch may have, %d MiB", value, maxBatchBytes>>20)
		}
	case "batch_interval":
		l.BatchInterval, err = schema.ParseDuration(value)
	case "on_error":
		l.OnError = schema.OnError(strings.ToLower(value))
		if !slices.Contains([]schema.OnError{schema.FailOnError, schema.SkipOnError, schema.DeadLetter}, l.OnError) {
			return b.fail(fail.InvalidParameter, o.Pos(), "on_error is fail, skip or dead_letter, not %q", value)
		}
	case "dead_letters":
	default:
		err := b.fail(fail.InvalidParameter, o.Pos(), "a link has no option %q", name)
		if near := fail.Closest(name, linkOptionNames); near != "" {
			return err.WithHint("Did you mean %s?", near)
		}
		return err.WithHint("Its options are %s.", strings.Join(linkOptionNames, ", "))
	}
	if err != nil {
		return b.fail(fail.InvalidParameter, o.Pos(), "option %s: %s", name, err.Error())
	}
	return nil
}

// deadFields are the columns of dead letters.
var deadFields = []schema.Field{
	{Name: "link", Type: types.Of(types.Text)},
	{Name: "source_partition", Type: types.Of(types.Int32)},
	{Name: "source_offset", Type: types.Of(types.Int64)},
	{Name: "error_code", Type: types.Of(types.Text)},
	{Name: "error_message", Type: types.Of(types.Text)},
	{Name: "record", Type: types.Of(types.JSON)},
}

// deadLetters finds or describes the object that a link's bad records go to.
func (b *Binder) deadLetters(s *ast.CreateLink, out *plan.CreateLink, source, target *schema.Object) error {
	link := out.Link
	name, pos, err := b.deadName(s, link)
	if err != nil || link.Link.OnError != schema.DeadLetter {
		return err
	}
	ns := catalog.Name{Text: link.Namespace}
	last := name.Last()
	if len(name.Parts) > 1 {
		if ns, last, err = b.split(name); err != nil {
			return err
		}
	}
	obj, err := b.env.Catalog.Lookup(b.ctx, ns, catalog.Name{Text: last.Text, Quoted: last.Quoted})
	if fail.Is(err, fail.UndefinedTable) {
		out.Dead = &schema.Object{Namespace: ns.Text, Name: last.Text, Kind: schema.Stream, Partitions: 1, Fields: slices.Clone(deadFields), Options: map[string]string{}}
		return b.checkName(last, "dead-letter stream")
	}
	if err != nil {
		return b.at(err, pos)
	}
	if obj.ID == source.ID || obj.ID == target.ID {
		return b.fail(fail.InvalidObject, pos, "%q is the link's own source or target", obj.Name).WithHint("Name another one with dead_letters = '…'.")
	}
	if !holdsDeadLetters(obj) {
		return b.fail(fail.DatatypeMismatch, pos, "%s %q cannot take dead letters: it has other columns", obj.Kind, obj.Name).
			WithHint("Name one that does not exist: the link makes it.")
	}
	link.Link.Dead = obj.ID
	return nil
}

// deadName is the name of the dead letters as written, or <link>_dead.
func (b *Binder) deadName(s *ast.CreateLink, link *schema.Object) (ast.Name, int, error) {
	name, pos := ast.Name{Parts: []ast.Ident{{Text: link.Name + "_dead", Quoted: true, Span: s.Name.Span}}}, s.Name.Pos()
	said := !s.DeadLetter.IsZero()
	if said {
		name, pos = s.DeadLetter, s.DeadLetter.Pos()
	}
	for _, o := range s.Options {
		if !strings.EqualFold(o.Name.String(), "dead_letters") {
			continue
		}
		value, err := b.optionValue(o.Value)
		if err != nil {
			return name, pos, err
		}
		said, pos = true, o.Pos()
		parts := strings.Split(value, ".")
		name = ast.Name{Span: o.Span}
		for _, p := range parts {
			name.Parts = append(name.Parts, ast.Ident{Span: o.Span, Text: strings.TrimSpace(p)})
		}
	}
	if said && link.Link.OnError != schema.DeadLetter {
		return name, pos, b.fail(fail.InvalidParameter, pos, "dead_letters is for links with on_error = 'dead_letter'").
			WithHint("Add on_error = 'dead_letter'.")
	}
	return name, pos, nil
}

func holdsDeadLetters(obj *schema.Object) bool {
	if !obj.Kind.Tabular() {
		return false
	}
	for _, want := range deadFields {
		f, _ := obj.FieldByName(want.Name, true)
		if f == nil || !f.Type.Equal(want.Type) {
			return false
		}
	}
	for _, f := range obj.Fields {
		if f.NotNull && !slices.ContainsFunc(deadFields, func(w schema.Field) bool { return w.Name == f.Name }) {
			return false
		}
	}
	return true
}

// link finds a link by name.
func (b *Binder) link(name ast.Name) (*schema.Object, error) {
	obj, err := b.object(name)
	if fail.Is(err, fail.UndefinedTable) {
		return nil, b.noLink(name)
	}
	if err == nil && obj.Kind != schema.Link {
		err = b.fail(fail.WrongObjectType, name.Pos(), "%q is a %s, not a link", obj.Name, obj.Kind)
	}
	return obj, err
}

// noLink is the error for a link that does not exist.
func (b *Binder) noLink(name ast.Name) error {
	err := b.fail(fail.UndefinedTable, name.Pos(), "there is no link %q", name.String())
	all, lerr := b.env.Catalog.Objects(b.ctx, "")
	if lerr != nil {
		return err
	}
	var names []string
	for _, o := range all {
		if o.Kind == schema.Link {
			names = append(names, o.Name)
		}
	}
	if near := fail.Closest(name.Last().Text, names); near != "" {
		return err.WithHint("Did you mean %q?", near)
	}
	return err.WithHint("SHOW LINKS lists what there is.")
}

// alterLink binds PAUSE LINK, RESUME LINK and ALTER LINK.
func (b *Binder) alterLink(s *ast.AlterLink) (plan.Statement, error) {
	if err := b.refuseAlterLink(s); err != nil {
		return nil, err
	}
	old, err := b.link(s.Name)
	if s.IfExists && (fail.Is(err, fail.UndefinedTable) || fail.Is(err, fail.UndefinedNamespace)) {
		return &plan.Nothing{Note: "link " + strconv.Quote(s.Name.String()) + " does not exist"}, nil
	}
	if err != nil {
		return nil, err
	}
	fresh, def := *old, *old.Link
	fresh.Link = &def
	out := &plan.AlterLink{Old: old, New: &fresh}
	switch s.Action {
	case ast.LinkPause:
		if def.State == schema.LinkPaused {
			return &plan.Nothing{Note: "link " + old.Name + " is paused already"}, nil
		}
		def.State, def.Error = schema.LinkPaused, nil
		if s.Reason != "" {
			def.Error = &schema.LinkError{Message: s.Reason, Partition: -1, Offset: -1}
		}
	case ast.LinkResume:
		if def.State == schema.LinkRunning && s.Start == nil {
			return &plan.Nothing{Note: "link " + old.Name + " is running already"}, nil
		}
		def.State, def.Error = schema.LinkRunning, nil
		if s.Start != nil {
			out.Earliest, out.Latest = s.Start.Kind == ast.StartEarliest, s.Start.Kind == ast.StartLatest
		}
	case ast.LinkRename:
		if err := b.checkName(s.NewName, "link"); err != nil {
			return nil, err
		}
		fresh.Name = s.NewName.Text
	case ast.LinkSet:
		return out, b.setLink(s, &def)
	case ast.LinkReset:
		return out, b.resetLink(s, &def)
	}
	return out, nil
}

func (b *Binder) refuseAlterLink(s *ast.AlterLink) error {
	switch s.Action {
	case ast.LinkTransform:
		return b.fail(fail.Unsupported, s.Pos(), "ALTER LINK … SET TRANSFORM is not supported").
			WithHint("PAUSE LINK, DROP LINK and create it again: the target keeps its rows.")
	case ast.LinkReplay:
		return b.fail(fail.Unsupported, s.Pos(), "REPLAY LINK is not supported").
			WithHint("Create a second link with START EARLIEST; rows with a key are replaced.")
	case ast.LinkValidate:
		return b.fail(fail.Unsupported, s.Pos(), "VALIDATE LINK is not supported").
			WithHint("CREATE LINK checks the transform; a SELECT over the source shows what it makes.")
	}
	if s.Start != nil && s.Start.Kind != ast.StartEarliest && s.Start.Kind != ast.StartLatest {
		return b.fail(fail.Unsupported, s.Start.Pos(), "START %s is not supported", s.Start.Kind).WithHint("Write START EARLIEST or START LATEST.")
	}
	return nil
}

// setLink reads ALTER LINK … SET (…).
func (b *Binder) setLink(s *ast.AlterLink, def *schema.LinkDef) error {
	for _, o := range s.Options {
		name := strings.ToLower(o.Name.String())
		value, err := b.optionValue(o.Value)
		if err != nil {
			return err
		}
		if name == "start" || name == "dead_letters" {
			return b.fail(fail.Unsupported, o.Pos(), "%s of a link is set when it is made", name)
		}
		if err := b.linkOption(def, o, name, value); err != nil {
			return err
		}
		if def.OnError == schema.DeadLetter && def.Dead == 0 {
			return b.fail(fail.InvalidParameter, o.Pos(), "the link was made without dead letters").
				WithHint("Set on_error to fail or skip, or make the link again with on_error = 'dead_letter'.")
		}
	}
	return nil
}

// resetLink reads ALTER LINK … RESET (…).
func (b *Binder) resetLink(s *ast.AlterLink, def *schema.LinkDef) error {
	for _, o := range s.Options {
		switch name := strings.ToLower(o.Name.String()); name {
		case "batch_bytes":
			def.BatchBytes = defaultBatchBytes
		case "batch_interval":
			def.BatchInterval = defaultBatchInterval
		case "on_error":
			def.OnError = schema.FailOnError
		default:
			return b.fail(fail.InvalidParameter, o.Pos(), "a link has no option %q that can be reset", name).
				WithHint("These are batch_bytes, batch_interval, on_error.")
		}
	}
	return nil
}

// linkHasNoRows is the error for a link where rows are wanted.
func (b *Binder) linkHasNoRows(obj *schema.Object, pos int) error {
	err := b.fail(fail.WrongObjectType, pos, "%q is a link: it has no rows of its own", obj.Name)
	if target, e := b.env.Catalog.ByID(b.ctx, obj.Link.Target); e == nil {
		return err.WithHint("Its rows are in %s; system.links tells how far it has got.", target.QualifiedName())
	}
	return err
}

// LinkText is the statement that makes a link.
func LinkText(ctx context.Context, env Env, link *schema.Object) (string, error) {
	return newBinder(ctx, env, "").createLinkText(link)
}

// createLinkText is the statement that makes a link, with the names that its
// objects have today. A link made by it begins at the source's beginning.
func (b *Binder) createLinkText(obj *schema.Object) (string, error) {
	l := obj.Link
	words := map[schema.Kind]string{schema.Table: "TABLE", schema.Collection: "COLLECTION", schema.Stream: "STREAM"}
	source, err := b.env.Catalog.ByID(b.ctx, l.Source)
	if err != nil {
		return "", err
	}
	target, err := b.env.Catalog.ByID(b.ctx, l.Target)
	if err != nil {
		return "", err
	}
	transform, err := transformText(obj, source)
	if err != nil {
		return "", err
	}
	text := "CREATE LINK " + objectText(obj) + " FROM " + words[source.Kind] + " " + objectText(source) +
		" INTO " + words[target.Kind] + " " + objectText(target) + " TRANSFORM (" + transform + ")"
	options := []string{
		"batch_bytes = " + deparse.Literal(strconv.FormatInt(l.BatchBytes, 10)),
		"batch_interval = " + deparse.Literal(l.BatchInterval.String())}
	if l.OnError != schema.DeadLetter {
		options = append(options, "on_error = "+deparse.Literal(string(l.OnError)))
	} else { // the clause takes any name, which the text of an option does not
		dead, err := b.env.Catalog.ByID(b.ctx, l.Dead)
		if err != nil {
			return "", err
		}
		text += " ON ERROR DEAD_LETTER TO STREAM " + objectText(dead)
	}
	if l.State == schema.LinkPaused {
		text += " PAUSED"
	}
	if l.Comment != "" {
		text += " COMMENT " + deparse.Literal(l.Comment)
	}
	return text + " WITH (" + strings.Join(options, ", ") + ")", nil
}

// transformText is the SELECT of a link: without FROM, unless it calls its source by
// another name than that has now.
func transformText(obj, source *schema.Object) (string, error) {
	q, err := parseView(obj)
	if err != nil {
		return "", err
	}
	sel, from, err := linkSelect(obj, q)
	if err != nil {
		return "", err
	}
	bare := *sel
	bare.From = nil
	alias := from.Alias
	if old := from.Name.Last(); alias == nil && !strings.EqualFold(old.Text, source.Name) {
		alias = &ast.Alias{Name: old}
	}
	if alias != nil {
		name := ast.Name{Parts: []ast.Ident{quoted(source.Namespace), quoted(source.Name)}}
		bare.From = []ast.TableRef{&ast.TableName{Name: name, Alias: alias}}
	}
	return deparse.Statement(&ast.Query{Span: q.Span, Body: &bare}), nil
}

// linkSelect takes the stored query of a link apart.
func linkSelect(link *schema.Object, q *ast.Query) (*ast.Select, *ast.TableName, error) {
	if sel, ok := q.Body.(*ast.Select); ok && len(sel.From) == 1 {
		if from, ok := sel.From[0].(*ast.TableName); ok {
			return sel, from, nil
		}
	}
	return nil, nil, fail.New(fail.Corrupt, "the transform of link %s is not one SELECT of its source", link.QualifiedName())
}
