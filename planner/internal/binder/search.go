package binder

import (
	"math"
	"strconv"
	"strings"

	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/plan"
	"github.com/loamdb/loam/internal/schema"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/planner/internal/ast"
	"github.com/loamdb/loam/planner/internal/parser"
	"github.com/loamdb/loam/planner/internal/rowcount"
)

var searchSignatures = map[string]*signature{
	"vector_search": {
		name:       "vector_search",
		positional: []string{"tbl", "query", "column", "limit", "include_score"},
		named:      []string{"vector", "k", "offset", "filter", "distance_metric", "rank_weight", "min_score", "exact", "include_vectors"},
		later: []string{"sparse", "vectors", "filter_mode", "ef", "nprobe", "refine_factor", "oversample", "rescore", "max_distance",
			"group_by", "group_size", "mmr_lambda", "using", "timeout_ms", "explain_score"},
	},
	"text_search": {
		name:       "text_search",
		positional: []string{"tbl", "query", "column", "limit", "include_score"},
		named:      []string{"columns", "k", "offset", "filter", "mode", "operator", "rank_weight", "min_score", "include_vectors"},
		later: []string{"fuzziness", "slop", "prefix", "minimum_should_match", "analyzer", "boost", "filter_mode", "highlight",
			"fragment_size", "fragments", "pre_tag", "post_tag", "group_by", "group_size", "explain_score", "k1", "b"},
	},
	"rrf": {
		name:  "rrf",
		named: []string{"k", "limit", "offset", "min_score", "include_vectors"},
		later: []string{"join_key", "time_column", "recency_decay", "decay_constant", "decay_scale_secs", "decay_window_secs",
			"now", "oversample", "ranks"},
		variadic: "legs",
	},
}

// Names of the score columns; the older ones are found by name but not in *.
const (
	scoreName, oldScoreName = "_score", "score"
	fusedName, oldFusedName = "_fused_score", "fused_score"
)

// searchCall is one search function while it is bound.
type searchCall struct {
	b     *Binder
	scan  *plan.SearchScan
	scope *scope
}

// searchFunc binds a search in FROM to one SearchScan.
func (b *Binder) searchFunc(name string, x *ast.TableFunc) (plan.Node, *scope, error) {
	args, err := b.match(searchSignatures[name], x.Call)
	if err != nil {
		return nil, nil, err
	}
	legs := []*callArgs{args}
	if name == "rrf" {
		if legs, err = b.rrfLegs(args); err != nil {
			return nil, nil, err
		}
	}
	s := &searchCall{b: b, scan: &plan.SearchScan{}}
	alias := name
	if x.Alias != nil {
		alias = x.Alias.Name.Text
	}
	vectors, err := args.flag("include_vectors", true)
	if err != nil {
		return nil, nil, err
	}
	for _, leg := range legs {
		if lit, ok := leg.named["filter"].(*ast.StringLit); ok {
			if e, err := parser.ParseExpr(lit.Value); err == nil {
				b.survey(e) // before the columns are made: the text may name system columns
			}
		}
	}
	if err := s.open(legs[0], alias, vectors); err != nil {
		return nil, nil, err
	}
	for _, leg := range legs {
		if err := s.addLeg(leg, name == "rrf"); err != nil {
			return nil, nil, err
		}
	}
	if err := s.bounds(args, name == "rrf"); err != nil {
		return nil, nil, err
	}
	return s.scan, s.scope, b.renameColumns(s.scope, x.Alias)
}

// open finds the collection and makes the columns of the search.
func (s *searchCall) open(args *callArgs, alias string, vectors bool) error {
	obj, err := s.collection(args)
	if err != nil {
		return err
	}
	s.scan.Object = obj
	if s.scan.At, err = s.b.state(args.at); err != nil {
		return err
	}
	s.scope = objectScope(obj, alias)
	var fields []seenField
	for _, f := range s.b.seenFields(obj) {
		if vectors || f.Type.Kind != types.Vector && f.Type.Kind != types.Sparse {
			fields = append(fields, f)
		}
	}
	s.scan.Cols = append(s.b.fieldColumns(fields, s.scope), s.b.systemColumns(obj, s.scope)...)
	return nil
}

