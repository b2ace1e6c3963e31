package passages

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// dropped are elements whose text nobody reads.
var dropped = map[atom.Atom]bool{
	atom.Script: true, atom.Style: true, atom.Noscript: true, atom.Template: true, atom.Nav: true, atom.Svg: true,
	atom.Iframe: true, atom.Object: true, atom.Select: true, atom.Button: true,
}

// blocks are elements that begin and end a line; paragraphs those with a blank line around.
var (
	blocks = map[atom.Atom]bool{
		atom.Div: true, atom.Li: true, atom.Tr: true, atom.Dt: true, atom.Dd: true, atom.Br: true, atom.Hr: true,
		atom.Figcaption: true, atom.Caption: true, atom.Address: true, atom.Option: true,
	}
	paragraphs = map[atom.Atom]bool{
		atom.P: true, atom.Pre: true, atom.Blockquote: true, atom.Table: true, atom.Ul: true, atom.Ol: true, atom.Dl: true,
		atom.Section: true, atom.Article: true, atom.Main: true, atom.Header: true, atom.Footer: true, atom.Aside: true, atom.Figure: true,
		atom.H1: true, atom.H2: true, atom.H3: true, atom.H4: true, atom.H5: true, atom.H6: true,
	}
	headingLevels = map[atom.Atom]int{atom.H1: 1, atom.H2: 2, atom.H3: 3, atom.H4: 4, atom.H5: 5, atom.H6: 6}
)

// page collects the text of an HTML document.
type page struct {
	splitter
	b     strings.Builder
	title string
	depth int
}

// maxNesting bounds how deep elements are followed; browsers stop at 512.
const maxNesting = 2000

// readHTML is the text of a document and its sections. The title stands for a
// first heading where there is none.
func readHTML(text string) (string, []section) {
	doc, err := html.Parse(strings.NewReader(text))
	if err != nil {
		return text, []section{{end: len(text)}} // the parser fails on reading only
	}
	p := &page{splitter: *newSplitter()}
	p.walk(doc, false)
	sections := p.done(p.b.Len())
	for i := range sections {
		if sections[i].heading == "" {
			sections[i].heading = p.title
		}
	}
	return p.b.String(), sections
}

func (p *page) walk(n *html.Node, pre bool) {
	if p.depth++; p.depth > maxNesting {
		p.depth--
		return
	}
	defer func() { p.depth-- }()
	switch {
	case n.Type == html.TextNode && pre:
		p.b.WriteString(n.Data)
		return
	case n.Type == html.TextNode:
		p.words(n.Data)
		return
	case n.Type == html.ElementNode && n.DataAtom == atom.Title:
		p.title = squeeze(textOf(n))
		return
	case n.Type == html.ElementNode && (dropped[n.DataAtom] || hidden(n)):
		return
	}
	p.breakLine(n.DataAtom)
	if level := headingLevels[n.DataAtom]; level > 0 {
		p.begin(p.b.Len(), level, squeeze(textOf(n)))
	}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		p.walk(c, pre || n.DataAtom == atom.Pre)
	}
	if n.DataAtom == atom.Td || n.DataAtom == atom.Th {
		p.b.WriteString(" ")
	}
	p.breakLine(n.DataAtom)
}

// hidden reports navigation and what is not shown, by attributes.
func hidden(n *html.Node) bool {
	for _, a := range n.Attr {
		if a.Key == "hidden" || a.Key == "role" && a.Val == "navigation" || a.Key == "aria-hidden" && a.Val == "true" {
			return true
		}
	}
	return false
}

// words writes text with its blanks joined.
func (p *page) words(text string) {
	joined := squeeze(text)
	first, _ := utf8.DecodeRuneInString(text)
	last, _ := utf8.DecodeLastRuneInString(text)
	lead := unicode.IsSpace(first)
	if lead && p.b.Len() > 0 && !strings.HasSuffix(p.b.String()[max(0, p.b.Len()-1):], "\n") {
		p.b.WriteByte(' ')
	}
	p.b.WriteString(joined)
	if joined != "" && unicode.IsSpace(last) {
		p.b.WriteByte(' ')
	}
}

func squeeze(text string) string { return strings.Join(strings.Fields(text), " ") }

func (p *page) breakLine(a atom.Atom) {
	if p.b.Len() == 0 {
		return
	}
	want := 0
	switch {
	case paragraphs[a]:
		want = 2
	case blocks[a]:
		want = 1
	}
	tail := p.b.String()[max(0, p.b.Len()-2):]
	have := len(tail) - len(strings.TrimRight(tail, "\n"))
	p.b.WriteString(strings.Repeat("\n", max(0, want-have)))
}

func textOf(n *html.Node) string {
	var b strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode {
			b.WriteString(d.Data)
		}
	}
	return b.String()
}
