package loam

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"sort"
	"strings"
	"testing"
)

// depsPolicy is the law of imports: "room < rooms ; modules" lets the packages of
// a room import those rooms and those third-party modules (standard library
// aside). A room is the longest prefix of a package's path; "." is the root. What
// lies under a room's internal/ may import the room's other inner packages and is
// bound by the room's line. Do not change this text to make a build pass: change
// the code, or the design first.
const depsPolicy = `
internal/fail < ;
internal/fault < ;
internal/clock < ; ulid
internal/types < internal/fail ; arrow
internal/vec < internal/fail internal/types ; arrow gjson
internal/schema < internal/fail internal/types ;
internal/kernel < internal/fail internal/types internal/vec ; arrow xxh3 gjson
internal/expr < internal/fail internal/types internal/vec internal/kernel ; arrow
internal/datafile < internal/fail internal/types internal/vec internal/kernel ; arrow compress gjson
internal/plan < internal/fail internal/types internal/vec internal/schema internal/expr ;
internal/snapshot < internal/fail ;
internal/mem < internal/fail ;
internal/testsum < ;
internal/fakes3 < ;
internal/versitygw < ;
internal/etcdtest < ; etcd zap

metastore < internal/fail internal/fault internal/clock ; etcd zap grpc ulid xxh3 sync
storage/object < internal/fail internal/fault internal/clock ; ulid xxh3 sys sync aws
storage/wal < internal/fail internal/fault internal/clock metastore storage/object ; ulid xxh3 sync
storage/lance < internal/fail ; arrow roaring compress lz4 sync
storage/internal/cache < ; sync
storage/internal/sketch < internal/fail ; xxh3
storage/internal/column < internal/fail internal/types internal/vec storage/internal/sketch ; arrow compress xxh3
storage/internal/source < internal/fail internal/types internal/vec internal/schema storage/internal/dense ; arrow gjson
storage/internal/postings < internal/fail ; roaring xxh3
storage/internal/text < internal/fail storage/internal/postings ; bleve vellum roaring xxh3 segment stemmer
storage/internal/dense < internal/fail storage/internal/postings ; roaring cpuid
storage/collection < internal/fail internal/fault internal/clock internal/types internal/vec internal/schema internal/expr internal/plan internal/snapshot metastore storage/object storage/wal storage/lance storage/internal ; arrow roaring xxh3 sync
storage/gc < internal/fail internal/fault metastore storage/object storage/collection ;
storage/fsck < internal/fail internal/schema metastore storage/object storage/wal storage/gc storage/collection ; sync

catalog < internal/fail internal/schema internal/types metastore ;
link < internal/fail internal/schema metastore ;
worker < internal/fail internal/clock metastore ;
functions < internal/fail internal/types internal/vec internal/kernel internal/expr ; arrow gjson roaring text xxh3
planner < internal/fail internal/types internal/vec internal/schema internal/expr internal/plan catalog ; arrow
exec < internal/fail internal/clock internal/types internal/vec internal/kernel internal/expr internal/plan internal/mem ; arrow xxh3

. < internal catalog planner exec functions link metastore storage worker ; arrow gjson roaring
flightsql < . internal catalog ; arrow grpc protobuf prometheus crypto xxh3
flightsql/access < internal ; crypto
flightsql/client < internal ; arrow grpc
flightsql/rest < . internal catalog flightsql/internal flightsql/access ; arrow prometheus
cmd/loam < . flightsql internal ; arrow net prometheus sync term xxh3 yaml
cmd/loam/internal/shell < . internal planner ; arrow readline width term sys
conformance/cluster < ;
conformance/crash < ;
conformance/firsthour < ;
conformance/history < ;
conformance/mutation < ;
`

// modules are the third-party modules by the short names of the policy.
var modules = map[string]string{
	"arrow": "github.com/apache/arrow-go/", "ulid": "github.com/oklog/ulid/", "xxh3": "github.com/zeebo/xxh3",
	"etcd": "go.etcd.io/", "zap": "go.uber.org/zap", "grpc": "google.golang.org/grpc", "sys": "golang.org/x/sys/",
	"sync": "golang.org/x/sync/", "roaring": "github.com/RoaringBitmap/roaring/", "protobuf": "google.golang.org/protobuf",
	"net": "golang.org/x/net/", "compress": "github.com/klauspost/compress/", "gjson": "github.com/tidwall/gjson", "bleve": "github.com/blevesearch/bleve/v2/analysis",
	"vellum": "github.com/blevesearch/vellum", "segment": "github.com/blevesearch/segment", "stemmer": "github.com/blevesearch/", "cpuid": "github.com/klauspost/cpuid/",
	"text": "golang.org/x/text/", "crypto": "golang.org/x/crypto/", "lz4": "github.com/pierrec/lz4/", "prometheus": "github.com/prometheus/client_golang/",
	// The line editor: Apache-2.0, maintained (v1.3.0, July 2026); several lines at once,
	// .inputrc, completion menus; of the live ones in pure Go the only one with the first.
	"readline": "github.com/reeflective/readline",
	// Cells of graphemes on a terminal (MIT); the size of a terminal, and passwords that stay hidden (Go project).
	"width": "github.com/clipperhouse/displaywidth", "term": "golang.org/x/term",
	// Amazon's own client of S3 (Apache-2.0, a release a week): signatures, credentials
	// and endpoints of every kind; conditional writes. Its smithy-go is the transport.
	"aws":  "github.com/aws/",
	"yaml": "go.yaml.in/yaml/v3", // by the YAML organization, MIT and Apache-2.0, no dependencies; its nodes know their lines
}

