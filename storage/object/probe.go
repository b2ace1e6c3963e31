package object

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/loamdb/loam/internal/clock"
	"github.com/loamdb/loam/internal/fail"
)

// Check is one promise of a store, tried.
type Check struct {
	Name string // a word or two
	What string // the promise, in a sentence
	// Err says how the promise was broken, with a cure; nil: it was kept.
	Err error
	// Skipped: an earlier check failed in a way that leaves nothing to try.
	Skipped bool
}

const (
	probeWriters = 8
	probeRounds  = 8
	probeCure    = "Loam cannot trust this store with its data. Use one with atomic conditional writes (If-None-Match: *): AWS S3, MinIO, Ceph, versitygw 1.8 or newer with extended attributes."
)

// probe is one run of the checks, under keys of its own.
type probe struct {
	store  Store
	prefix string
	keys   []string // made so far
}

// Probe tries what Loam asks of a store and reports on each promise. It writes under
// a name of its own below the store's prefix, up to 20 MiB, and removes that again.
// The error is the end of ctx, or that of the cleaning.
func Probe(ctx context.Context, s Store, ids clock.IDs) ([]Check, error) {
	p := &probe{store: s, prefix: "loam-doctor-" + strings.ToLower(ids.ULID()) + "/"}
	checks := []struct {
		name, what string
		run        func(context.Context) error
	}{
		{"write and read", "what was written is read back, and an absent name is not found", p.writeAndRead},
		{"create once", "a second create of a name is refused and changes nothing", p.createOnce},
		{"create race", fmt.Sprintf("of %d writers of one name exactly one wins, %d rounds", probeWriters, probeRounds), p.createRace},
		{"large objects", "a multipart upload arrives whole, and is refused when the name is taken", p.large},
		{"range reads", "a range is read exactly, and none past the end", p.ranges},
		{"checksums", "a body that does not match its CRC32C is refused", p.checksums},
		{"replace", "while an object is replaced, readers see it whole, with its own checksum", p.replace},
		{"listing", "new objects are listed at once, in the byte order of their names", p.listing},
		{"delete", "a deleted object is gone at once, and a second delete is no error", p.remove},
	}
	out := make([]Check, len(checks))
	stop := false
	for i, c := range checks {
		out[i] = Check{Name: c.name, What: c.what, Skipped: stop}
		if !stop {
			out[i].Err = c.run(ctx)
			stop = i == 0 && out[i].Err != nil
		}
		if err := fail.Ended(ctx, "the probe of the store"); err != nil {
			return out, err
		}
	}
	if stop {
		return out, nil
	}
	return out, s.Delete(ctx, p.keys...)
}

// ProbeCreate tries the one promise without which two nodes could write over each
// other: that a second create of a name is refused. It costs four requests.
func ProbeCreate(ctx context.Context, s Store, ids clock.IDs) error {
	p := &probe{store: s, prefix: "loam-probe-" + strings.ToLower(ids.ULID()) + "/"}
	err := p.createOnce(ctx)
	if derr := s.Delete(ctx, p.keys...); err == nil {
		err = derr
	}
	return err
}

func (p *probe) key(name string) string {
	key := p.prefix + name
	p.keys = append(p.keys, key)
	return key
}

// broken is a promise that was not kept.
func broken(cure, format string, args ...any) error {
	return fail.New(fail.Unsupported, format, args...).WithHint("%s", cure)
}

func (p *probe) writeAndRead(ctx context.Context) error {
	key, body := p.key("first"), []byte("written by loam doctor")
	if _, err := p.store.Head(ctx, key); !errors.Is(err, ErrNotFound) {
		if err == nil {
			err = broken(probeCure, "a name that nobody has used is there")
		}
		return err
	}
	if _, err := p.store.Put(ctx, key, body, PutOptions{}); err != nil {
		return err
	}
	return p.holds(ctx, key, body)
}

// holds checks what an object has in it.
func (p *probe) holds(ctx context.Context, key string, want []byte) error {
	got, err := p.store.Get(ctx, key)
	if err == nil && !bytes.Equal(got, want) {
		err = broken(probeCure, "%d bytes were written, and %d others read back", len(want), len(got))
	}
	return err
}

// refused turns the second create's answer into the check's.
func refused(err error) error {
	switch {
	case err == nil:
		return broken(probeCure, "the store ignores If-None-Match: the second create of a name succeeded")
	case errors.Is(err, ErrExists):
		return nil
	}
	return err
}

func (p *probe) createOnce(ctx context.Context) error {
	key, body := p.key("once"), []byte("the first writer's")
	if _, err := p.store.Put(ctx, key, body, PutOptions{}); err != nil {
		return err
	}
	_, err := p.store.Put(ctx, key, []byte("the second writer's"), PutOptions{})
	return errors.Join(refused(err), p.holds(ctx, key, body))
}

func (p *probe) createRace(ctx context.Context) error {
	for round := range probeRounds {
		key := p.key(fmt.Sprintf("race/%d", round))
		var winners, winner atomic.Int64
		start := make(chan struct{})
		g, gctx := errgroup.WithContext(ctx)
		for w := range probeWriters {
			g.Go(func() error {
				<-start
				_, err := p.store.Put(gctx, key, writerBody(int64(w)), PutOptions{})
				if err == nil {
					winners.Add(1)
					winner.Store(int64(w))
				} else if errors.Is(err, ErrExists) {
					err = nil
				}
				return err
			})
		}
		close(start)
		if err := g.Wait(); err != nil {
			return err
		}
		if n := winners.Load(); n != 1 {
			return broken(probeCure, "conditional writes are not atomic: %d of %d writers won in round %d", n, probeWriters, round+1)
		}
		if err := p.holds(ctx, key, writerBody(winner.Load())); err != nil {
			return err
		}
	}
	return nil
}

