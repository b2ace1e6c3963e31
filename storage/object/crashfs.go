package object

import (
	"errors"
	"io"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"sync"
)

// ErrCrashed is what every call of a [CrashFS] returns after its crash.
var ErrCrashed = errors.New("the machine has crashed")

// CrashFS is a file system in memory that keeps apart what was synced and what
// was not, for tests of code that must survive the loss of power. It stops at a
// chosen operation, and then yields images of what a disk could hold.
//
// Of a file, the bytes at its last Sync survive; what came later survives up to
// any length, and pages of it may be zero. Of a directory, the entries at its
// last SyncDir survive; of the changes since, any subset does. A rename is one
// change. All methods are safe for concurrent use.
type CrashFS struct {
	mu    sync.Mutex // guards the fields below, and all nodes
	root  *crashNode
	left  int // operations until the crash; below 0: none is planned
	steps int
	dead  bool
	lying bool
}

// NewCrashFS returns an empty file system that holds the directory "/".
func NewCrashFS() *CrashFS { return &CrashFS{root: newCrashDir(), left: -1} }

// CrashAfter lets n more operations happen, and fails all that follow. The
// operation at which the crash falls has half happened: it may or may not be in
// an image.
func (c *CrashFS) CrashAfter(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.left = n
}

// Steps is the number of operations that changed or synced something so far.
func (c *CrashFS) Steps() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.steps
}

// FailSyncs makes every sync from now on fail and lose what it should have kept.
func (c *CrashFS) FailSyncs() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lying = true
}

// Image is a file system as a disk could hold it after a crash at this moment.
// pick returns a number in [0, n) and decides what survives.
func (c *CrashFS) Image(pick func(n int) int) *CrashFS {
	c.mu.Lock()
	defer c.mu.Unlock()
	return &CrashFS{root: c.root.image(pick, map[*crashNode]*crashNode{}), left: -1}
}

// crashNode is a file or a directory.
type crashNode struct {
	dir bool
	// of a file
	data   []byte
	synced int // data[:synced] is durable
	// of a directory
	entries map[string]*crashNode
	durable map[string]*crashNode
	pending []dirChange // since the last SyncDir, in order
}

// dirChange sets names to nodes; a nil node removes the name.
type dirChange map[string]*crashNode

func newCrashDir() *crashNode {
	return &crashNode{dir: true, entries: map[string]*crashNode{}, durable: map[string]*crashNode{}}
}

func (n *crashNode) change(c dirChange) {
	n.pending = append(n.pending, c)
	c.apply(n.entries)
}

func (c dirChange) apply(entries map[string]*crashNode) {
	for name, node := range c {
		if node == nil {
			delete(entries, name)
		} else {
			entries[name] = node
		}
	}
}

const crashPage = 4096

