package load

import (
	"os"
	"path/filepath"
	"strings"
)

// ignoreRule is a line of a .gitignore file.
type ignoreRule struct {
	dir     string // of the file, relative to the walk's root, "" for the root
	parts   []string
	keep    bool // a line that begins with !
	dirOnly bool
}

// ignores are the rules of the .gitignore files above a place; the last that
// matches decides.
type ignores []ignoreRule

// read adds the rules of a directory's file, if there is one.
func (g ignores) read(root, dir string) ignores {
	text, err := os.ReadFile(filepath.Join(root, dir, ".gitignore"))
	if err != nil {
		return g
	}
	out := g[:len(g):len(g)]
	for line := range strings.SplitSeq(string(text), "\n") {
		if rule, ok := parseIgnore(strings.TrimRight(line, " \t\r")); ok {
			rule.dir = filepath.ToSlash(dir)
			out = append(out, rule)
		}
	}
	return out
}

// parseIgnore reads a line. A pattern with a slash, but for the last byte, is
// anchored at its directory; any other matches at every depth.
func parseIgnore(line string) (ignoreRule, bool) {
	if line == "" || line[0] == '#' {
		return ignoreRule{}, false
	}
	var r ignoreRule
	line, r.keep = strings.CutPrefix(line, "!")
	line, r.dirOnly = strings.CutSuffix(strings.TrimPrefix(line, `\`), "/")
	anchored := strings.Contains(line, "/")
	r.parts = strings.Split(strings.TrimPrefix(line, "/"), "/")
	if !anchored {
		r.parts = append([]string{"**"}, r.parts...)
	}
	return r, line != ""
}

// match reports whether a path below the root is ignored.
func (g ignores) match(rel string, isDir bool) bool {
	out := false
	for _, r := range g {
		if r.dirOnly && !isDir {
			continue
		}
		below := rel
		if r.dir != "" {
			var ok bool
			if below, ok = strings.CutPrefix(rel, r.dir+"/"); !ok {
				continue
			}
		}
		if matches(r.parts, strings.Split(below, "/")) {
			out = !r.keep
		}
	}
	return out
}