// collection resolves the argument tbl: a name, or a text that holds one.
func (s *searchCall) collection(args *callArgs) (*schema.Object, error) {
	b := s.b
	e, ok := args.named["tbl"]
	if !ok {
		return nil, b.fail(fail.UndefinedFunction, args.pos, "%s needs a collection as its first argument", args.sig.name).
			WithHint("Write %s(docs, …).", args.sig.name)
	}
	ref, ok := e.(*ast.ColumnRef)
	if lit, isText := e.(*ast.StringLit); isText {
		parsed, err := parser.ParseExpr(lit.Value)
		if ref, ok = parsed.(*ast.ColumnRef); err != nil || !ok {
			return nil, b.fail(fail.Syntax, e.Pos(), "%q is not the name of a collection", lit.Value)
		}
	}
	if !ok {
		return nil, b.fail(fail.Syntax, e.Pos(), "the first argument of %s is the name of a collection", args.sig.name)
	}
	obj, err := b.object(ast.Name{Span: ast.Span{Start: e.Pos(), Stop: e.End()}, Parts: ref.Parts})
	if err != nil {
		return nil, err
	}
	if obj.Kind != schema.Collection {
		cure := "Use LIKE, ILIKE or ~ on a table, or INSERT its rows into a collection with a FULLTEXT column."
		if args.sig.name == "vector_search" {
			cure = "Use ORDER BY l2_distance(…) LIMIT n on a table, or INSERT its rows into a collection."
		}
		return nil, b.fail(fail.WrongObjectType, e.Pos(), "%q is a %s: only collections have search indexes", obj.Name, obj.Kind).WithHint("%s", cure)
	}
	return obj, nil
}

// rrfLegs reads the arguments of rrf: searches over one collection.
func (b *Binder) rrfLegs(args *callArgs) ([]*callArgs, error) {
	var legs []*callArgs
	for _, e := range args.rest {
		call, ok := e.(*ast.FuncCall)
		name := ""
		if ok {
			name = strings.ToLower(call.Name.Last().Text)
		}
		if name != "vector_search" && name != "text_search" {
			return nil, b.fail(fail.WrongObjectType, e.Pos(), "rrf takes vector_search(…) and text_search(…) calls").
				WithHint("Write rrf(vector_search(docs, …), text_search(docs, …)).")
		}
		leg, err := b.match(searchSignatures[name], call)
		if err != nil {
			return nil, err
		}
		for _, arg := range []string{"offset", "min_score", "include_vectors"} {
			if e, ok := leg.named[arg]; ok {
				return nil, b.fail(fail.Unsupported, e.Pos(), "argument %s belongs to rrf, not to a search inside it", arg)
			}
		}
		legs = append(legs, leg)
	}
	if len(legs) < 2 {
		return nil, b.fail(fail.UndefinedFunction, args.pos, "rrf fuses two or more searches, %d given", len(legs)).
			WithHint("Write rrf(vector_search(docs, …), text_search(docs, …)).")
	}
	return legs, nil
}

// addLeg binds one ranked list.
func (s *searchCall) addLeg(args *callArgs, fused bool) error {
	obj, err := s.collection(args)
	if err != nil {
		return err
	}
	if obj.ID != s.scan.Object.ID {
		return s.b.fail(fail.Unsupported, args.pos, "rrf over several collections (%q and %q) is not supported", s.scan.Object.Name, obj.Name)
	}
	if err := s.sameState(args); err != nil {
		return err
	}
	if err := s.swapped(args); err != nil {
		return err
	}
	var leg plan.Leg
	if args.sig.name == "vector_search" {
		leg, err = s.vectorLeg(args)
	} else {
		leg, err = s.textLeg(args)
	}
	if err != nil {
		return err
	}
	if leg.Weight, err = args.number("rank_weight", 1); err != nil {
		return err
	}
	if leg.Weight < 0 || math.IsNaN(leg.Weight) || math.IsInf(leg.Weight, 0) {
		return s.b.fail(fail.InvalidParameter, args.named["rank_weight"].Pos(), "rank_weight must be a number of 0 or more")
	}
	filter, err := s.filter(args)
	if err != nil {
		return err
	}
	leg.Limit = rowcount.Auto
	if fused {
		leg.Filter = filter
		if leg.Limit, err = args.limit(); err != nil {
			return err
		}
	} else {
		s.scan.Filter = filter
	}
	s.scan.Legs = append(s.scan.Legs, leg)
	return nil
}

// limit is the argument limit, or k.
func (a *callArgs) limit() (int64, error) {
	if k, ok := a.named["k"]; ok && a.sig.name != "rrf" {
		if _, both := a.named["limit"]; both {
			return 0, a.b.fail(fail.Syntax, k.Pos(), "k is another name of limit: give one of them")
		}
		return a.rows("k", rowcount.Auto)
	}
	return a.rows("limit", rowcount.Auto)
}

