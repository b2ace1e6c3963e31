package load

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/loamdb/loam/internal/clock"
	"github.com/loamdb/loam/internal/datafile"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/types"
)

// Options say what is loaded, and how.
type Options struct {
	Target    string
	Files     []string
	Namespace string

	Create, DryRun                    bool
	Key                               string
	Vectors, FullText, Types, Renames []string
	IgnoreExtra                       bool

	Format, Delimiter, Quote, Header string
	Nulls                            []string

	// Chunk and Overlap are of the passages of texts, in words. Prune deletes
	// passages of texts that are not among the files.
	Chunk, Overlap int
	Prune          bool

	Streams   int
	MaxErrors int64
	// Errors is the file of the rows that are wrong, Resume the state file.
	Errors, Resume string
	// Patience is how long a server that does not answer is waited for.
	Patience time.Duration
	Quiet    bool
	// Connect is how the printed commands reach the same server: " --endpoint …".
	Connect string

	file   datafile.Options
	design *design
}

// IO are the load's files and clock. Terminal says that Err is one.
type IO struct {
	In       io.Reader
	Out, Err io.Writer
	Terminal bool
	Clock    clock.Clock
}

// Check reads the options; its errors are of the command line.
func (o *Options) Check() (err error) {
	switch {
	case o.Target == "":
		return fail.New(fail.InvalidParameter, "loam load needs a target and files").WithHint("loam load TARGET FILE… (loam load -h lists the flags).")
	case len(o.Files) == 0:
		return fail.New(fail.InvalidParameter, "no file is named").WithHint("loam load %s FILE…, or - for standard input.", o.Target)
	case o.Streams < 1 || o.Streams > 64:
		return fail.New(fail.InvalidParameter, "--streams %d is not a number from 1 to 64", o.Streams)
	case o.MaxErrors < 0:
		return fail.New(fail.InvalidParameter, "--max-errors %d is negative", o.MaxErrors)
	case o.Chunk < 10 || o.Chunk > 100_000:
		return fail.New(fail.InvalidParameter, "--chunk %d is not a number of words from 10 to 100000", o.Chunk)
	case o.Overlap < 0 || o.Overlap > o.Chunk/2:
		return fail.New(fail.InvalidParameter, "--overlap %d is not a number of words from 0 to %d, half of --chunk", o.Overlap, o.Chunk/2)
	case !o.Create && (o.Key != "" || len(o.Vectors)+len(o.FullText)+len(o.Types) > 0):
		return fail.New(fail.InvalidParameter, "--key, --vector, --fulltext and --type describe a target that is made").WithHint("Add --create.")
	}
	for _, f := range o.Files {
		if f == stdin && o.Format == textFormat {
			return fail.New(fail.InvalidParameter, "a text needs the name of a file: its passages are called by it").WithHint("Write standard input to a file first.")
		}
		if f == stdin && o.Resume != "" {
			return fail.New(fail.InvalidParameter, "standard input cannot be resumed: it cannot be read twice").WithHint("Write it to a file first.")
		}
	}
	if err := o.checkFormat(); err != nil {
		return err
	}
	o.design, err = newDesign(o)
	return err
}

func (o *Options) checkFormat() (err error) {
	if o.Format != "" && o.Format != textFormat {
		if o.file.Format, err = datafile.ParseFormat(o.Format); err != nil {
			return err
		}
	}
	switch strings.ToLower(o.Delimiter) {
	case "":
	case "tab", `\t`:
		o.file.Delimiter = '\t'
	default:
		if len(o.Delimiter) != 1 {
			return fail.New(fail.InvalidParameter, "--delim %q is not one character", o.Delimiter).WithHint("Such as --delim ';' or --delim tab.")
		}
		o.file.Delimiter = o.Delimiter[0]
	}
	switch {
	case o.Quote == "":
	case o.Quote == "none":
		o.file.Quote = datafile.NoQuote
	case len(o.Quote) == 1:
		o.file.Quote = o.Quote[0]
	default:
		return fail.New(fail.InvalidParameter, "--quote %q is not one character, or none", o.Quote)
	}
	yes, no := true, false
	switch o.Header {
	case "":
	case "yes":
		o.file.Header = &yes
	case "no":
		o.file.Header = &no
	default:
		return fail.New(fail.InvalidParameter, "--header is yes or no, not %q", o.Header)
	}
	o.file.Nulls = o.Nulls
	return nil
}

