package shell

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/loamdb/loam/cmd/loam/internal/shell/internal/complete"
	"github.com/loamdb/loam/cmd/loam/internal/shell/internal/render"
	"github.com/loamdb/loam/planner"
)

const (
	// namesAge is how long names are believed while no statement changes them.
	namesAge = 30 * time.Second
	// namesPatience is how long Tab waits for the server.
	namesPatience = time.Second
)

// catalogNames are the names for completion, read from the system tables when
// they are wanted and may have changed.
type catalogNames struct {
	shell   *Shell
	known   complete.Names
	read    time.Duration
	version int // of Shell.changes
}

// get is what is known; a server that does not answer in time leaves the old names.
func (c *catalogNames) get(ctx context.Context) *complete.Names {
	s := c.shell
	now := s.cfg.Clock.Mono()
	if c.read != 0 && c.version == s.changes && now-c.read < namesAge {
		return &c.known
	}
	ctx, cancel := context.WithTimeout(ctx, namesPatience)
	defer cancel()
	c.static()
	if c.load(ctx) == nil {
		c.version = s.changes
	}
	c.read = now
	return &c.known
}

// static fills in what no server knows.
func (c *catalogNames) static() {
	var statements, formats []string
	for _, x := range parseSyntax(syntaxText) {
		statements = append(statements, x.name)
	}
	for _, f := range render.Formats {
		formats = append(formats, string(f))
	}
	switches := []string{"on", "off"}
	c.known.Commands, c.known.Statements, c.known.Files = commandNames(), statements, filesOf
	c.known.Words = map[string][]string{
		"format": formats, "pset format": formats, "timing": switches, "pset timing": switches, "pset pager": switches,
		"x": {"on", "off", "auto"}, "pset expanded": {"on", "off", "auto"}, "pset": options,
	}
}

func (c *catalogNames) load(ctx context.Context) error {
	s := c.shell
	column := func(sql, name string) (out []string, err error) {
		recs, err := s.records(ctx, sql)
		for _, r := range recs {
			out = append(out, r[name])
		}
		return out, err
	}
	namespaces, err := column("SELECT namespace FROM system.namespaces", "namespace")
	if err != nil {
		return err
	}
	settings, err := column("SELECT name FROM system.settings", "name")
	if err != nil {
		return err
	}
	functions, err := s.records(ctx, "SELECT name, kind FROM system.functions")
	if err != nil {
		return err
	}
	objects, err := c.objects(ctx)
	if err != nil {
		return err
	}
	k := &c.known
	k.Namespace, k.Namespaces, k.Settings, k.Objects = s.current, append(namespaces, "system", "information_schema"), settings, objects
	k.Functions, k.TableFunctions = nil, nil
	for _, f := range functions {
		if kind := f["kind"]; kind == "table" || kind == "search" {
			k.TableFunctions = append(k.TableFunctions, f["name"])
		} else {
			k.Functions = append(k.Functions, f["name"])
		}
	}
	return nil
}

func (c *catalogNames) objects(ctx context.Context) ([]complete.Object, error) {
	var out []complete.Object
	at := map[string]int{}
	recs, err := c.shell.records(ctx, "SELECT namespace, name, kind FROM system.tables")
	if err != nil {
		return nil, err
	}
	for _, r := range recs {
		at[r["namespace"]+"."+r["name"]] = len(out)
		out = append(out, complete.Object{Namespace: r["namespace"], Name: r["name"], Kind: r["kind"]})
	}
	cols, err := c.shell.records(ctx, `SELECT namespace, "table", "column" FROM system.columns`)
	if err != nil {
		return nil, err
	}
	for _, r := range cols {
		if i, ok := at[r["namespace"]+"."+r["table"]]; ok {
			out[i].Columns = append(out[i].Columns, r["column"])
		}
	}
	for _, t := range planner.SystemTables() {
		if i, ok := at["system."+t.Name]; ok && len(out[i].Columns) == 0 {
			for _, f := range t.Fields {
				out[i].Columns = append(out[i].Columns, f.Name)
			}
		}
	}
	return out, nil
}

// filesOf lists the paths that begin with a text.
func filesOf(prefix string) []string {
	dir, base := filepath.Split(prefix)
	where := home(dir)
	if where == "" {
		where = "."
	}
	entries, err := os.ReadDir(where)
	if err != nil {
		return nil
	}
	var out []string
	for _, e := range entries {
		name := e.Name()
		if !strings.HasPrefix(name, base) || base == "" && strings.HasPrefix(name, ".") {
			continue
		}
		if info, err := os.Stat(filepath.Join(where, name)); err == nil && info.IsDir() {
			name += "/"
		}
		out = append(out, dir+name)
	}
	return out
}