// bounds binds what holds for the whole search: limit, offset, score.
func (s *searchCall) bounds(args *callArgs, fused bool) error {
	var err error
	name, old := scoreName, oldScoreName
	if fused {
		name, old = fusedName, oldFusedName
		if s.scan.RRFK, err = args.number("k", 60); err != nil {
			return err
		}
		if !(s.scan.RRFK > 0) || math.IsInf(s.scan.RRFK, 0) {
			return s.b.fail(fail.InvalidParameter, args.named["k"].Pos(), "k of rrf must be greater than 0")
		}
	}
	if s.scan.Limit, err = args.limit(); err != nil {
		return err
	}
	if s.scan.Offset, err = args.rows("offset", 0); err != nil {
		return err
	}
	min, off, err := args.bind("min_score")
	if err != nil {
		return err
	}
	if min != nil {
		if s.scan.MinScore, err = s.b.coerce(min, types.Of(types.Double), off); err != nil {
			return err
		}
	}
	inStar, err := args.flag("include_score", true)
	if err != nil {
		return err
	}
	if _, err := args.flag("exact", false); err != nil { // every vector search is exact today
		return err
	}
	s.scan.Score = s.b.newColumn(name, types.Of(types.Double))
	t := s.scope.tables[0]
	s.scope.cols = append(s.scope.cols, &visible{name: name, table: t, e: s.scan.Score.Ref(), inStar: inStar, bare: true})
	if _, n := s.scan.Object.FieldByName(old, false); n == 0 {
		s.scope.cols = append(s.scope.cols, &visible{name: old, table: t, e: s.scan.Score.Ref(), bare: true})
	}
	return nil
}

// vectorLeg binds a vector search: its column, its vector, its metric.
func (s *searchCall) vectorLeg(args *callArgs) (plan.Leg, error) {
	field, err := s.vectorField(args)
	if err != nil {
		return plan.Leg{}, err
	}
	leg := plan.Leg{Kind: plan.VectorLeg, Field: field.Name, Metric: field.Metric}
	if leg.Metric == "" {
		leg.Metric = schema.Cosine
	}
	if leg.Query, err = s.vectorQuery(args, field); err != nil {
		return leg, err
	}
	if _, ok := args.named["distance_metric"]; ok {
		word, err := args.word("distance_metric", "cosine", "cos", "l2", "euclidean", "euclid", "dot", "inner", "ip")
		if err != nil {
			return leg, err
		}
		leg.Metric = metricNames[word]
	}
	return leg, nil
}

var metricNames = map[string]schema.Metric{
	"cosine": schema.Cosine, "cos": schema.Cosine, "l2": schema.L2, "euclidean": schema.L2, "euclid": schema.L2,
	"dot": schema.Dot, "inner": schema.Dot, "ip": schema.Dot,
}

// vectorField is the vector column to search: the named one, or the only one.
func (s *searchCall) vectorField(args *callArgs) (*schema.Field, error) {
	obj := s.scan.Object
	var vectors []string
	var only *schema.Field
	for i, f := range obj.Fields {
		if f.Type.Kind == types.Vector {
			vectors = append(vectors, f.Name)
			only = &obj.Fields[i]
		}
	}
	if e, ok := args.named["column"]; ok {
		f, err := s.fieldNamed(e)
		if err != nil {
			return nil, err
		}
		if f.Type.Kind != types.Vector {
			err := s.b.fail(fail.DatatypeMismatch, e.Pos(), "column %q is %s, not a vector", f.Name, f.Type)
			if len(vectors) > 0 {
				return nil, err.WithHint("The vector columns of %q are %s.", obj.Name, strings.Join(vectors, ", "))
			}
			return nil, err
		}
		return f, nil
	}
	switch len(vectors) {
	case 0:
		return nil, s.b.fail(fail.UndefinedColumn, args.pos, "collection %q has no vector column", obj.Name).
			WithHint("Declare one: emb VECTOR(384)")
	case 1:
		return only, nil
	}
	return nil, s.b.fail(fail.AmbiguousColumn, args.pos, "collection %q has several vector columns: %s", obj.Name, strings.Join(vectors, ", ")).
		WithHint("Say which: column => %s", vectors[0])
}