// loader is one run of loam load.
type loader struct {
	server Server
	io     IO
	opts   *Options
	status *status
	target *target
	track  *tracker
	errs   *reporter
	items  []*item

	first     *opened // the first file, when its sample made the target
	made      bool    // the target, by this run
	packets   []chan *packet
	told      map[string]bool // what was said about formats and columns
	counts    map[string]int  // passages of each text
	leftOut   []string        // texts that are not UTF-8, and the like
	example   string          // a word of the full-text column exampleOf
	exampleOf int
}

// Run loads files into a target; o has been checked. It returns an error with
// its code, after saying how far it came; fail.Canceled when ctx ended.
func Run(ctx context.Context, s Server, files IO, o *Options) error {
	l := &loader{server: s, io: files, opts: o, told: map[string]bool{}, counts: map[string]int{}}
	l.track = &tracker{path: o.Resume, clock: files.Clock}
	l.status = &status{out: files.Err, terminal: files.Terminal, quiet: o.Quiet, clock: files.Clock, began: files.Clock.Mono(),
		rows: func() int64 { n, _ := l.track.loaded(); return n }}
	l.errs = &reporter{max: o.MaxErrors}
	defer func() {
		if l.first != nil {
			l.first.Close()
		}
	}()
	var err error
	if l.items, err = expand(o.Files, o); err != nil {
		return err
	}
	if err := l.prepare(ctx); err != nil || o.DryRun {
		return err
	}
	if err := l.openErrors(); err != nil {
		return err
	}
	if err := l.restore(); err != nil {
		return err
	}
	if err = l.load(ctx); err == nil && len(l.counts) > 0 {
		err = l.sweep(ctx)
	}
	return l.finish(err)
}

// prepare finds the target, or makes it.
func (l *loader) prepare(ctx context.Context) error {
	ns, name, err := splitName(l.opts.Target, l.opts.Namespace)
	if err != nil {
		return err
	}
	if l.target, err = describe(ctx, l.server, ns, name); err != nil {
		return err
	}
	texts, err := l.texts()
	switch {
	case err != nil:
		return err
	case l.target != nil && l.opts.Create:
		l.status.say("%s %s is there already: its own columns and types hold", l.target.kind, l.target.sql())
	case l.target != nil:
	case !l.opts.Create && !texts:
		e := fail.New(fail.UndefinedTable, "there is no collection or table %s.%s", ns, name)
		if near := similar(ctx, l.server, ns, name); near != "" {
			return e.WithHint("Did you mean %q? To make it from the file: --create, with --key column for a collection.", near)
		}
		return e.WithHint("To make it from the file: --create, with --key column for a collection.")
	default:
		return l.create(ctx, ns, name, texts)
	}
	if l.opts.DryRun {
		fmt.Fprintf(l.io.Out, "-- %s %s is there already; nothing would be made\n", l.target.kind, l.target.sql())
	}
	return nil
}

// sampleRows is how many rows of the first file decide the types of a new target.
const sampleRows = 10_000

