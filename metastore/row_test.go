package metastore

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/loamdb/loam/internal/fail"
	"pgregory.net/rapid"
)

func genRef(t *rapid.T) Ref {
	return Ref{Base: rapid.Uint64().Draw(t, "base"), Records: uint32(rapid.Int32Min(0).Draw(t, "records")), WALKey: rapid.String().Draw(t, "key"),
		Off: rapid.Int64().Draw(t, "off"), Len: rapid.Int64().Draw(t, "len"), Checksum: rapid.Uint64().Draw(t, "sum"),
		TS: rapid.Int64().Draw(t, "ts"), Bytes: rapid.Int64().Draw(t, "bytes")}
}

// codecs are all row kinds: how one is drawn and encoded, and how it is decoded.
var codecs = map[string]struct {
	gen func(t *rapid.T) (any, []byte)
	dec func(r row) (any, error)
}{
	"partition": {func(t *rapid.T) (any, []byte) {
		p := PartitionState{Incarnation: rapid.String().Draw(t, "inc"), Next: rapid.Uint64().Draw(t, "next"), Applied: rapid.Uint64().Draw(t, "applied"),
			LastTS: rapid.Int64().Draw(t, "ts"), Overflow: Overflow{IndexKey: rapid.String().Draw(t, "index"), Upto: 7, Bytes: -1}}
		for range rapid.IntRange(0, 5).Draw(t, "refs") {
			p.Refs = append(p.Refs, genRef(t))
		}
		return p, encodePartition(p)
	}, func(r row) (any, error) { return decodePartition(r) }},
	"head": {func(t *rapid.T) (any, []byte) {
		h := headRow{Incarnation: rapid.String().Draw(t, "inc"), Head: Head{Version: rapid.Uint64().Draw(t, "v"), ManifestKey: rapid.String().Draw(t, "m"),
			ManifestChecksum: rapid.Uint64().Draw(t, "sum"), ManifestSize: 5, LanceVersion: 1<<63 | 5, CommitID: "c", CreatedMS: -4,
			GCEpoch: rapid.Uint64().Draw(t, "epoch"), Oldest: rapid.Uint64().Draw(t, "oldest"),
			Written: rapid.Int64().Draw(t, "written"), Freed: rapid.Int64().Draw(t, "freed"), TagBytes: 6}}
		for range rapid.IntRange(0, 3).Draw(t, "n") {
			h.Head.Applied = append(h.Head.Applied, rapid.Uint64().Draw(t, "a"))
			h.Recent = append(h.Recent, Head{Version: 3, CommitID: rapid.String().Draw(t, "c")})
		}
		return h, encodeHead(h)
	}, func(r row) (any, error) { return decodeHead(r) }},
	"tags": {func(t *rapid.T) (any, []byte) {
		var tags []Tag
		for range rapid.IntRange(0, 3).Draw(t, "n") {
			tags = append(tags, Tag{Name: rapid.String().Draw(t, "name"), ID: "i", Version: rapid.Uint64().Draw(t, "v"), ManifestKey: "m",
				ManifestChecksum: rapid.Uint64().Draw(t, "sum"), ManifestSize: 9, LanceVersion: 1<<63 | 3, Applied: []uint64{1, rapid.Uint64().Draw(t, "a")},
				CreatedMS: -1, ExpiresMS: rapid.Int64().Draw(t, "expires"), Protect: rapid.Bool().Draw(t, "protect"), Comment: rapid.String().Draw(t, "comment"), Exclusive: rapid.Int64().Draw(t, "exclusive")})
		}
		return tags, encodeTags(tags)
	}, func(r row) (any, error) { return decodeTags(r) }},
	"object": {func(t *rapid.T) (any, []byte) {
		o := Object{ID: rapid.Uint64().Draw(t, "id"), Namespace: "n", Name: rapid.String().Draw(t, "name"), Kind: "k", Incarnation: "i",
			SchemaVersion: 9, Partitions: 4, Definition: rapid.SliceOf(rapid.Byte()).Draw(t, "def"), CreatedMS: 77}
		return o, encodeObject(o)
	}, func(r row) (any, error) { return decodeObject(r) }},
	"namespace": {func(t *rapid.T) (any, []byte) {
		n := Namespace{ID: "id", Name: rapid.String().Draw(t, "name"), Objects: 3, CreatedMS: 5, Definition: rapid.SliceOf(rapid.Byte()).Draw(t, "def")}
		return n, encodeNamespace(n)
	}, func(r row) (any, error) { return decodeNamespace(r) }},
	"progress": {func(t *rapid.T) (any, []byte) {
		p := Progress{Link: 7, Batch: rapid.String().Draw(t, "batch"), AtMS: rapid.Int64().Draw(t, "at"),
			Counts: LinkCounts{Batches: 1, Read: rapid.Uint64().Draw(t, "read"), Written: 3, Skipped: 4, Dead: 5}}
		for range rapid.IntRange(0, 4).Draw(t, "partitions") {
			p.Offsets = append(p.Offsets, rapid.Uint64().Draw(t, "offset"))
		}
		return p, encodeProgress(p)
	}, func(r row) (any, error) { return decodeProgress(7, r) }},
	"producer": {func(t *rapid.T) (any, []byte) {
		p := Producer{ID: "p", Epoch: rapid.Uint64().Draw(t, "epoch"), Next: rapid.Uint64().Draw(t, "next"), LastTS: rapid.Int64().Draw(t, "ts")}
		for range rapid.IntRange(0, ProducerBatches).Draw(t, "batches") {
			b := Produced{Sequence: rapid.Uint64().Draw(t, "sequence"), TS: 5, WALKey: rapid.String().Draw(t, "key")}
			for range rapid.IntRange(0, 3).Draw(t, "placed") {
				b.Placed = append(b.Placed, Placed{Partition: 63, Base: rapid.Uint64().Draw(t, "base"), Records: 1<<31 - 1})
			}
			p.Recent = append(p.Recent, b)
		}
		return p, encodeProducer(p)
	}, func(r row) (any, error) { return decodeProducer("p", r) }},
	"lease": {func(t *rapid.T) (any, []byte) {
		l := Lease{Key: "the key", Owner: rapid.String().Draw(t, "owner"), Epoch: 8, DeadlineMS: 9, Token: "t"}
		return l, encodeLease(l)
	}, func(r row) (any, error) { return decodeLease("the key", r) }},
	"info": {func(t *rapid.T) (any, []byte) {
		i := Info{ClusterID: rapid.String().Draw(t, "id"), Major: formatMajor, Minor: 4, CreatedMS: 5}
		return i, encodeInfo(i)
	}, func(r row) (any, error) { return decodeInfo(r) }},
}

