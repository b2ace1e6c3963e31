package parser

import (
	"strings"

	"github.com/loamdb/loam/planner/internal/ast"
)

// firstWords are the words that begin a statement, for suggestions.
var firstWords = []string{"SELECT", "INSERT", "UPDATE", "DELETE", "CREATE", "DROP", "ALTER", "EXPLAIN", "SHOW",
	"DESCRIBE", "TRUNCATE", "BEGIN", "COMMIT", "ROLLBACK", "VALUES", "WITH", "RESET", "PAUSE", "RESUME", "REPLAY",
	"VALIDATE", "ANALYZE", "FROM", "TABLE", "SET", "USE", "KILL", "CANCEL"}

// statement reads one statement.
func (p *parser) statement() ast.Statement {
	outer := p.enter()
	defer p.leave(outer)
	start := p.pos()
	t := p.tok()
	switch t.kw {
	case kwSelect, kwFrom, kwValues, kwTable:
		return p.query()
	case kwWith, kwInsert, kwUpdate, kwDelete:
		return p.withQuery()
	case kwTruncate:
		return p.truncate(start)
	case kwCreate:
		return p.create(start)
	case kwDrop:
		return p.drop(start)
	case kwAlter:
		return p.alter(start)
	}
	if t.kind == '(' {
		return p.query()
	}
	return p.utility(start)
}

// utility reads the statements that are neither query, DML nor DDL.
func (p *parser) utility(start int) ast.Statement {
	switch t := p.tok(); t.kw {
	case kwExplain:
		return p.explain(start)
	case kwAnalyze:
		return p.analyze(start)
	case kwShow:
		return p.show(start)
	case kwDescribe, kwDesc:
		return p.describeStatement(start)
	case kwSet:
		return p.set(start)
	case kwReset:
		return p.reset(start)
	case kwUse:
		p.advance()
		p.acceptOne(kwNamespace, kwSchema)
		name := p.name("the name of a namespace")
		return &ast.Use{Span: p.span(start), Name: name}
	case kwBegin, kwStart, kwCommit, kwEnd, kwRollback, kwAbort:
		return p.transaction(start)
	case kwPause, kwResume, kwReplay, kwValidate:
		return p.linkCommand(start)
	}
	if word := p.text(p.tok()); p.at(kWord) && (strings.EqualFold(word, "KILL") || strings.EqualFold(word, "CANCEL")) {
		return p.kill(start)
	}
	p.notAStatement()
	return &ast.Reset{}
}

// analyze reads ANALYZE [VERBOSE] [tables].
func (p *parser) analyze(start int) ast.Statement {
	p.advance()
	p.acceptKw(kwVerbose)
	s := &ast.Analyze{}
	if p.at(kWord) || p.at(kQuoted) {
		s.Tables = p.nameList("the name of a table")
	}
	s.Span = p.span(start)
	return s
}

// kill reads KILL [QUERY] id.
func (p *parser) kill(start int) ast.Statement {
	p.advance()
	if p.at(kWord) {
		p.wordOf("QUERY", "the id of a query")
	}
	at := p.pos()
	t := p.tok()
	p.expect(kNumber, "the id of a query")
	id := &ast.NumberLit{Span: p.span(at), Text: p.text(t)}
	return &ast.Kill{Span: p.span(start), ID: id}
}

// notAStatement reports a text that begins with no word of a statement.
func (p *parser) notAStatement() {
	t := p.tok()
	if p.at(kBad) || t.kind != kWord {
		p.unexpected("a statement")
		return
	}
	err := p.failAt(int(t.start), "expected a statement, found %s", p.describe(t))
	switch near := nearWord(p.text(t), firstWords); {
	case near != "":
		err.Hint = "Did you mean " + near + "?"
	case strings.EqualFold(p.text(t), "MERGE"):
		err.Hint = "INSERT INTO a collection is an upsert; UPDATE … FROM and DELETE … USING take a second table."
	case strings.EqualFold(p.text(t), "COPY"):
		err.Hint = "Write INSERT INTO t SELECT * FROM read_parquet('…') to load a file."
	}
}

func (p *parser) explain(start int) ast.Statement {
	p.advance()
	e := &ast.Explain{}
	if p.at('(') && !p.queryAt(p.i) {
		p.parens(func() { p.explainOption(e) })
	}
	for p.err == nil {
		switch p.acceptOne(kwAnalyze, kwVerbose, kwFormat) {
		case kwAnalyze:
			e.Analyze = true
			continue
		case kwVerbose:
			e.Verbose = true
			continue
		case kwFormat:
			e.Format = p.lowerWord("the name of a format: text, tree or json")
			continue
		}
		break
	}
	if p.atKw(kwExplain) {
		p.unexpected("the statement to explain")
	}
	e.Stmt = p.statement()
	e.Span = p.span(start)
	return e
}

// explainOption reads one option of EXPLAIN (ANALYZE, FORMAT json).
func (p *parser) explainOption(e *ast.Explain) {
	switch p.acceptOne(kwAnalyze, kwVerbose, kwFormat) {
	case kwAnalyze:
		e.Analyze = p.optionalBool()
	case kwVerbose:
		e.Verbose = p.optionalBool()
	case kwFormat:
		e.Format = p.lowerWord("the name of a format: text, tree or json")
	default:
		p.unexpected("ANALYZE, VERBOSE or FORMAT")
	}
}

func (p *parser) optionalBool() bool {
	switch p.acceptOne(kwTrue, kwFalse, kwOn) {
	case kwFalse:
		return false
	}
	return true
}