// image copies the node as a crash could leave it. A node that several names
// lead to is copied once.
func (n *crashNode) image(pick func(int) int, done map[*crashNode]*crashNode) *crashNode {
	if twin, ok := done[n]; ok {
		return twin
	}
	if !n.dir {
		twin := &crashNode{data: n.tornData(pick)}
		twin.synced = len(twin.data)
		done[n] = twin
		return twin
	}
	twin := newCrashDir()
	done[n] = twin
	kept := maps.Clone(n.durable)
	for _, c := range n.pending {
		if pick(2) == 1 {
			c.apply(kept)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(kept)) {
		child := kept[name].image(pick, done)
		twin.entries[name], twin.durable[name] = child, child
	}
	return twin
}

// tornData is the synced part, and of the rest a part with holes.
func (n *crashNode) tornData(pick func(int) int) []byte {
	rest := len(n.data) - n.synced
	if rest == 0 {
		return slices.Clone(n.data)
	}
	out := slices.Clone(n.data[:n.synced+pick(rest+1)])
	for at := n.synced; at < len(out); at += crashPage {
		if pick(2) == 1 {
			clear(out[at:min(at+crashPage, len(out))])
		}
	}
	return out
}

// step counts an operation that changes or syncs something and says whether the
// machine still runs. At the crash itself, half is true: the change is made but
// the caller is told nothing.
func (c *CrashFS) step() (half bool, err error) {
	if c.dead {
		return false, ErrCrashed
	}
	c.steps++
	if c.left == 0 {
		c.dead = true
		return true, ErrCrashed
	}
	c.left--
	return false, nil
}

func pathErr(op, name string, err error) error { return &fs.PathError{Op: op, Path: name, Err: err} }

// walk finds a node; nil when it is absent.
func (c *CrashFS) walk(name string) *crashNode {
	n := c.root
	for _, part := range splitPath(name) {
		if n == nil || !n.dir {
			return nil
		}
		n = n.entries[part]
	}
	return n
}

func splitPath(name string) []string {
	name = filepath.ToSlash(filepath.Clean("/" + name))
	var parts []string
	for name != "/" && name != "" {
		var base string
		name, base = filepath.Dir(name), filepath.Base(name)
		parts = append(parts, base)
	}
	slices.Reverse(parts)
	return parts
}

// place finds the directory of a name that is to be made or removed.
func (c *CrashFS) place(op, name string) (dir *crashNode, base string, err error) {
	dir, base = c.walk(filepath.Dir(name)), filepath.Base(name)
	if dir == nil || !dir.dir {
		return nil, "", pathErr(op, name, fs.ErrNotExist)
	}
	return dir, base, nil
}

// mutate makes one change of a directory, as one step.
func (c *CrashFS) mutate(op, name string, change func(dir *crashNode, base string) (dirChange, error)) error {
	if c.dead {
		return pathErr(op, name, ErrCrashed)
	}
	dir, base, err := c.place(op, name)
	if err != nil {
		return err
	}
	ch, err := change(dir, base)
	if err != nil {
		return pathErr(op, name, err)
	}
	half, err := c.step()
	if err == nil || half {
		dir.change(ch)
	}
	if err != nil {
		return pathErr(op, name, err)
	}
	return nil
}

func absent(dir *crashNode, base string) error {
	if dir.entries[base] != nil {
		return fs.ErrExist
	}
	return nil
}

// Create implements [FS].
func (c *CrashFS) Create(name string) (File, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	node := &crashNode{}
	err := c.mutate("create", name, func(dir *crashNode, base string) (dirChange, error) {
		return dirChange{base: node}, absent(dir, base)
	})
	if err != nil {
		return nil, err
	}
	return &crashFile{fs: c, node: node, name: name}, nil
}

// Open implements [FS].
func (c *CrashFS) Open(name string) (File, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.walk(name)
	switch {
	case c.dead:
		return nil, pathErr("open", name, ErrCrashed)
	case n == nil || n.dir:
		return nil, pathErr("open", name, fs.ErrNotExist)
	}
	return &crashFile{fs: c, node: n, name: name}, nil
}

// Link implements [FS].
func (c *CrashFS) Link(oldName, newName string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	node := c.walk(oldName)
	return c.mutate("link", newName, func(dir *crashNode, base string) (dirChange, error) {
		if node == nil || node.dir {
			return nil, fs.ErrNotExist
		}
		return dirChange{base: node}, absent(dir, base)
	})
}

// Rename implements [FS]. The two directories change at once, as one step; a
// crash may keep either half of a move between directories.
func (c *CrashFS) Rename(oldName, newName string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	node := c.walk(oldName)
	return c.mutate("rename", newName, func(dir *crashNode, base string) (dirChange, error) {
		from, oldBase, err := c.place("rename", oldName)
		if err != nil || node == nil || node.dir {
			return nil, fs.ErrNotExist
		}
		if from == dir {
			return dirChange{oldBase: nil, base: node}, nil
		}
		from.change(dirChange{oldBase: nil})
		return dirChange{base: node}, nil
	})
}

// Remove implements [FS].
func (c *CrashFS) Remove(name string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.mutate("remove", name, func(dir *crashNode, base string) (dirChange, error) {
		if n := dir.entries[base]; n == nil || n.dir {
			return nil, fs.ErrNotExist
		}
		return dirChange{base: nil}, nil
	})
}

// Mkdir implements [FS].
func (c *CrashFS) Mkdir(name string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.mutate("mkdir", name, func(dir *crashNode, base string) (dirChange, error) {
		return dirChange{base: newCrashDir()}, absent(dir, base)
	})
}

// SyncDir implements [FS].
func (c *CrashFS) SyncDir(name string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.walk(name)
	if n == nil || !n.dir {
		return pathErr("sync", name, fs.ErrNotExist)
	}
	return c.sync(name, func() { n.durable, n.pending = maps.Clone(n.entries), nil })
}

// sync is a step that, when it succeeds, keeps.
func (c *CrashFS) sync(name string, keep func()) error {
	if _, err := c.step(); err != nil {
		return pathErr("sync", name, err)
	}
	if c.lying {
		return pathErr("sync", name, errors.New("input/output error"))
	}
	keep()
	return nil
}

// ReadDir implements [FS].
func (c *CrashFS) ReadDir(name string) ([]DirEntry, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.walk(name)
	switch {
	case c.dead:
		return nil, pathErr("readdir", name, ErrCrashed)
	case n == nil || !n.dir:
		return nil, pathErr("readdir", name, fs.ErrNotExist)
	}
	out := make([]DirEntry, 0, len(n.entries))
	for name, e := range n.entries {
		out = append(out, DirEntry{Name: name, Dir: e.dir, Size: int64(len(e.data))})
	}
	return out, nil
}

// Stat implements [FS].
func (c *CrashFS) Stat(name string) (DirEntry, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.walk(name)
	switch {
	case c.dead:
		return DirEntry{}, pathErr("stat", name, ErrCrashed)
	case n == nil:
		return DirEntry{}, pathErr("stat", name, fs.ErrNotExist)
	}
	return DirEntry{Name: filepath.Base(name), Dir: n.dir, Size: int64(len(n.data))}, nil
}

// crashFile is an open file of a CrashFS.
type crashFile struct {
	fs   *CrashFS
	node *crashNode
	name string
}

func (f *crashFile) Write(p []byte) (int, error) {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	half, err := f.fs.step()
	if err == nil || half {
		f.node.data = append(f.node.data, p...)
	}
	if err != nil {
		return 0, pathErr("write", f.name, err)
	}
	return len(p), nil
}

func (f *crashFile) ReadAt(p []byte, off int64) (int, error) {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	if f.fs.dead {
		return 0, pathErr("read", f.name, ErrCrashed)
	}
	if off >= int64(len(f.node.data)) {
		return 0, io.EOF
	}
	n := copy(p, f.node.data[off:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (f *crashFile) Sync() error {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	return f.fs.sync(f.name, func() { f.node.synced = len(f.node.data) })
}

func (f *crashFile) Close() error { return nil }

func (f *crashFile) Size() (int64, error) {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	return int64(len(f.node.data)), nil
}

// FreeBytes implements [FS]; memory is plenty.
func (c *CrashFS) FreeBytes(string) (uint64, error) { return 1 << 40, nil }
