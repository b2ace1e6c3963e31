package collection

import (
	"bytes"
	"context"
	"sync"

	"github.com/zeebo/xxh3"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/storage/internal/cache"
)

// Cache keeps verified blocks and decoded columns in memory, up to one budget for
// all collections of a node.
type Cache struct{ c *cache.Cache }

// DefaultCacheBytes is the budget of a node's cache.
const DefaultCacheBytes = 256 << 20

// NewCache returns a cache of the budget in bytes; 0 means the default.
func NewCache(bytes int64) *Cache {
	if bytes == 0 {
		bytes = DefaultCacheBytes
	}
	return &Cache{c: cache.New(bytes)}
}

// Used is the bytes that are kept, and in how many pieces.
func (c *Cache) Used() (bytes int64, pieces int) { return c.c.Used() }

// Close ends the reads that run ahead of scans. Call it before the stores close.
func (c *Cache) Close() { c.c.Close() }

// ranger gives ranges of bytes that never change; column and text read through it.
type ranger interface {
	Range(off, n int64) ([]byte, error)
}

// byteRange is a ranger of bytes in memory.
type byteRange []byte

func (b byteRange) Range(off, n int64) ([]byte, error) { return b[off : off+n : off+n], nil }

// blob is a run of bytes of an object with a checksum for each 256 KiB block from
// its start. Blocks are read when they are needed, checked when they enter the node's
// cache, and never mapped. No block is read by two at once.
//
// Of a store where each read costs a round trip, blocks are read in runs; see run.
type blob struct {
	cache *cache.Cache
	file  uint64 // of the cache's keys
	// read fills p from the blob's offset off.
	read func(ctx context.Context, p []byte, off int64) error
	far  bool // each read costs a round trip
	size int64
	sums []uint64
	name string // for errors
}

// blob is the blob of a section of the bundle; nil when it has none of the name.
func (b *bundle) blob(c *cache.Cache, name string, file uint64) *blob {
	for _, s := range b.table.Sections {
		if s.Name != name {
			continue
		}
		read := func(ctx context.Context, p []byte, off int64) error {
			if b.far != nil {
				return b.far.ReadAt(ctx, p, s.Off+off)
			}
			data, err := b.store.GetRange(ctx, b.key, s.Off+off, int64(len(p)))
			copy(p, data)
			return err
		}
		return &blob{cache: c, file: file, read: read, far: b.far != nil, size: s.Len, sums: s.Blocks, name: "split " + b.key + " section " + name}
	}
	return nil
}

// check reports a blob whose checksums do not go with its size.
func (b *blob) check() error {
	if n := (b.size + blockBytes - 1) / blockBytes; int64(len(b.sums)) != n {
		return fail.New(fail.Corrupt, "%s: %d checksums for %d blocks", b.name, len(b.sums), n)
	}
	return nil
}

// block is block number i, verified. If it has to be read, the blocks behind it below
// end are wanted too.
func (b *blob) block(ctx context.Context, i, end int64) ([]byte, error) {
	key := cache.Key{File: b.file, Part: i}
	for {
		v, ok, err := b.cache.Wait(ctx, key)
		if err != nil {
			return nil, fail.Ended(ctx, "the read of "+b.name)
		}
		if ok {
			return v.([]byte), nil
		}
		if claim := b.cache.Claim(b.file, i, max(end, i+1)); claim != nil {
			return b.load(ctx, claim)
		}
	}
}

// runRoom is the memory that runs are read into.
var runRoom = sync.Pool{New: func() any { return new([maxRunBlocks * blockBytes]byte) }}

// load reads the blocks of the claim at once, keeps them, and returns the first. The
// error is about that one: the others are read again when they are asked for.
func (b *blob) load(ctx context.Context, claim *cache.Claim) (first []byte, err error) {
	defer claim.Release()
	from, to := claim.Parts()
	n := min(to*blockBytes, b.size) - from*blockBytes
	var p []byte
	if to-from > 1 { // the cache drops blocks one by one, so each gets memory of its own
		room := runRoom.Get().(*[maxRunBlocks * blockBytes]byte)
		defer runRoom.Put(room)
		p = room[:n]
	} else {
		p = make([]byte, n)
	}
	if err := b.read(ctx, p, from*blockBytes); err != nil {
		return nil, err
	}
	for i := from; i < to; i++ {
		block := p[(i-from)*blockBytes : min((i-from+1)*blockBytes, int64(len(p)))]
		if err := b.verify(block, i); err != nil {
			if i > from {
				break
			}
			return nil, err
		}
		if to-from > 1 {
			block = bytes.Clone(block)
		}
		claim.Keep(block, int64(len(block)))
		if i == from {
			first = block
		}
	}
	return first, nil
}

func (b *blob) verify(p []byte, i int64) error {
	if xxh3.Hash(p) != b.sums[i] {
		return fail.New(fail.Corrupt, "%s: checksum of block %d", b.name, i)
	}
	return nil
}

// Range implements ranger. A range inside a block is not copied. It is read for
// all who come later, whoever asked.
func (b *blob) Range(off, n int64) ([]byte, error) { return b.RangeOn(off, n, off+n) }