// create makes the target: as texts need it, or as the first file suggests.
func (l *loader) create(ctx context.Context, ns, name string, texts bool) error {
	design := l.planFile
	if texts {
		design = func(ns, name string) (*datafile.Sample, string, error) {
			t, err := l.planTexts(ns, name)
			l.target = t
			return nil, fmt.Sprintf("passages of %s, up to %d words each, %d of them repeated", plural(int64(len(l.items)), "text"), l.opts.Chunk, l.opts.Overlap), err
		}
	}
	s, why, err := design(ns, name)
	if err != nil {
		return err
	}
	sql := l.opts.design.createSQL(l.target)
	out := l.io.Err
	if l.opts.DryRun {
		out = l.io.Out
	}
	if !l.opts.Quiet || l.opts.DryRun {
		fmt.Fprintf(out, "-- %s\n%s;\n", why, sql)
		l.advise(s)
	}
	if l.opts.DryRun {
		return nil
	}
	if _, err := l.server.Query(ctx, sql); err != nil {
		return err
	}
	l.made = true
	l.target, err = describe(ctx, l.server, ns, name)
	if err == nil && l.target == nil {
		err = fail.New(fail.Conflict, "%s.%s was made and is gone again", ns, name)
	}
	return err
}

// planFile infers the target from the first file, which stays open for the load.
func (l *loader) planFile(ns, name string) (*datafile.Sample, string, error) {
	var err error
	if l.first, err = l.openItem(l.items[0]); err != nil {
		return nil, "", err
	}
	s, err := l.first.Sample(sampleRows)
	if err != nil {
		return nil, "", err
	}
	if len(s.Columns) == 0 {
		return nil, "", fail.New(fail.InvalidParameter, "%s is empty: there is nothing to infer columns from", l.items[0].name)
	}
	l.target, err = l.opts.design.plan(ns, name, s)
	of := "the first " + plural(s.Rows, "row")
	switch {
	case s.All && s.Rows == 1:
		of = "the only row"
	case s.All:
		of = "all " + plural(s.Rows, "row")
	}
	return s, fmt.Sprintf("types from %s of %s (%s)", of, l.items[0].name, l.first.Describe()), err
}

// advise tells what the command could have asked for.
func (l *loader) advise(s *datafile.Sample) {
	if s == nil {
		return
	}
	for i, c := range s.Columns {
		n := s.Lengths[i]
		_, asked := l.opts.design.vectorOf(c.Name, c.Name)
		if list := c.Type.Kind == types.List && c.Type.Elem.Numeric(); !asked && list && n >= 8 {
			l.status.say("-- all lists of %q have %s: if they are vectors, add --vector %s:%d:cosine", c.Name, fail.Count(n, "number"), c.Name, n)
		}
	}
	if !l.target.isCollection() {
		l.status.say("-- a table, for no key is named; with --key column it is a collection: upserts, full text, vectors")
	}
}

// openErrors makes the file of the rows that are wrong.
func (l *loader) openErrors() error {
	if l.opts.Errors == "" {
		return nil
	}
	f, err := os.Create(l.opts.Errors)
	if err != nil {
		return fail.Wrap(fail.InvalidParameter, err, "--errors file")
	}
	enc := json.NewEncoder(f)
	enc.SetEscapeHTML(false)
	l.errs.write = func(e rowError) error {
		return fail.Wrap(fail.InvalidParameter, enc.Encode(e), "--errors file")
	}
	l.errs.close = f.Close
	return nil
}

// restore reads the state file.
func (l *loader) restore() error {
	l.track.items, l.track.target = l.items, l.target.namespace+"."+l.target.name
	for _, it := range l.items {
		l.status.total += it.size
		if it.path == "" {
			l.status.total = 0
			break
		}
	}
	if l.opts.Resume == "" {
		return nil
	}
	st, err := readState(l.opts.Resume, l.track.target)
	if err != nil {
		return err
	}
	before := int64(0)
	for _, it := range l.items {
		if err := st.resume(it); err != nil {
			return err
		}
		before += it.done.count()
	}
	if before > 0 {
		l.status.say("%s rows are in already, by %s", thousands(before), l.opts.Resume)
	}
	return nil
}

// grace is how long a batch that is under way may take after a stop.
const grace = 5 * time.Second

