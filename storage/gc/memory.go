package gc

import (
	"maps"
	"slices"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/metastore"
	"github.com/loamdb/loam/storage/collection"
)

// Do is what a pass asks for next.
type Do string

// The steps of a pass, each with the method that answers it.
const (
	List         Do = "list"     // Listed: all files of the object
	ReadRoot     Do = "root"     // Rooted, or Dropped
	ReadManifest Do = "manifest" // Read, or Rerooted when it is not there
	Bump         Do = "bump"     // Bumped: the epoch was raised
	Delete       Do = "delete"   // Deleted: all keys of the step
	Done         Do = "done"
)

// Step is a wish of a pass. Whoever cannot do it calls Abort.
type Step struct {
	Do   Do
	Ref  collection.ManifestRef // of ReadManifest
	Keys []string               // of Delete, ascending
}

// File is a stored object.
type File struct {
	Key  string
	Size int64
}

// Root is what keeps files: the versions from Oldest to the head, and the tags.
type Root struct {
	Epoch   uint64
	Version uint64 // of the head; 0 for an object without a version
	Head    collection.ManifestRef
	Oldest  uint64
	Tags    []Tag
	// Written are the bytes of all files that commits have added.
	Written int64
}

// Tag is a version that is kept by a name.
type Tag struct {
	ID      string
	Version uint64
	Ref     collection.ManifestRef
}

// Manifest is what a pass wants to know of a manifest.
type Manifest struct {
	Version uint64
	Parent  collection.ManifestRef
	Files   []File // that it refers to, without itself
}

// Stats say what the last pass that ended has left.
type Stats struct {
	Listed, Deleted           int
	ListedBytes, DeletedBytes int64
	// Waiting files are not referred to and go with the next pass.
	Waiting      int
	WaitingBytes int64
	// Yielded: another node collects this object, and the pass left it to it.
	Yielded bool
}

// Memory is what a node remembers of one object between passes, and the pass that
// runs. It is used by one goroutine at a time. The zero value remembers nothing;
// losing the memory costs a pass, never a file.
//
//	condemned[f] = e  ⇒  f was listed, and unmarked, before the epoch rose to e
//	newest[f] = v     ⇒  v.version is the newest of the line up to upto that refers to f
type Memory struct {
	// Keep tells the files that stay as long as the object does; nil: none.
	Keep func(key string) bool

	// seen is the epoch at the end of the last pass. A higher one at the next is
	// another node's doing: two that collect side by side would raise it twice as
	// often, and builders would have half the time.
	seen      uint64
	condemned map[string]uint64
	newest    map[string]mark
	upto      uint64
	uptoKey   string            // of the manifest of version upto
	tagged    map[string][]File // by the key of a tagged manifest

	pass pass
}

// mark is what the line of versions says of a file.
type mark struct {
	version uint64
	size    int64
}

// pass is what one pass has learned.
type pass struct {
	files map[string]int64
	root  Root
	todo  []collection.ManifestRef // tags to read
	next  collection.ManifestRef   // of the line, or zero
	epoch uint64                   // 0 before the bump
	kill  []string
	stats Stats
	count *metastore.Count // once the marks are complete
}

// Begin starts a pass; one that was not finished is forgotten.
func (m *Memory) Begin() Step {
	m.pass = pass{}
	return Step{Do: List}
}

// Abort ends a pass that could not do a step. Nothing was deleted in vain: a file
// that an interrupted Delete left is still condemned.
func (m *Memory) Abort() { m.pass = pass{} }

// Stats are those of the pass that has just ended.
func (m *Memory) Stats() Stats { return m.pass.stats }

// Listed takes the listing of the object's prefix.
func (m *Memory) Listed(files []File) Step {
	m.pass.files = make(map[string]int64, len(files))
	for _, f := range files {
		m.pass.files[f.Key] = f.Size
		m.pass.stats.ListedBytes += f.Size
	}
	m.pass.stats.Listed = len(m.pass.files)
	maps.DeleteFunc(m.condemned, func(key string, _ uint64) bool {
		_, there := m.pass.files[key]
		return !there
	})
	return Step{Do: ReadRoot}
}

// Rooted takes the root, as it is after the listing or, the second time, after the bump.
func (m *Memory) Rooted(r Root) Step {
	if m.seen != 0 && r.Epoch > m.seen && m.pass.epoch == 0 {
		m.seen, m.pass.stats.Yielded = r.Epoch, true
		return m.end()
	}
	m.pass.root, m.pass.next, m.pass.todo = r, collection.ManifestRef{}, nil
	if m.newest == nil {
		m.newest, m.tagged = map[string]mark{}, map[string][]File{}
	}
	if r.Version > 0 && (r.Version > m.upto || r.Head.Key != m.uptoKey) {
		m.pass.next = r.Head
	}
	names := map[string]bool{}
	for _, t := range r.Tags {
		names[t.Ref.Key] = true
		if m.tagged[t.Ref.Key] == nil {
			m.pass.todo = append(m.pass.todo, t.Ref)
		}
	}
	maps.DeleteFunc(m.tagged, func(key string, _ []File) bool { return !names[key] })
	return m.mark()
}

// Rerooted takes the root again when a manifest was not there. It reports false
// when the root keeps no less than before: then the manifest is missing, and the
// pass must end. A later root is as good as the one before it.
func (m *Memory) Rerooted(r Root) (Step, bool) {
	old := m.pass.root
	less := r.Oldest > old.Oldest
	for _, t := range old.Tags {
		less = less || !slices.Contains(r.Tags, t)
	}
	if !less {
		return Step{}, false
	}
	return m.Rooted(r), true
}

