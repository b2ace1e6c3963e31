package wal

import (
	"encoding/binary"
	"fmt"

	"github.com/loamdb/loam/internal/fail"
	"github.com/oklog/ulid/v2"
	"github.com/zeebo/xxh3"
)

// The segment layout. All integers are little-endian.
const (
	segmentMagic  = "LWAL"
	indexMagic    = "LWIX"
	formatVersion = 0

	headerLen  = 32 // magic, version u16, zero u16, ULID 16, created ms u64
	trailerLen = 24 // footer length u32, entry count u32, frame checksum u64, zero u32, magic
	entryLen   = 64 // object u64, incarnation 16, partition u32, records u32, offset u64, length u64, checksum u64, batches u32, zero u32

	batchHead  = 4 // a block begins with its number of batches
	batchEntry = 8 // then records u32 and payload length u32 of each
)

// segmentKey and indexKey name the object with the ULID, made on the day (yyyymmdd).
func segmentKey(day, id string) string { return "wal/" + day + "/" + id + ".lwal" }
func indexKey(day, id string) string   { return "walx/" + day + "/" + id + ".lwix" }

// batch is one append inside a block.
type batch struct {
	records uint32
	payload []byte
}

// region is a block before it has a place: consecutive batches of one partition.
type region struct {
	object      uint64
	incarnation ulid.ULID
	partition   uint32
	batches     []batch
	bytes       int64 // sum of Block.Bytes
}

func (r *region) records() uint32 {
	n := uint32(0)
	for _, b := range r.batches {
		n += b.records
	}
	return n
}

func (r *region) size() int {
	n := batchHead + batchEntry*len(r.batches)
	for _, b := range r.batches {
		n += len(b.payload)
	}
	return n
}

// place is where a region went.
type place struct {
	off, len int64
	checksum uint64
}

// encodeSegment lays the regions out, and says where each went.
func encodeSegment(id ulid.ULID, createdMS int64, regions []region) (body []byte, places []place) {
	size := headerLen + len(regions)*entryLen + trailerLen
	for i := range regions {
		size += regions[i].size()
	}
	body = make([]byte, 0, size)
	body = append(body, segmentMagic...)
	body = binary.LittleEndian.AppendUint16(body, formatVersion)
	body = binary.LittleEndian.AppendUint16(body, 0)
	body = append(body, id[:]...)
	body = binary.LittleEndian.AppendUint64(body, uint64(createdMS))
	places = make([]place, len(regions))
	for i := range regions {
		off := len(body)
		body = appendBlock(body, regions[i].batches)
		places[i] = place{off: int64(off), len: int64(len(body) - off), checksum: xxh3.Hash(body[off:])}
	}
	footer := len(body)
	for i := range regions {
		body = appendEntry(body, &regions[i], places[i])
	}
	body = binary.LittleEndian.AppendUint32(body, uint32(len(body)-footer))
	body = binary.LittleEndian.AppendUint32(body, uint32(len(regions)))
	body = binary.LittleEndian.AppendUint64(body, frameSum(body[:headerLen], body[footer:]))
	body = binary.LittleEndian.AppendUint32(body, 0)
	return append(body, segmentMagic...), places
}

// frameSum covers all of a segment but its blocks, which have their own sums:
// the header, and the footer with the two lengths after it.
func frameSum(header, footer []byte) uint64 {
	h := xxh3.New()
	_, _ = h.Write(header)
	_, _ = h.Write(footer)
	return h.Sum64()
}

func appendBlock(body []byte, batches []batch) []byte {
	body = binary.LittleEndian.AppendUint32(body, uint32(len(batches)))
	for _, b := range batches {
		body = binary.LittleEndian.AppendUint32(body, b.records)
		body = binary.LittleEndian.AppendUint32(body, uint32(len(b.payload)))
	}
	for _, b := range batches {
		body = append(body, b.payload...)
	}
	return body
}

func appendEntry(body []byte, r *region, p place) []byte {
	body = binary.LittleEndian.AppendUint64(body, r.object)
	body = append(body, r.incarnation[:]...)
	body = binary.LittleEndian.AppendUint32(body, r.partition)
	body = binary.LittleEndian.AppendUint32(body, r.records())
	body = binary.LittleEndian.AppendUint64(body, uint64(p.off))
	body = binary.LittleEndian.AppendUint64(body, uint64(p.len))
	body = binary.LittleEndian.AppendUint64(body, p.checksum)
	body = binary.LittleEndian.AppendUint32(body, uint32(len(r.batches)))
	return binary.LittleEndian.AppendUint32(body, 0)
}

func corrupt(key, section string, format string, args ...any) error {
	return fail.New(fail.Corrupt, "WAL object %q, %s: %s", key, section, fmt.Sprintf(format, args...))
}

// decodeBlock splits the bytes of a block, whose checksum has been compared.
func decodeBlock(key string, off int64, b []byte, records uint32) ([]batch, error) {
	section := fmt.Sprintf("block at byte %d", off)
	if len(b) < batchHead {
		return nil, corrupt(key, section, "%d bytes are too short", len(b))
	}
	n := uint64(binary.LittleEndian.Uint32(b))
	table := b[batchHead:]
	if n*batchEntry > uint64(len(table)) {
		return nil, corrupt(key, section, "%d batches do not fit into %d bytes", n, len(b))
	}
	data := table[n*batchEntry:]
	out, sum := make([]batch, n), uint64(0)
	for i := range out {
		e := table[i*batchEntry:]
		size := binary.LittleEndian.Uint32(e[4:])
		if uint64(size) > uint64(len(data)) {
			return nil, corrupt(key, section, "batch %d ends after the block", i)
		}
		out[i] = batch{records: binary.LittleEndian.Uint32(e), payload: data[:size:size]}
		data = data[size:]
		sum += uint64(out[i].records)
	}
	if len(data) > 0 || sum != uint64(records) {
		return nil, corrupt(key, section, "%d bytes left over, %d records where %d are named", len(data), sum, records)
	}
	return out, nil
}