// showLists maps the words of SHOW; each is also a legal name of a setting.
var showLists = map[keyword]ast.ShowKind{kwNamespaces: ast.ShowNamespaces, kwSchemas: ast.ShowNamespaces,
	kwDatabases: ast.ShowNamespaces, kwCollections: ast.ShowCollections, kwTables: ast.ShowTables,
	kwViews: ast.ShowViews, kwColumns: ast.ShowColumns, kwFunctions: ast.ShowFunctions, kwTags: ast.ShowTags,
	kwStreams: ast.ShowStreams, kwLinks: ast.ShowLinks, kwAll: ast.ShowAll}

func (p *parser) show(start int) ast.Statement {
	p.advance()
	s := &ast.Show{}
	if p.peekKw(kwTime, kwZone) {
		s.Kind, s.Name = ast.ShowSetting, p.timeZoneName()
	} else if p.acceptKw(kwCreate) {
		s.Kind, s.Object = ast.ShowCreate, p.objectKind()
		s.Name = p.name("a name")
	} else if s.Kind = showLists[p.tok().kw]; s.Kind == 0 {
		s.Kind, s.Name = ast.ShowSetting, p.name("TABLES, COLLECTIONS, COLUMNS FROM t, FUNCTIONS or the name of a setting")
	} else {
		p.advance()
		p.showRest(s)
	}
	s.Span = p.span(start)
	return s
}

// showRest reads [FROM|IN|ON name] [LIKE 'pattern' | WHERE cond].
func (p *parser) showRest(s *ast.Show) {
	if p.acceptOne(kwFrom, kwIn, kwOn) != noKeyword {
		s.Name = p.name("a name")
	} else if s.Kind == ast.ShowColumns {
		p.unexpected("FROM and the name of a table")
	}
	switch {
	case p.atKw(kwLike):
		p.advance()
		at := p.pos()
		text := p.stringToken("a pattern")
		s.Like = &ast.StringLit{Span: p.span(at), Value: text}
	case p.acceptKw(kwWhere):
		s.Where = p.expr()
	}
}

// timeZoneName reads TIME ZONE, which is the setting timezone.
func (p *parser) timeZoneName() ast.Name {
	start := p.pos()
	p.acceptKw(kwTime, kwZone)
	return named("timezone", p.span(start))
}

func (p *parser) describeStatement(start int) ast.Statement {
	p.advance()
	d := &ast.Describe{}
	switch p.tok().kw {
	case kwSelect, kwWith, kwValues, kwFrom:
		d.Query = p.query()
	default:
		if p.at('(') {
			d.Query = p.queryInParens()
			break
		}
		if next := p.peek(1); isName(next) {
			p.acceptOne(kwCollection, kwView, kwStream, kwLink)
		}
		p.acceptOne(kwTable)
		d.Name = p.name("the name of a table")
	}
	d.Span = p.span(start)
	return d
}

func (p *parser) set(start int) ast.Statement {
	p.advance()
	s := &ast.Set{}
	if isName(p.peek(1)) || p.peek(1).kw == kwTime {
		s.Local = p.acceptOne(kwLocal, kwSession) == kwLocal
	}
	if p.peekKw(kwTime, kwZone) {
		s.Name = p.timeZoneName()
	} else {
		s.Name = p.name("the name of a setting")
		if !p.accept('=') && !p.acceptKw(kwTo) {
			p.unexpected(`"=" or TO`)
		}
	}
	p.list(func() {
		if at := p.pos(); p.acceptKw(kwDefault) {
			s.Values = append(s.Values, &ast.Default{Span: p.span(at)})
			return
		}
		s.Values = append(s.Values, p.settingValue())
	})
	s.Span = p.span(start)
	return s
}

func (p *parser) reset(start int) ast.Statement {
	p.advance()
	s := &ast.Reset{}
	switch {
	case p.acceptKw(kwAll):
	case p.peekKw(kwTime, kwZone):
		s.Name = p.timeZoneName()
	default:
		s.Name = p.name("the name of a setting, or ALL")
	}
	s.Span = p.span(start)
	return s
}

func (p *parser) transaction(start int) ast.Statement {
	s := &ast.Transaction{}
	switch first := p.advance().kw; first {
	case kwBegin:
		s.Kind = ast.TxBegin
	case kwStart:
		s.Kind = ast.TxBegin
		if !p.atKw(kwTransaction) {
			p.unexpected("TRANSACTION")
		}
	case kwCommit, kwEnd:
		s.Kind = ast.TxCommit
	default:
		s.Kind = ast.TxRollback
	}
	p.acceptOne(kwTransaction, kwWork)
	if s.Kind == ast.TxBegin {
		s.Mode = p.transactionModes()
	}
	s.Span = p.span(start)
	return s
}

func (p *parser) transactionModes() string {
	var modes []string
	for p.err == nil {
		switch {
		case p.acceptKw(kwRead, kwOnly):
			modes = append(modes, "READ ONLY")
		case p.acceptKw(kwRead, kwWrite):
			modes = append(modes, "READ WRITE")
		case p.acceptKw(kwIsolation, kwLevel):
			level := p.wordOf("SERIALIZABLE", "REPEATABLE", "READ", "SNAPSHOT")
			switch level {
			case "REPEATABLE":
				p.expectKw(kwRead)
				level += " READ"
			case "READ":
				level += " " + p.wordOf("COMMITTED", "UNCOMMITTED")
			}
			modes = append(modes, "ISOLATION LEVEL "+level)
		default:
			return strings.Join(modes, ", ")
		}
		p.accept(',')
	}
	return ""
}