// load reads in one goroutine and sends in one a stream.
func (l *loader) load(ctx context.Context) error {
	g, gctx := errgroup.WithContext(ctx)
	hard, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	defer context.AfterFunc(gctx, func() {
		_ = l.io.Clock.Sleep(hard, grace)
		stop()
	})()
	for range l.opts.Streams {
		in := make(chan *packet, 1)
		l.packets = append(l.packets, in)
		s := &sender{server: l.server, target: l.target, clock: l.io.Clock, patience: l.opts.Patience, track: l.track, errs: l.errs, status: l.status}
		g.Go(func() error { return s.run(gctx, hard, in) })
	}
	g.Go(func() error {
		defer func() {
			for _, c := range l.packets {
				close(c)
			}
		}()
		return l.readAll(gctx)
	})
	drawing, end := context.WithCancel(gctx)
	var drawn errgroup.Group
	drawn.Go(func() error { l.status.run(drawing); return nil })
	err := g.Wait()
	end()
	_ = drawn.Wait()
	if ctx.Err() != nil && (err == nil || fail.Is(err, fail.Canceled)) {
		return fail.New(fail.Canceled, "stopped on request")
	}
	return err
}

// readAll reads the files one after the other.
func (l *loader) readAll(ctx context.Context) error {
	p := newPacker(l.target, l.opts.Streams, func(stream int, p *packet) error {
		select {
		case l.packets[stream] <- p:
			return nil
		case <-ctx.Done():
			return fail.New(fail.Canceled, "stopped on request")
		}
	})
	for _, it := range l.items {
		if done, complete := l.track.in(it); complete {
			l.status.read.Add(it.size)
			if it.text {
				l.counts[it.rel] = int(done.count())
			}
			continue
		}
		if err := l.readItem(ctx, p, it); err != nil {
			return err
		}
		l.track.ended(it)
	}
	return p.flushAll()
}

func (l *loader) readItem(ctx context.Context, p *packer, it *item) error {
	m := &mapping{target: l.target, design: l.opts.design, ignoreExtra: l.opts.IgnoreExtra}
	if it.text {
		b, err := l.readText(it)
		if err != nil || b == nil {
			return err
		}
		return l.take(p, it, nil, m, b, true)
	}
	f := l.first
	l.first = nil
	if f == nil {
		var err error
		if f, err = l.openItem(it); err != nil {
			return err
		}
	}
	defer f.Close()
	if !l.told[f.Describe()] {
		l.told[f.Describe()] = true
		l.status.say("%s: %s", it.name, f.Describe())
	}
	for first := true; ctx.Err() == nil; first = false {
		b, err := f.Next()
		if err != nil || b == nil {
			return err
		}
		if err := l.take(p, it, f, m, b, first); err != nil {
			return err
		}
	}
	return fail.New(fail.Canceled, "stopped on request")
}

// take converts a batch and hands its rows on.
func (l *loader) take(p *packer, it *item, f *opened, m *mapping, b *datafile.Batch, first bool) error {
	if len(b.Columns) > len(m.to) {
		if err := m.extend(b.Columns, func(i int) types.Type { return inferred(f, b, i) }); err != nil {
			return inFile(it.name, err)
		}
		for _, n := range m.ignored {
			if !l.told["column "+n] {
				l.told["column "+n] = true
				l.status.say("%s: column %q is left out", it.name, n)
			}
		}
	}
	if first {
		if err := m.complete(b.Columns); err != nil {
			return inFile(it.name, err)
		}
	}
	c := m.convert(b)
	done, _ := l.track.in(it)
	c.skip(done)
	for _, e := range c.bad {
		if err := l.errs.add(it.name, e); err != nil {
			return err
		}
	}
	l.remember(c)
	u := &unit{it: it, from: b.From, to: b.To}
	l.track.begin(u, c.n)
	return p.add(u, c)
}

// inferred is the type of a column that joins a dynamic collection.
func inferred(f *opened, b *datafile.Batch, i int) types.Type {
	if f == nil {
		return b.Columns[i].Type
	}
	return f.Infer(b, i)
}

func inFile(name string, err error) error {
	e := *fail.As(err)
	e.Message = name + ": " + e.Message
	return &e
}
