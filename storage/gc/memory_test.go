package gc

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/loamdb/loam/storage/collection"
)

// TestPasses runs testdata/passes: a memory that is told what a store and a
// metastore would answer. Each command prints what the pass wants next.
//
//	new [keep=(f …)]                 a node that remembers nothing
//	begin                            a pass
//	listed f …                       each file has as many bytes as its name
//	root version=N [head=m] [oldest=N] [epoch=N] [tags=(m:N …)] [written=N]
//	again …                          the root, after a manifest was not there
//	manifest version=N [parent=m] [refs=(f …)]
//	bumped N, dropped, deleted, abort
//	remembers                        what lasts from pass to pass
func TestPasses(t *testing.T) {
	var m Memory
	datadriven.RunTest(t, "testdata/passes", func(t *testing.T, d *datadriven.TestData) string {
		switch d.Cmd {
		case "new":
			keep := many(d, "keep")
			m = Memory{Keep: func(key string) bool { return slices.Contains(keep, key) }}
			return ""
		case "begin":
			return show(&m, m.Begin())
		case "listed":
			var files []File
			for _, a := range d.CmdArgs {
				files = append(files, File{a.Key, int64(len(a.Key))})
			}
			return show(&m, m.Listed(files))
		case "root", "again":
			r := Root{Epoch: num(t, d, "epoch"), Version: num(t, d, "version"), Oldest: num(t, d, "oldest"), Written: int64(num(t, d, "written")), Head: ref(d, "head")}
			for _, tag := range many(d, "tags") {
				key, v, _ := strings.Cut(tag, ":")
				n, _ := strconv.ParseUint(v, 10, 64)
				r.Tags = append(r.Tags, Tag{ID: tag, Version: n, Ref: collection.ManifestRef{Key: key, Size: int64(len(key))}})
			}
			if d.Cmd == "root" {
				return show(&m, m.Rooted(r))
			}
			step, ok := m.Rerooted(r)
			if !ok {
				return "it is missing\n"
			}
			return show(&m, step)
		case "manifest":
			x := Manifest{Version: num(t, d, "version"), Parent: ref(d, "parent")}
			for _, key := range many(d, "refs") {
				x.Files = append(x.Files, File{key, int64(len(key))})
			}
			return show(&m, m.Read(x))
		case "bumped":
			n, err := strconv.ParseUint(d.CmdArgs[0].Key, 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return show(&m, m.Bumped(n))
		case "dropped":
			return show(&m, m.Dropped())
		case "deleted":
			return show(&m, m.Deleted())
		case "abort":
			m.Abort()
			return ""
		case "remembers":
			return remembers(&m)
		}
		t.Fatalf("unknown command %s", d.Cmd)
		return ""
	})
}

func many(d *datadriven.TestData, key string) []string {
	for _, a := range d.CmdArgs {
		if a.Key == key {
			return strings.Fields(strings.Join(a.Vals, " "))
		}
	}
	return nil
}

func ref(d *datadriven.TestData, key string) collection.ManifestRef {
	name := strings.Join(many(d, key), "")
	return collection.ManifestRef{Key: name, Size: int64(len(name))}
}

func num(t *testing.T, d *datadriven.TestData, key string) uint64 {
	t.Helper()
	v := strings.Join(many(d, key), "")
	if v == "" {
		return 0
	}
	n, err := strconv.ParseUint(v, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func show(m *Memory, s Step) string {
	switch s.Do {
	case ReadManifest:
		return fmt.Sprintf("→ manifest %s\n", s.Ref.Key)
	case Delete:
		return fmt.Sprintf("→ delete %s\n", strings.Join(s.Keys, " "))
	case Done:
		st := m.Stats()
		if st.Yielded {
			return "→ done: another node collects\n"
		}
		return fmt.Sprintf("→ done: %d of %d files deleted (%d of %d B), %d waiting (%d B)\n", st.Deleted, st.Listed, st.DeletedBytes, st.ListedBytes, st.Waiting, st.WaitingBytes)
	}
	return fmt.Sprintf("→ %s\n", s.Do)
}

func remembers(m *Memory) string {
	var out []string
	for key, e := range m.condemned {
		out = append(out, fmt.Sprintf("condemned %s before epoch %d", key, e))
	}
	for key, v := range m.newest {
		out = append(out, fmt.Sprintf("marked %s up to version %d", key, v.version))
	}
	for key, files := range m.tagged {
		line := "tagged " + key + ":"
		for _, f := range files {
			line += " " + f.Key
		}
		out = append(out, line)
	}
	if n := m.Count(); n != nil {
		line := fmt.Sprintf("counted: %d B freed, %d B only tags keep", n.Freed, n.TagBytes)
		for _, tag := range slices.Sorted(maps.Keys(n.Tags)) {
			line += fmt.Sprintf(", %s alone %d B", tag, n.Tags[tag])
		}
		out = append(out, line)
	}
	slices.Sort(out)
	return strings.Join(append(out, ""), "\n")
}
