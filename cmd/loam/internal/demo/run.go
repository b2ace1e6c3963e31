package demo

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/loamdb/loam/flightsql/client"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

// Server is where the demo's server listens and keeps its data.
type Server struct {
	Flight, HTTP, Dir string
	// Terminal draws the progress bar as it grows; else only its end is printed.
	Terminal bool
	// Keep says that the server stays when the tour is over.
	Keep bool
}

// batchRows is how many symbols go into one record batch.
const batchRows = 512

// Run loads the library's documentation over Flight and asks questions of it.
// Everything is printed to out; the first error ends it.
func Run(ctx context.Context, out io.Writer, s Server) error {
	d := &tour{out: out, server: s}
	root, err := FindGoroot(ctx)
	if err != nil {
		return err
	}
	began := time.Now()
	if d.lib, err = ReadLibrary(ctx, os.DirFS(root)); err != nil {
		return err
	}
	if d.emb, err = LoadEmbeddings(); err != nil {
		return err
	}
	fmt.Fprintf(out, "Loam demo: the documentation of Go's standard library (%s)\n", d.lib.GoVersion)
	fmt.Fprintf(out, "  read %d symbols of %d packages in %s\n", len(d.lib.Symbols), len(d.lib.Packages), short(time.Since(began)))
	fmt.Fprintf(out, "  server at grpc://%s and http://%s, data in %s\n\n", s.Flight, s.HTTP, s.Dir)
	if d.client, err = client.Dial("grpc://"+s.Flight, client.Options{}); err != nil {
		return err
	}
	defer func() { _ = d.client.Close() }()
	for _, step := range []func(context.Context) error{d.create, d.load, d.ask, d.scan} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	goodbye(out, s)
	return nil
}

// tour is the state of one demo.
type tour struct {
	out    io.Writer
	server Server
	lib    *Library
	emb    *Embeddings
	client *client.Client
}

func short(d time.Duration) string {
	if d < time.Second {
		return fmt.Sprintf("%.1f ms", float64(d.Microseconds())/1000)
	}
	return fmt.Sprintf("%.2f s", d.Seconds())
}

func (d *tour) create(ctx context.Context) error {
	for _, sql := range []string{createSymbols, createPackages} {
		if _, err := d.client.Query(ctx, sql); err != nil {
			return err
		}
		fmt.Fprintln(d.out, sql+";")
	}
	fmt.Fprintln(d.out)
	return nil
}