const modulePath = "github.com/loamdb/loam"

// maxChain bounds the longest chain of imports between Loam's packages.
const maxChain = 14

type pkg struct {
	ImportPath string
	Standard   bool
	Imports    []string
}

// rule is one line of the policy.
type rule struct {
	room           string
	rooms, modules []string
}

func parsePolicy(t *testing.T) []rule {
	t.Helper()
	var out []rule
	for line := range strings.SplitSeq(strings.TrimSpace(depsPolicy), "\n") {
		if line == "" {
			continue
		}
		room, rest, ok := strings.Cut(line, "<")
		rooms, mods, ok2 := strings.Cut(rest, ";")
		if !ok || !ok2 {
			t.Fatalf("policy line %q", line)
		}
		r := rule{room: strings.TrimSpace(room), rooms: strings.Fields(rooms), modules: strings.Fields(mods)}
		for _, m := range r.modules {
			if modules[m] == "" {
				t.Fatalf("policy line %q names the unknown module %q", line, m)
			}
		}
		out = append(out, r)
	}
	return out
}

// local is a package's path within the module; "." is the root.
func local(path string) (string, bool) {
	if path == modulePath {
		return ".", true
	}
	return strings.CutPrefix(path, modulePath+"/")
}

func within(p, room string) bool { return p == room || room != "." && strings.HasPrefix(p, room+"/") }

func ruleOf(rules []rule, p string) (rule, bool) {
	best, found := rule{}, false
	for _, r := range rules {
		if within(p, r.room) && len(r.room) >= len(best.room) {
			best, found = r, true
		}
	}
	return best, found
}

func loadPackages(t *testing.T) map[string]pkg {
	t.Helper()
	cmd := exec.Command("go", "list", "-e", "-json=ImportPath,Standard,Imports", "-deps", "./...")
	stdout, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	out := map[string]pkg{}
	dec := json.NewDecoder(strings.NewReader(string(stdout)))
	for {
		var p pkg
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return out
		} else if err != nil {
			t.Fatal(err)
		}
		out[p.ImportPath] = p
	}
}

func TestImportsFollowThePolicy(t *testing.T) {
	rules, pkgs := parsePolicy(t), loadPackages(t)
	for path, p := range pkgs {
		name, own := local(path)
		if !own {
			continue
		}
		r, ok := ruleOf(rules, name)
		if !ok {
			t.Errorf("package %s belongs to no room of the policy", name)
			continue
		}
		for _, imp := range p.Imports {
			if pkgs[imp].Standard || imp == "C" {
				continue
			}
			if !allowedImport(r, imp) {
				t.Errorf("%s imports %s; the policy says: %s < %s ; %s", name, imp, r.room, strings.Join(r.rooms, " "), strings.Join(r.modules, " "))
			}
		}
	}
}

func allowedImport(r rule, imp string) bool {
	if name, own := local(imp); own {
		return within(name, r.room) || slices.ContainsFunc(r.rooms, func(room string) bool { return within(name, room) })
	}
	return slices.ContainsFunc(r.modules, func(m string) bool { return strings.HasPrefix(imp, modules[m]) })
}

// TestLongestChain measures the longest chain of imports; cycles do not compile.
func TestLongestChain(t *testing.T) {
	pkgs := loadPackages(t)
	depth := map[string]int{}
	next := map[string]string{}
	var walk func(path string) int
	walk = func(path string) int {
		if d, ok := depth[path]; ok {
			return d
		}
		best := 0
		for _, imp := range pkgs[path].Imports {
			if _, own := local(imp); own {
				if d := walk(imp); d > best {
					best, next[path] = d, imp
				}
			}
		}
		depth[path] = best + 1
		return best + 1
	}
	var paths []string
	for p := range pkgs {
		if _, own := local(p); own {
			paths = append(paths, p)
		}
	}
	sort.Strings(paths)
	longest := ""
	for _, p := range paths {
		if walk(p) > depth[longest] {
			longest = p
		}
	}
	if depth[longest] > maxChain {
		var chain []string
		for p := longest; p != ""; p = next[p] {
			chain = append(chain, p)
		}
		t.Fatalf("the chain has %d packages, at most %d are allowed:\n%s", len(chain), maxChain, strings.Join(chain, "\n"))
	}
}
