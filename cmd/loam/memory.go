package main

import (
	"bytes"
	"flag"
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"

	"github.com/loamdb/loam/internal/mem"
)

// memoryConfig is how much memory the process may take.
type memoryConfig struct{ mib uint }

func (c *memoryConfig) flags(fs *flag.FlagSet) {
	fs.UintVar(&c.mib, "memory-mib", 0, "memory in `MiB` that the process keeps below as far as it can, half of it for queries; 0: nine tenths of what the machine or its control group has")
}

// maxQueryBytes bounds the memory of queries on large machines.
const maxQueryBytes = 8 << 30

// apply sets the limits of the process, and returns the memory of its queries; 0 when
// nobody knows how much there is. GOGC and GOMEMLIMIT go before it.
func (c memoryConfig) apply(root fs.FS) (queryBytes int64) {
	limit := int64(c.mib) << 20
	if limit == 0 {
		limit = available(root) / 10 * 9
	}
	if os.Getenv("GOGC") == "" && os.Getenv("GOMEMLIMIT") == "" {
		mem.LimitProcess(limit)
	}
	return min(limit/2, maxQueryBytes)
}

// available is the memory that there is for this process: the machine's, or what the
// tightest of its control groups allows. 0 when the system does not say.
func available(root fs.FS) int64 {
	least := int64(0)
	for _, line := range lines(root, "proc/meminfo") {
		if rest, ok := strings.CutPrefix(line, "MemTotal:"); ok {
			kib, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
			least = kib << 10
		}
	}
	for _, file := range groupFiles(root) {
		for _, line := range lines(root, file) { // a number, or max
			if n, err := strconv.ParseInt(line, 10, 64); err == nil && n > 0 && (least == 0 || n < least) {
				least = n
			}
		}
	}
	return least
}

// groupFiles are the files with the limits of the process's control groups, of either
// version, and of all groups around them.
func groupFiles(root fs.FS) []string {
	var out []string
	for _, line := range lines(root, "proc/self/cgroup") {
		kind, group, _ := strings.Cut(strings.TrimLeft(line, "0123456789"), ":/")
		base, name := "sys/fs/cgroup", "memory.max"
		switch kind {
		case ":":
		case ":memory":
			base, name = "sys/fs/cgroup/memory", "memory.limit_in_bytes"
		default:
			continue
		}
		for at := path.Join(base, path.Clean("/"+group)); strings.HasPrefix(at, base); at = path.Dir(at) {
			out = append(out, path.Join(at, name))
		}
	}
	return out
}

// lines are the lines of a small file; none when it cannot be read.
func lines(root fs.FS, name string) []string {
	b, err := fs.ReadFile(root, name)
	if err != nil {
		return nil
	}
	return strings.Split(string(bytes.TrimSpace(b)), "\n")
}
