package parser

import (
	"github.com/loamdb/loam/planner/internal/ast"
)

func (p *parser) createStream(start int, orReplace bool) ast.Statement {
	p.advance()
	s := &ast.CreateStream{OrReplace: orReplace, IfNotExists: p.ifNotExists()}
	s.Name = p.name("the name of a stream")
	if p.at('(') {
		p.parens(func() {
			c := p.columnDef()
			if c.Type == nil {
				p.unexpected("the type of the column")
			}
			s.Columns = append(s.Columns, c)
		})
	}
	s.Options = p.withOptions()
	s.Span = p.span(start)
	return s
}

// createLink reads CREATE LINK; after the target its clauses may stand in any
// order, each once.
func (p *parser) createLink(start int, orReplace bool) ast.Statement {
	p.advance()
	s := &ast.CreateLink{OrReplace: orReplace, IfNotExists: p.ifNotExists()}
	s.Name = p.name("the name of a link")
	p.expectKw(kwFrom)
	s.From = p.wordOf("STREAM", "TABLE")
	s.Source = p.name("the name of the source")
	if p.acceptKw(kwPartitions) {
		p.parens(func() { s.Partitions = append(s.Partitions, p.integer("the number of a partition")) })
	}
	s.Start = p.start()
	p.expectKw(kwInto)
	s.Into = p.wordOf("COLLECTION", "TABLE", "GRAPH", "STREAM")
	s.Target = p.name("the name of the target")
	if p.at('(') {
		s.Columns = p.identList("the name of a column")
	}
	seen := map[string]bool{}
	for p.err == nil {
		at := p.pos()
		clause := p.linkClause(s)
		if clause == "" {
			break
		}
		if seen[clause] {
			p.failAt(at, "%s stands twice in one link", clause)
		}
		seen[clause] = true
	}
	s.Span = p.span(start)
	return s
}

// linkClause reads one clause of CREATE LINK and names it; "" where none stands here.
func (p *parser) linkClause(s *ast.CreateLink) string {
	switch {
	case p.acceptKw(kwDecode):
		p.expectKw(kwAs)
		s.Decode = p.wordOf("JSON", "AVRO", "PROTOBUF", "CSV", "RAW")
		s.DecodeOptions = p.withOptions()
		return "DECODE"
	case p.acceptKw(kwTransform):
		s.Transform = p.queryInParens()
		return "TRANSFORM"
	case p.acceptKw(kwOn, kwError):
		s.OnError = p.wordOf("FAIL", "SKIP", "DEAD_LETTER")
		if s.OnError == "DEAD_LETTER" && p.acceptKw(kwTo, kwStream) {
			s.DeadLetter = p.name("the name of a stream")
		}
		return "ON ERROR"
	case p.atKw(kwOn):
		p.advance()
		p.expectKw(kwSchema)
		if p.wordOf("CHANGE", "CHANGES") != "" {
			s.OnSchema = p.wordOf("PROPAGATE", "PAUSE", "IGNORE")
		}
		return "ON SCHEMA CHANGE"
	case p.acceptKw(kwKey):
		p.parens(func() { s.Key = append(s.Key, p.expr()) })
		return "KEY"
	case p.acceptKw(kwDelete):
		p.expectKw(kwWhen)
		s.DeleteWhen = p.expr()
		return "DELETE WHEN"
	case p.acceptKw(kwPaused):
		s.Paused = true
		return "PAUSED"
	case p.acceptKw(kwComment):
		s.Comment = p.stringToken("a string")
		return "COMMENT"
	case p.atKw(kwWith):
		p.advance()
		s.Options = p.options()
		return "WITH"
	}
	return ""
}

// start reads START …; nil where none stands here.
func (p *parser) start() *ast.Start {
	begin := p.pos()
	if !p.acceptKw(kwStart) {
		return nil
	}
	s := &ast.Start{}
	switch {
	case p.acceptKw(kwEarliest):
		s.Kind = ast.StartEarliest
	case p.acceptKw(kwLatest):
		s.Kind = ast.StartLatest
	case p.acceptKw(kwAt, kwTimestamp):
		s.Kind = ast.StartTimestamp
		s.Value = p.expr()
	case p.acceptKw(kwAt, kwOffsets):
		s.Kind = ast.StartOffsets
		s.Value = p.mapEntries(p.pos())
	default:
		p.unexpected("EARLIEST, LATEST, AT TIMESTAMP or AT OFFSETS")
	}
	s.Span = p.span(begin)
	return s
}

// alterLink reads what follows ALTER.
func (p *parser) alterLink(start int) ast.Statement {
	p.advance()
	s := &ast.AlterLink{IfExists: p.ifExists()}
	s.Name = p.name("the name of a link")
	switch p.acceptOne(kwRename, kwSet, kwReset, kwPause, kwResume) {
	case kwRename:
		p.expectKw(kwTo)
		s.Action, s.NewName = ast.LinkRename, p.ident("a new name")
	case kwSet:
		if p.acceptKw(kwTransform) {
			s.Action, s.Transform = ast.LinkTransform, p.queryInParens()
			break
		}
		s.Action, s.Options = ast.LinkSet, p.options()
	case kwReset:
		s.Action = ast.LinkReset
		p.parens(func() {
			at := p.pos()
			o := &ast.Option{Name: p.name("the name of an option")}
			o.Span = p.span(at)
			s.Options = append(s.Options, o)
		})
	case kwPause:
		s.Action = ast.LinkPause
		p.pauseRest(s)
	case kwResume:
		s.Action, s.Start = ast.LinkResume, p.start()
	default:
		p.unexpected("RENAME TO, SET, RESET, PAUSE or RESUME")
	}
	s.Span = p.span(start)
	return s
}

// linkCommand reads PAUSE, RESUME, REPLAY and VALIDATE LINK.
func (p *parser) linkCommand(start int) ast.Statement {
	first := p.advance().kw
	p.expectKw(kwLink)
	s := &ast.AlterLink{IfExists: p.ifExists()}
	s.Name = p.name("the name of a link")
	switch first {
	case kwPause:
		s.Action = ast.LinkPause
		p.pauseRest(s)
	case kwResume:
		s.Action, s.Start = ast.LinkResume, p.start()
	case kwReplay:
		s.Action, s.Start = ast.LinkReplay, p.start()
		s.Options = p.withOptions()
	default:
		s.Action = ast.LinkValidate
	}
	s.Span = p.span(start)
	return s
}

func (p *parser) pauseRest(s *ast.AlterLink) {
	s.Drain = p.acceptKw(kwWith, kwDrain)
	if p.acceptKw(kwReason) {
		s.Reason = p.stringToken("a string")
	}
}