// mark asks for the next manifest that is not known, and decides when all are.
func (m *Memory) mark() Step {
	switch p := &m.pass; {
	case p.next.Key != "":
		return Step{Do: ReadManifest, Ref: p.next}
	case len(p.todo) > 0:
		return Step{Do: ReadManifest, Ref: p.todo[0]}
	}
	if r := &m.pass.root; r.Version > 0 {
		m.upto, m.uptoKey = r.Version, r.Head.Key
	}
	return m.decide()
}

// Read takes the manifest that was asked for.
func (m *Memory) Read(x Manifest) Step {
	p := &m.pass
	if p.next.Key == "" {
		ref := p.todo[0]
		m.tagged[ref.Key], p.todo = append(slices.Clone(x.Files), File{ref.Key, ref.Size}), p.todo[1:]
		return m.mark()
	}
	for _, f := range append(x.Files, File{p.next.Key, p.next.Size}) {
		m.newest[f.Key] = mark{max(m.newest[f.Key].version, x.Version), f.Size}
	}
	switch {
	case x.Version <= 1 || x.Version <= p.root.Oldest:
		p.next = collection.ManifestRef{}
	case x.Version == m.upto+1 && x.Parent.Key == m.uptoKey:
		p.next = collection.ManifestRef{} // the rest is known
	default:
		p.next = x.Parent
	}
	return m.mark()
}

// Dropped says that the object's id is not in the catalog, at a time after the listing.
func (m *Memory) Dropped() Step {
	m.newest, m.tagged, m.upto, m.uptoKey = nil, nil, 0, ""
	m.pass.root = Root{}
	return m.sentence(slices.Sorted(maps.Keys(m.pass.files)))
}

// decide compares the files with the marks. A pass that finds every file marked
// ends without a write to the metastore.
func (m *Memory) decide() Step {
	maps.DeleteFunc(m.newest, func(_ string, v mark) bool { return v.version < m.pass.root.Oldest })
	tagged := m.weigh()
	var unmarked []string
	for key := range m.pass.files {
		if m.newest[key].version == 0 && !tagged[key] && (m.Keep == nil || !m.Keep(key)) {
			unmarked = append(unmarked, key)
		}
	}
	slices.Sort(unmarked)
	if len(unmarked) > 0 && m.pass.epoch == 0 {
		return Step{Do: Bump}
	}
	return m.sentence(unmarked)
}

// weigh counts what the marks keep, and returns the files of tags.
func (m *Memory) weigh() (tagged map[string]bool) {
	kept := int64(0)
	for _, v := range m.newest {
		kept += v.size
	}
	tagged = map[string]bool{}
	count := &metastore.Count{Tags: map[string]int64{}}
	alone := map[string]int64{}
	for ref, files := range m.tagged {
		for _, f := range files {
			if m.newest[f.Key].version == 0 {
				alone[ref] += f.Size
				if !tagged[f.Key] {
					count.TagBytes += f.Size
				}
			}
			tagged[f.Key] = true
		}
	}
	for _, t := range m.pass.root.Tags {
		count.Tags[t.ID] = alone[t.Ref.Key]
	}
	count.Freed = m.pass.root.Written - kept - count.TagBytes
	m.pass.count = count
	return tagged
}

// Bumped takes the epoch after this pass raised it. Epochs only rise.
func (m *Memory) Bumped(epoch uint64) Step {
	for _, e := range m.condemned {
		if e >= epoch {
			// Not our epochs: the metastore is another one. Begin anew.
			m.condemned = nil
			break
		}
	}
	m.pass.epoch, m.seen = epoch, epoch
	return Step{Do: ReadRoot}
}

// sentence deletes what an earlier pass had condemned, and condemns the rest.
func (m *Memory) sentence(unmarked []string) Step {
	next := make(map[string]uint64, len(unmarked))
	for _, key := range unmarked {
		e, old := m.condemned[key]
		if old {
			m.pass.kill = append(m.pass.kill, key)
		} else {
			e = m.pass.epoch
			m.pass.stats.Waiting++
			m.pass.stats.WaitingBytes += m.pass.files[key]
		}
		next[key] = e
	}
	m.condemned = next
	if len(m.pass.kill) == 0 {
		return m.end()
	}
	return Step{Do: Delete, Keys: m.pass.kill}
}

// Deleted says that all keys of the Delete step are gone.
func (m *Memory) Deleted() Step {
	for _, key := range m.pass.kill {
		delete(m.condemned, key)
		m.pass.stats.Deleted++
		m.pass.stats.DeletedBytes += m.pass.files[key]
	}
	return m.end()
}

func (m *Memory) end() Step {
	m.pass = pass{stats: m.pass.stats, count: m.pass.count}
	return Step{Do: Done}
}

// Idle reports whether the last pass left nothing that another one would delete.
func (m *Memory) Idle() bool { return len(m.condemned) == 0 }

// Count is what the pass that has just ended has found the object to keep; nil when it
// did not come so far. Files that several tags keep count for each of them.
func (m *Memory) Count() *metastore.Count { return m.pass.count }

// errStep is the answer to a step that no pass asks for.
func errStep(s Step) error { return fail.Bug("garbage collection has no step %q", s.Do) }
