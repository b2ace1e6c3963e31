package wal

import (
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/metastore"
	"github.com/oklog/ulid/v2"
)

func sampleRegions() []region {
	inc := ulid.MustParseStrict("01ARZ3NDEKTSV4RRFFQ69G5FAV")
	return []region{
		{object: 1, incarnation: inc, partition: 0, batches: []batch{{2, []byte("hello")}, {1, nil}}},
		{object: 1, incarnation: inc, partition: 3, batches: []batch{{7, []byte("a longer payload of the second block")}}},
		{object: 1 << 40, incarnation: inc, partition: 0, batches: []batch{{1, []byte{0}}}},
	}
}

func sampleSegment() []byte {
	body, _ := encodeSegment(ulid.MustParseStrict("01BX5ZZKBKACTAV9WEVGEMMVRZ"), 1_700_000_000_000, sampleRegions())
	return body
}

func sampleRefs() []metastore.Ref {
	return []metastore.Ref{
		{Base: 5, Records: 3, WALKey: "wal/20260102/01BX5ZZKBKACTAV9WEVGEMMVRZ.lwal", Off: 32, Len: 25, Checksum: 0xfeed, TS: 1_700_000_000_000_000, Bytes: 99},
		{Base: 8, Records: 1, WALKey: "w", Off: 1 << 40, Len: 1, Checksum: 1, TS: -1, Bytes: 0},
	}
}

// The bytes themselves are pinned: a change is a new format version.
func TestFormatGolden(t *testing.T) {
	datadriven.RunTest(t, "testdata/format", func(t *testing.T, d *datadriven.TestData) string {
		switch d.Cmd {
		case "segment":
			return hex.Dump(sampleSegment())
		case "index":
			return hex.Dump(encodeIndex(sampleRefs()))
		case "decode":
			entries, err := DecodeSegment("wal/x.lwal", sampleSegment())
			if err != nil {
				return err.Error()
			}
			var b strings.Builder
			for _, e := range entries {
				fmt.Fprintf(&b, "object %d %s partition %d: %d records, bytes %d+%d, checksum %016x\n", e.ObjectID, e.Incarnation, e.Partition, e.Records, e.Off, e.Len, e.Checksum)
				for _, x := range e.Batches {
					fmt.Fprintf(&b, "  +%d: %d records %q\n", x.Base, x.Records, x.Payload)
				}
			}
			return b.String()
		}
		d.Fatalf(t, "unknown command")
		return ""
	})
}

func TestIndexRoundTrip(t *testing.T) {
	for n := range 3 {
		refs := sampleRefs()[:n]
		got, err := DecodeIndex("k", encodeIndex(refs))
		if err != nil || len(got) != n || (n > 0 && !reflect.DeepEqual(got, refs)) {
			t.Fatalf("%+v %v", got, err)
		}
	}
}

// damage tries every cut and every flipped bit of a file: each must be refused
// as corrupt, by name.
func damage(t *testing.T, name string, body []byte, decode func(b []byte) error) {
	t.Helper()
	if err := decode(body); err != nil {
		t.Fatal(err)
	}
	check := func(what string, err error) {
		t.Helper()
		if !fail.Is(err, fail.Corrupt) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", what, err)
		}
	}
	for n := range body {
		check(fmt.Sprintf("cut at %d", n), decode(body[:n]))
	}
	check("a byte more", decode(append(body[:len(body):len(body)], 0)))
	for bit := range len(body) * 8 {
		flipped := append([]byte(nil), body...)
		flipped[bit/8] ^= 1 << (bit % 8)
		check(fmt.Sprintf("bit %d of byte %d", bit%8, bit/8), decode(flipped))
	}
}

func TestSegmentDamage(t *testing.T) {
	damage(t, "wal/x.lwal", sampleSegment(), func(b []byte) error { _, err := DecodeSegment("wal/x.lwal", b); return err })
}

func TestIndexDamage(t *testing.T) {
	damage(t, "walx/x.lwix", encodeIndex(sampleRefs()), func(b []byte) error { _, err := DecodeIndex("walx/x.lwix", b); return err })
}

func TestFutureVersionByName(t *testing.T) {
	seg, idx := sampleSegment(), encodeIndex(nil)
	seg[4], idx[4] = 3, 3
	_, serr := DecodeSegment("k", seg)
	_, ierr := DecodeIndex("k", idx)
	for _, err := range []error{serr, ierr} {
		if err == nil || !strings.Contains(err.Error(), "version 3 is unknown") {
			t.Error(err)
		}
	}
}

func FuzzSegment(f *testing.F) {
	f.Add(sampleSegment())
	f.Add(encodeIndex(sampleRefs()))
	f.Fuzz(func(t *testing.T, b []byte) {
		if _, err := DecodeSegment("k", b); err != nil && !fail.Is(err, fail.Corrupt) {
			t.Error(err)
		}
		if _, err := DecodeIndex("k", b); err != nil && !fail.Is(err, fail.Corrupt) {
			t.Error(err)
		}
		if _, err := decodeBlock("k", 0, b, 3); err != nil && !fail.Is(err, fail.Corrupt) {
			t.Error(err)
		}
	})
}

// Blocks whose checksum happens to hold must still not be trusted.
func TestBlockGarbage(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for range 20000 {
		b := make([]byte, rng.IntN(64))
		for i := range b {
			if rng.IntN(3) == 0 {
				b[i] = byte(rng.Uint32())
			}
		}
		if _, err := decodeBlock("k", 0, b, uint32(rng.IntN(4))); err != nil && !fail.Is(err, fail.Corrupt) {
			t.Fatal(err)
		}
	}
}
