package collection

import (
	"context"

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

// ranger gives ranges of bytes that never change; column and text read through it.
type ranger interface {
	Range(off, n int64) ([]byte, error)
}

// byteRange is a ranger of bytes in memory.
type byteRange []byte

func (b byteRange) Range(off, n int64) ([]byte, error) { return b[off : off+n : off+n], nil }

// blob is a run of bytes of an object with a checksum for each 256 KiB block from
// its start. Blocks are read with pread when they are needed, checked when they
// enter the node's cache, and never mapped.
type blob struct {
	cache *cache.Cache
	file  uint64 // of the cache's keys
	// read fills p from the blob's offset off.
	read func(ctx context.Context, p []byte, off int64) error
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
			data, err := b.store.GetRange(ctx, b.key, s.Off+off, int64(len(p)))
			copy(p, data)
			return err
		}
		return &blob{cache: c, file: file, read: read, size: s.Len, sums: s.Blocks, name: "split " + b.key + " section " + name}
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

// block is block number i, verified.
func (b *blob) block(ctx context.Context, i int64) ([]byte, error) {
	v, err := b.cache.Get(cache.Key{File: b.file, Part: i}, func() (any, int64, error) {
		p := make([]byte, min(blockBytes, b.size-i*blockBytes))
		if err := b.read(ctx, p, i*blockBytes); err != nil {
			return nil, 0, err
		}
		return p, int64(len(p)), b.verify(p, i)
	})
	if err != nil {
		return nil, err
	}
	return v.([]byte), nil
}

func (b *blob) verify(p []byte, i int64) error {
	if xxh3.Hash(p) != b.sums[i] {
		return fail.New(fail.Corrupt, "%s: checksum of block %d", b.name, i)
	}
	return nil
}

// Range implements ranger. A range inside a block is not copied. It is read for
// all who come later, whoever asked.
func (b *blob) Range(off, n int64) ([]byte, error) {
	ctx := context.Background()
	if off < 0 || n < 0 || off > b.size-n {
		return nil, fail.New(fail.Corrupt, "%s: bytes %d to %d of %d", b.name, off, off+n, b.size)
	}
	if n == 0 {
		return nil, nil
	}
	if i := off / blockBytes; (off+n-1)/blockBytes == i {
		p, err := b.block(ctx, i)
		if err != nil {
			return nil, err
		}
		at := off - i*blockBytes
		return p[at : at+n : at+n], nil
	}
	p := make([]byte, n)
	return p, b.ReadAt(ctx, p, off)
}

// direct is the size from which a read does not go through the cache.
const direct = 4 * blockBytes

// ReadAt implements lance.Reader. Large reads go past the cache: their blocks are
// verified where they come to lie, and only those at the ends are kept.
func (b *blob) ReadAt(ctx context.Context, p []byte, off int64) error {
	if off < 0 || off > b.size-int64(len(p)) {
		return fail.New(fail.Corrupt, "%s: bytes %d to %d of %d", b.name, off, off+int64(len(p)), b.size)
	}
	if len(p) >= direct {
		return b.readLarge(ctx, p, off)
	}
	for len(p) > 0 {
		i := off / blockBytes
		block, err := b.block(ctx, i)
		if err != nil {
			return err
		}
		n := copy(p, block[off-i*blockBytes:])
		p, off = p[n:], off+int64(n)
	}
	return nil
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