func writerBody(w int64) []byte { return bytes.Repeat([]byte{'a' + byte(w)}, 1000) }

// probeLarge is more than one part of S3Options.PartBytes.
const probeLarge = 9 << 20

func (p *probe) large(ctx context.Context) error {
	body := make([]byte, probeLarge)
	for i := range body {
		body[i] = byte(i * i >> 3)
	}
	key := p.key("large")
	create := func() error {
		w, err := p.store.Create(ctx, key)
		if err != nil {
			return err
		}
		defer w.Abort()
		if _, err := w.Write(body); err != nil {
			return err
		}
		_, err = w.Commit()
		return err
	}
	if err := create(); err != nil {
		return err
	}
	if err := p.holds(ctx, key, body); err != nil {
		return err
	}
	return refused(create())
}

func (p *probe) ranges(ctx context.Context) error {
	key := p.key("ranges")
	if _, err := p.store.Put(ctx, key, []byte("0123456789"), PutOptions{}); err != nil {
		return err
	}
	const cure = "Loam reads parts of large objects. Use a store with range reads (Range: bytes=…), and no proxy that takes them away."
	got, err := p.store.GetRange(ctx, key, 3, 4)
	if err != nil {
		return err
	}
	if string(got) != "3456" {
		return broken(cure, "bytes 3 to 6 of 0123456789 were read as %q", got)
	}
	if got, err = p.store.GetRange(ctx, key, 8, 4); !fail.Is(err, fail.Corrupt) {
		return broken(cure, "a range past the end was answered with %q, %v", got, err)
	}
	return nil
}

func (p *probe) checksums(ctx context.Context) error {
	s, ok := p.store.(*S3)
	if !ok {
		return nil // a store in this process has no wire
	}
	key := p.key("checksum")
	accepted, err := s.putDamaged(ctx, key)
	if err == nil && accepted {
		err = broken("Loam still finds damage when it reads, but later than need be. Use a store that checks x-amz-checksum-crc32c.",
			"a body that does not match its CRC32C was accepted")
	}
	return err
}

const (
	probeReaders  = 4
	probeReplaces = 40
)

// replace reads without a second try: that one would hide what this looks for.
func (p *probe) replace(ctx context.Context) error {
	key := p.key("replaced")
	get := p.store.Get
	if s, ok := p.store.(*S3); ok {
		get = s.getOnce
	}
	var torn, reads atomic.Int64
	read := func(ctx context.Context) error {
		body, err := get(ctx, key)
		reads.Add(1)
		if errors.Is(err, errDamaged) || (err == nil && !isReplacement(body)) {
			torn.Add(1)
			return nil
		}
		if judge(err).again { // an overload is no broken promise
			return nil
		}
		return err
	}
	if _, err := p.store.Put(ctx, key, replacement(0), PutOptions{Replace: true}); err != nil {
		return err
	}
	var done atomic.Bool
	g, gctx := errgroup.WithContext(ctx)
	for range probeReaders {
		g.Go(func() error {
			for !done.Load() {
				if err := read(gctx); err != nil {
					return err
				}
			}
			return nil
		})
	}
	g.Go(func() error {
		defer done.Store(true)
		for i := range probeReplaces {
			if _, err := p.store.Put(gctx, key, replacement(i), PutOptions{Replace: true}); err != nil {
				return err
			}
		}
		return nil
	})
	if err := g.Wait(); err != nil {
		return err
	}
	if n := torn.Load(); n > 0 {
		return broken("Use a store that changes an object and what it knows of it in one step; versitygw does with extended attributes, and not with --sidecar.",
			"%d of %d reads saw parts of two versions of an object that was being replaced", n, reads.Load())
	}
	return nil
}

// replacement is the i-th version: its number, in a length of its own.
func replacement(i int) []byte { return bytes.Repeat([]byte{byte(i)}, 1000+100*(i%probeReplaces)) }

func isReplacement(body []byte) bool {
	return len(body) > 0 && bytes.Equal(body, replacement(int(body[0])))
}

func (p *probe) listing(ctx context.Context) error {
	var want []string
	for _, name := range []string{"b", "a/1", "a-1", "a.1", "B", "ü"} {
		want = append(want, p.key("list/"+name))
		if _, err := p.store.Put(ctx, want[len(want)-1], nil, PutOptions{}); err != nil {
			return err
		}
	}
	slices.Sort(want)
	page, err := p.store.List(ctx, p.prefix+"list/", "")
	if err != nil {
		return err
	}
	var got []string
	for _, info := range page {
		got = append(got, info.Key)
	}
	if !slices.Equal(got, want) {
		return broken("Loam finds what it may delete by listings. Use a store whose listings are complete after each write and in byte order (S3 Express buckets are not).",
			"%d objects were written, and these are listed: %q", len(want), got)
	}
	return nil
}

func (p *probe) remove(ctx context.Context) error {
	key := p.key("delete")
	if _, err := p.store.Put(ctx, key, nil, PutOptions{}); err != nil {
		return err
	}
	for range 2 {
		if err := p.store.Delete(ctx, key); err != nil {
			return err
		}
	}
	_, err := p.store.Head(ctx, key)
	switch {
	case err == nil:
		return broken("Look whether the bucket keeps deleted objects readable; Loam needs deletes that are seen at once.", "a deleted object is still there")
	case errors.Is(err, ErrNotFound):
		return nil
	}
	return err
}