// swapped is the error for a column in the place of the query.
func (s *searchCall) swapped(args *callArgs) error {
	ref, ok := args.named["query"].(*ast.ColumnRef)
	if !ok {
		return nil
	}
	id := ref.Parts[len(ref.Parts)-1]
	if f, _ := s.scan.Object.FieldByName(id.Text, id.Quoted); f == nil {
		return nil
	}
	query := "'words'"
	if args.sig.name == "vector_search" {
		query = "[0.1, …]"
	}
	return s.b.fail(fail.DatatypeMismatch, ref.Pos(), "%q is a column where %s takes its query", id.Text, args.sig.name).
		WithHint("The query comes first: %s(%s, %s, %s)", args.sig.name, s.scan.Object.Name, query, id.Text)
}

// fieldNamed finds the field that an identifier or a text names.
func (s *searchCall) fieldNamed(e ast.Expr) (*schema.Field, error) {
	var id ast.Ident
	switch x := e.(type) {
	case *ast.StringLit:
		id = ast.Ident{Span: x.Span, Text: x.Value}
	case *ast.ColumnRef:
		id = x.Parts[len(x.Parts)-1]
	default:
		return nil, s.b.fail(fail.Syntax, e.Pos(), "a column is given by its name")
	}
	obj := s.scan.Object
	f, n := obj.FieldByName(id.Text, id.Quoted)
	switch {
	case f != nil:
		return f, nil
	case n > 1:
		return nil, s.b.fail(fail.AmbiguousColumn, e.Pos(), "column %q is ambiguous in %q", id.Text, obj.Name)
	}
	return nil, s.b.suggest(fail.UndefinedColumn, id, obj.FieldNames(), "column %q does not exist in %q", id.Text, obj.Name)
}

// vectorQuery is the query vector, as query or as vector.
func (s *searchCall) vectorQuery(args *callArgs, field *schema.Field) (expr.Expr, error) {
	name := "query"
	if v, ok := args.named["vector"]; ok {
		if _, both := args.named["query"]; both {
			return nil, s.b.fail(fail.Syntax, v.Pos(), "give either query or vector")
		}
		name = "vector"
	}
	q, off, err := args.bind(name)
	if err != nil {
		return nil, err
	}
	if q == nil {
		return nil, s.b.fail(fail.UndefinedFunction, off, "vector_search needs a query vector").
			WithHint("Write vector_search(%s, [0.1, …], …), or pass a parameter.", s.scan.Object.Name)
	}
	_, isParam := q.(*expr.Param)
	k := q.Type().Kind
	if k == types.Text || k == types.Unknown && !isParam && name == "query" {
		return nil, s.b.fail(fail.Unsupported, off, "a text query needs an embedding endpoint, and none is configured").
			WithHint("Pass the query as a vector, [0.1, …] or a parameter of type %s, or configure an embedding endpoint for the namespace.", field.Type)
	}
	if k == types.Vector && !q.Type().Equal(field.Type) {
		return nil, s.b.fail(fail.InvalidVector, off, "the query has %s, column %q has %d", fail.Count(q.Type().Dim, "dimension"), field.Name, field.Type.Dim)
	}
	q, err = s.b.toParam(q, field.Type, off)
	if fail.Is(err, fail.InvalidVector) {
		e := *fail.As(err)
		e.Message = "column " + strconv.Quote(field.Name) + ": " + e.Message
		return nil, &e
	}
	return q, err
}

// textLeg binds a text search: its columns, its query, its mode.
func (s *searchCall) textLeg(args *callArgs) (plan.Leg, error) {
	leg := plan.Leg{Kind: plan.TextLeg}
	var err error
	if leg.Fields, err = s.textFields(args); err != nil {
		return leg, err
	}
	q, off, err := args.bind("query")
	if err != nil {
		return leg, err
	}
	if q == nil {
		return leg, s.b.fail(fail.UndefinedFunction, off, "text_search needs a query").WithHint("Write text_search(%s, 'words').", s.scan.Object.Name)
	}
	if leg.Query, err = s.b.coerce(q, types.Of(types.Text), off); err != nil {
		return leg, err
	}
	if leg.Mode, err = args.word("mode", "lucene", "match", "phrase", "simple"); err != nil {
		return leg, err
	}
	if leg.Mode == "simple" {
		leg.Mode = "match"
	}
	op, err := args.word("operator", "or", "and")
	leg.And = op == "and"
	return leg, err
}