func TestRowRoundTrip(t *testing.T) {
	for name, c := range codecs {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				want, b := c.gen(t)
				got, err := c.dec(row{key: "k", value: b})
				if err != nil || fmt.Sprintf("%#v", got) != fmt.Sprintf("%#v", want) && !reflect.DeepEqual(got, want) {
					t.Fatalf("%v\n got %#v\nwant %#v", err, got, want)
				}
				for n := range b { // every row that is cut short is refused
					if _, err := c.dec(row{key: "k", value: b[:n]}); !fail.Is(err, fail.Corrupt) {
						t.Fatalf("cut at %d of %d: %v", n, len(b), err)
					}
				}
				if _, err := c.dec(row{key: "k", value: append(b[:len(b):len(b)], 0)}); !fail.Is(err, fail.Corrupt) {
					t.Fatalf("with a byte too many: %v", err)
				}
				b[0] = 9
				if _, err := c.dec(row{key: "k", value: b}); !fail.Is(err, fail.Corrupt) {
					t.Fatalf("of version 9: %v", err)
				}
			})
		})
	}
}

func FuzzRows(f *testing.F) {
	f.Add(encodePartition(PartitionState{Incarnation: "x", Next: 3, Refs: []Ref{{Records: 3, WALKey: "w"}}}))
	f.Add(encodeHead(headRow{Head: Head{Applied: []uint64{1}}, Recent: []Head{{Version: 1}}}))
	f.Add([]byte{0, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1})
	f.Fuzz(func(t *testing.T, b []byte) {
		for name, c := range codecs {
			if _, err := c.dec(row{key: "k", value: b}); err != nil && !fail.Is(err, fail.Corrupt) && !fail.Is(err, fail.Unsupported) {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

func TestKeys(t *testing.T) {
	for _, c := range []struct {
		id uint64
		p  int
	}{{0, 0}, {1, 63}, {1<<64 - 1, 0xffff}} {
		id, p, ok := parsePartKey(partKey(c.id, c.p))
		if !ok || id != c.id || p != c.p {
			t.Errorf("%+v: %d %d %v", c, id, p, ok)
		}
	}
	if link, ok := parseProgressKey(progressKey(5, 1<<64-1)); !ok || link != 1<<64-1 {
		t.Error(link, ok)
	}
	for _, bad := range []string{partKey(1, 2), headKey(1), dataPrefix(1) + "l/zz", ""} {
		if _, ok := parseProgressKey(bad); ok {
			t.Errorf("%q is taken for the progress of a link", bad)
		}
	}
	for _, bad := range []string{"", prefixData, headKey(1), progressKey(1, 2), prefixData + "xyz/p/0001", dataPrefix(1) + "p/zz", tagsKey(1)} {
		if _, _, ok := parsePartKey(bad); ok {
			t.Errorf("%q is taken for a partition", bad)
		}
	}
	for _, key := range []string{headKey(1<<64 - 1), partKey(1<<64-1, 3), tagsKey(1<<64 - 1)} {
		if id, ok := parseDataKey(key); !ok || id != 1<<64-1 {
			t.Errorf("%s belongs to object %d, %v", key, id, ok)
		}
	}
	if _, ok := parseDataKey(prefixData + "no id/head"); ok {
		t.Error("an object with no id")
	}
	// The span of a snapshot ends where the tags begin.
	if s := stateSpan(7); s.from > headKey(7) || partKey(7, MaxPartitions) >= s.to || tagsKey(7) < s.to {
		t.Errorf("a snapshot reads %+v", s)
	}
	if nameKey("a/b", "c") == nameKey("a", "b/c") || nsKey("Ä") != nsKey("ä") {
		t.Error("names are not told apart or not folded")
	}
	for in, want := range map[string]string{"a": "b", "a\xff": "b", "\xff": "\xff"} {
		if got := prefixEnd(in); got != want {
			t.Errorf("end of %q is %q", in, got)
		}
	}
}