// RangeOn is Range by one who will go on to the offset until.
func (b *blob) RangeOn(off, n, until int64) ([]byte, error) {
	ctx := context.Background()
	if off < 0 || n < 0 || off > b.size-n {
		return nil, fail.New(fail.Corrupt, "%s: bytes %d to %d of %d", b.name, off, off+n, b.size)
	}
	if n == 0 {
		return nil, nil
	}
	if i := off / blockBytes; (off+n-1)/blockBytes == i {
		p, err := b.block(ctx, i, min(b.runEnd(i), b.ahead(off, n, until)))
		if err != nil {
			return nil, err
		}
		at := off - i*blockBytes
		return p[at : at+n : at+n], nil
	}
	p := make([]byte, n)
	return p, b.ReadOn(ctx, p, off, until)
}

// direct is the size from which a read is large. Without runs it does not go through
// the cache at all.
const direct = 4 * blockBytes

// ReadAt implements lance.Reader.
func (b *blob) ReadAt(ctx context.Context, p []byte, off int64) error {
	return b.ReadOn(ctx, p, off, off+int64(len(p)))
}

// ReadOn implements lance.Follower: it is ReadAt by one who will go on to the offset
// until. Of a large read the cache keeps only the blocks at the ends: what is made of
// it is kept by those who asked.
func (b *blob) ReadOn(ctx context.Context, p []byte, off, until int64) error {
	if off < 0 || off > b.size-int64(len(p)) {
		return fail.New(fail.Corrupt, "%s: bytes %d to %d of %d", b.name, off, off+int64(len(p)), b.size)
	}
	if len(p) == 0 {
		return nil
	}
	if len(p) >= direct && b.runBlocks() == 1 {
		return b.readLarge(ctx, p, off)
	}
	end := b.ahead(off, int64(len(p)), until)
	large := len(p) >= direct
	for len(p) > 0 {
		i := off / blockBytes
		block, err := b.block(ctx, i, min(b.runEnd(i), end))
		if err != nil {
			return err
		}
		n := copy(p, block[off-i*blockBytes:])
		p, off = p[n:], off+int64(n)
		if large && n == len(block) && len(p) > 0 {
			b.cache.Discard(cache.Key{File: b.file, Part: i})
		}
	}
	return nil
}

// Runs. A far store is read in runs of blocks, which begin at multiples of their length
// in the blob, so that whoever reads on wants the same ones. While a run is read or
// used, the aheadRuns behind it are read in the background. One who begins somewhere
// may stop soon (LIMIT, a filter that picks a chunk), and gets no more than firstBytes.
const (
	firstBytes   = 4 * blockBytes
	maxRunBlocks = 8
	aheadRuns    = 2
	// runShare: a run is at most this part of the cache, so that what was read ahead of
	// a few scans is still there when they come to it.
	runShare = 128
)

// runBlocks is the length of a run, 1 of a near store: its kernel reads ahead.
func (b *blob) runBlocks() int64 {
	if !b.far {
		return 1
	}
	return max(1, min(maxRunBlocks, b.cache.Budget()/(runShare*blockBytes)))
}

// runEnd is the block behind the run of block i.
func (b *blob) runEnd(i int64) int64 {
	n := b.runBlocks()
	return (i/n + 1) * n
}

// ahead starts reading the runs behind the one that a read of n bytes from off begins
// in, and returns the block up to which blocks are wanted.
func (b *blob) ahead(off, n, until int64) int64 {
	if b.runBlocks() == 1 {
		return 0 // block by block
	}
	first := off / blockBytes
	if !b.cache.Has(cache.Key{File: b.file, Part: first - 1}) {
		until = min(until, off+firstBytes)
	}
	end := (min(max(until, off+n), b.size) + blockBytes - 1) / blockBytes
	last := (off + n - 1) / blockBytes
	b.start(b.runEnd(first), min(b.runEnd(last)+aheadRuns*b.runBlocks(), end))
	return end
}

// Soon tells that n bytes from off will be asked for.
func (b *blob) Soon(off, n int64) {
	if off >= 0 && n > 0 && off <= b.size-n {
		from := off / blockBytes
		b.start(from, min((off+n-1)/blockBytes+1, b.runEnd(from)+aheadRuns*b.runBlocks()))
	}
}

// start reads the blocks [from, to) in the background, a run at a time, as far as
// nobody has them and not too much else is read there.
func (b *blob) start(from, to int64) {
	for ; from < to && b.runBlocks() > 1; from = b.runEnd(from) {
		claim := b.cache.Claim(b.file, from, min(b.runEnd(from), to))
		if claim == nil {
			continue
		}
		if !b.cache.Background(func(ctx context.Context) { _, _ = b.load(ctx, claim) }) {
			claim.Release()
			return
		}
	}
}

// readLarge reads the whole blocks of a range at once, and the ends through the cache.
func (b *blob) readLarge(ctx context.Context, p []byte, off int64) error {
	first := (off + blockBytes - 1) / blockBytes
	from := first*blockBytes - off
	whole := (int64(len(p)) - from) / blockBytes * blockBytes
	middle := p[from : from+whole]
	if err := b.read(ctx, middle, first*blockBytes); err != nil {
		return err
	}
	for i := range whole / blockBytes {
		if err := b.verify(middle[i*blockBytes:(i+1)*blockBytes], first+i); err != nil {
			return err
		}
	}
	if err := b.ReadAt(ctx, p[:from], off); err != nil {
		return err
	}
	return b.ReadAt(ctx, p[from+whole:], off+from+whole)
}