// load puts both collections over DoPut, with a bar for the symbols.
func (d *tour) load(ctx context.Context) error {
	if err := d.put(ctx, "packages", len(d.lib.Packages), d.packageBatch, nil); err != nil {
		return err
	}
	began := time.Now()
	missing := 0
	for _, s := range d.lib.Symbols {
		if _, ok := d.emb.Vector(s.ID); !ok {
			missing++
		}
	}
	total := len(d.lib.Symbols)
	err := d.put(ctx, "symbols", total, d.symbolBatch, func(done int) {
		if !d.server.Terminal && done < total {
			return
		}
		const width = 30
		full := width * done / total
		rate := float64(done) / max(time.Since(began).Seconds(), 1e-6)
		fmt.Fprintf(d.out, "\r  [%s%s] %d/%d symbols, %.0f rows/s ", strings.Repeat("█", full), strings.Repeat("·", width-full), done, total, rate)
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(d.out, "\n  loaded over Flight in %s; %d symbols without a vector (another Go release)\n\n", short(time.Since(began)), missing)
	return nil
}

// put streams batches of n rows to a collection; after each acknowledged batch progress is told.
func (d *tour) put(ctx context.Context, name string, n int, batch func(from, to int) ([]string, []*vec.Vector), progress func(done int)) error {
	names, cols := batch(0, 0)
	ts := make([]types.Type, len(cols))
	for i, c := range cols {
		ts[i] = c.Type
	}
	sch := vec.Schema(names, ts)
	at := 0
	next := func() (arrow.RecordBatch, error) {
		if at >= n {
			return nil, nil
		}
		to := min(n, at+batchRows)
		_, cols := batch(at, to)
		c := &vec.Chunk{Cols: cols, N: to - at}
		at = to
		return vec.ChunkToRecord(c, sch, memory.DefaultAllocator)
	}
	done := 0
	return d.client.Put(ctx, []string{"collections", name}, sch, next, func(a client.Ack) {
		if done += int(a.Rows); progress != nil {
			progress(done)
		}
	})
}

// table collects rows of text, number, list and vector columns.
type table struct {
	names []string
	cols  []*vec.Vector
}

func newTable(fields ...any) *table {
	t := &table{}
	for i := 0; i < len(fields); i += 2 {
		t.names = append(t.names, fields[i].(string))
		t.cols = append(t.cols, vec.New(fields[i+1].(types.Type), 0))
	}
	return t
}

func (t *table) add(vals ...vec.Value) {
	for i, v := range vals {
		t.cols[i].Append(v)
	}
}

func (d *tour) symbolBatch(from, to int) ([]string, []*vec.Vector) {
	text := types.Of(types.Text)
	t := newTable("id", text, "package", text, "kind", text, "name", text, "signature", text, "doc", text, "emb", types.VectorOf(Dim))
	for _, s := range d.lib.Symbols[from:to] {
		emb := vec.Null(types.VectorOf(Dim))
		if v, ok := d.emb.Vector(s.ID); ok {
			emb = vec.VectorValue(v)
		}
		t.add(vec.Text(s.ID), vec.Text(s.Package), vec.Text(s.Kind), vec.Text(s.Name), vec.Text(s.Signature), vec.Text(s.Doc), emb)
	}
	return t.names, t.cols
}

func (d *tour) packageBatch(from, to int) ([]string, []*vec.Vector) {
	text, list := types.Of(types.Text), types.ListOf(types.Of(types.Text))
	t := newTable("path", text, "synopsis", text, "lines", types.Of(types.Int32), "exported_symbols", types.Of(types.Int32), "imports", list)
	for _, p := range d.lib.Packages[from:to] {
		imports := vec.Value{Type: list}
		for _, i := range p.Imports {
			imports.List = append(imports.List, vec.Text(i))
		}
		t.add(vec.Text(p.Path), vec.Text(p.Synopsis), vec.Int32(int32(p.Lines)), vec.Int32(int32(p.ExportedSymbols)), imports)
	}
	return t.names, t.cols
}

// ask runs the queries of the tour.
func (d *tour) ask(ctx context.Context) error {
	q, err := questionVector(d.emb)
	if err != nil {
		return err
	}
	for _, s := range shows {
		if err := d.show(ctx, s, q); err != nil {
			return err
		}
	}
	return nil
}

func (d *tour) show(ctx context.Context, s show, literal string) error {
	fmt.Fprintf(d.out, "── %s\n%s;\n", s.title, s.sql)
	began := time.Now()
	r, err := d.client.Query(ctx, strings.ReplaceAll(s.sql, questionName, literal))
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }()
	rows := 0
	for {
		c, err := r.Next(ctx)
		if err != nil {
			return err
		}
		if c == nil {
			break
		}
		for i := range c.Rows() {
			var cells []string
			for _, col := range c.Cols {
				cells = append(cells, strings.ReplaceAll(col.Value(c.RowAt(i)).String(), "\n", " "))
			}
			fmt.Fprintf(d.out, "  %-36s %s\n", cells[0], strings.Join(cells[1:], "  "))
			rows++
		}
	}
	fmt.Fprintf(d.out, "  %d rows in %s\n\n", rows, short(time.Since(began)))
	if rows == 0 {
		return fail.Bug("the demo's query %q found nothing", s.title)
	}
	return nil
}

// scan asks for a scan plan and prints its endpoints.
func (d *tour) scan(ctx context.Context) error {
	fmt.Fprintln(d.out, "── Scan plan: one endpoint a fragment, and the open Lance version")
	info, err := d.client.Scan(ctx, map[string]any{"namespace": "public", "collection": "symbols", "tail": "wait"})
	if err != nil {
		return err
	}
	rows := int64(0)
	for i, ep := range info.Endpoint {
		r, err := d.client.Read(ctx, info, i)
		if err != nil {
			return err
		}
		n, err := count(ctx, r)
		if err != nil {
			return err
		}
		rows += n
		fmt.Fprintf(d.out, "  endpoint %d: %d rows, ticket of %d bytes, %s\n", i, n, len(ep.Ticket.Ticket), ep.AppMetadata)
	}
	if rows != int64(len(d.lib.Symbols)) {
		return fail.Bug("the endpoints hold %d rows, %d were loaded", rows, len(d.lib.Symbols))
	}
	uri, version := lanceAddress(info.AppMetadata)
	fmt.Fprintf(d.out, "  Lance dataset %s\n  version %s (lance.dataset(uri, version=%s))\n\n", uri, version, version)
	return nil
}

func count(ctx context.Context, r *client.Rows) (int64, error) {
	defer func() { _ = r.Close() }()
	n := int64(0)
	for {
		c, err := r.Next(ctx)
		if err != nil || c == nil {
			return n, err
		}
		n += int64(c.Rows())
	}
}