// textFields reads column and columns; none means every FULLTEXT column.
func (s *searchCall) textFields(args *callArgs) ([]plan.FieldBoost, error) {
	var full []string
	for _, f := range s.scan.Object.Fields {
		if f.FullText != "" {
			full = append(full, f.Name)
		}
	}
	if len(full) == 0 {
		return nil, s.b.fail(fail.InvalidParameter, args.pos, "collection %q has no FULLTEXT column", s.scan.Object.Name).
			WithHint("Declare one: body TEXT FULLTEXT 'english'")
	}
	single, one := args.named["column"]
	list, many := args.named["columns"]
	switch {
	case one && many:
		return nil, s.b.fail(fail.Syntax, list.Pos(), "give either column or columns")
	case one:
		f, err := s.fullTextField(single, full)
		return []plan.FieldBoost{{Field: f, Boost: 1}}, err
	case !many:
		return nil, nil
	}
	names, err := args.texts("columns")
	if err != nil {
		return nil, err
	}
	var out []plan.FieldBoost
	for _, n := range names {
		name, boost, err := s.boost(n, list.Pos())
		if err != nil {
			return nil, err
		}
		f, err := s.fullTextField(&ast.StringLit{Span: ast.Span{Start: list.Pos(), Stop: list.End()}, Value: name}, full)
		if err != nil {
			return nil, err
		}
		out = append(out, plan.FieldBoost{Field: f, Boost: boost})
	}
	return out, nil
}

// boost splits 'title^2'.
func (s *searchCall) boost(text string, off int) (string, float64, error) {
	name, weight, ok := strings.Cut(text, "^")
	if !ok {
		return text, 1, nil
	}
	w, err := strconv.ParseFloat(weight, 64)
	if err != nil || !(w > 0) || math.IsInf(w, 0) {
		return "", 0, s.b.fail(fail.InvalidParameter, off, "the weight of column %q must be a number greater than 0, not %q", name, weight)
	}
	return strings.TrimSpace(name), w, nil
}

func (s *searchCall) fullTextField(e ast.Expr, full []string) (string, error) {
	f, err := s.fieldNamed(e)
	if err != nil {
		return "", err
	}
	if f.FullText == "" {
		return "", s.b.fail(fail.InvalidParameter, e.Pos(), "column %q has no text index", f.Name).
			WithHint("Declare it FULLTEXT; the FULLTEXT columns of %q are %s.", s.scan.Object.Name, strings.Join(full, ", "))
	}
	return f.Name, nil
}

// filter binds the argument filter: a condition, or a text that holds one. It
// reads the columns of the collection.
func (s *searchCall) filter(args *callArgs) (expr.Expr, error) {
	e, ok := args.named["filter"]
	if !ok {
		return nil, nil
	}
	if lit, isText := e.(*ast.StringLit); isText {
		return s.filterText(lit)
	}
	return s.filterExpr(e)
}

func (s *searchCall) filterExpr(e ast.Expr) (expr.Expr, error) {
	c := &clause{b: s.b, scope: s.scope, name: "filter"}
	pred, err := c.predicate(e)
	if err == nil && len(c.joins) > 0 {
		return nil, s.b.unsupported(e.Pos(), "a subquery in the filter of a search")
	}
	return pred, err
}

// filterText binds a filter given as text. Its errors stand at the argument, and
// name the place inside the text.
func (s *searchCall) filterText(lit *ast.StringLit) (expr.Expr, error) {
	e, err := parser.ParseExpr(lit.Value)
	if err == nil {
		err = s.noParams(e, lit)
	}
	if err == nil {
		outer := s.b.text
		s.b.text = lit.Value
		var pred expr.Expr
		pred, err = s.filterExpr(e)
		s.b.text = outer
		if err == nil {
			return pred, nil
		}
	}
	inner := fail.As(err)
	out := s.b.fail(inner.Code, lit.Pos(), "filter: %s", inner.Message)
	if inner.Pos.Line > 0 {
		out.Message += " (character " + strconv.Itoa(inner.Pos.Column) + " of the filter)"
	}
	out.Hint = inner.Hint
	return nil, out
}

// noParams refuses parameters inside a text: they have no number there.
func (s *searchCall) noParams(e ast.Expr, lit *ast.StringLit) error {
	found := false
	ast.Inspect(e, func(n ast.Node) bool {
		_, isParam := n.(*ast.Param)
		found = found || isParam
		return !found
	})
	if found {
		return fail.New(fail.Unsupported, "a parameter inside a text is not supported").WithHint("Write the filter without quotes: filter => (year > ?)")
	}
	return nil
}
