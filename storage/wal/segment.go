package wal

import (
	"encoding/binary"
	"fmt"

	"github.com/oklog/ulid/v2"
	"github.com/zeebo/xxh3"
)

// Entry is a line of a segment's footer.
type Entry struct {
	ObjectID    uint64
	Incarnation string // ULID
	Partition   int
	Records     uint32
	Off, Len    int64 // bytes in the segment
	Checksum    uint64
	Batches     []Batch // Base counts from 0 in the block and TS is 0: offsets and times are not in the segment
}

// DecodeSegment reads and checks a whole segment, for fsck and for tools. The
// payloads alias body.
func DecodeSegment(key string, body []byte) ([]Entry, error) {
	if err := checkHeader(key, body); err != nil {
		return nil, err
	}
	footer, err := footerOf(key, body)
	if err != nil {
		return nil, err
	}
	end := int64(len(body) - trailerLen - len(footer))
	entries := make([]Entry, 0, len(footer)/entryLen)
	next := int64(headerLen)
	for i := 0; len(footer) > 0; i++ {
		e, batches := parseEntry(footer[:entryLen])
		footer = footer[entryLen:]
		if e.Off != next || e.Len < 0 || e.Len > end-next {
			return nil, corrupt(key, fmt.Sprintf("footer entry %d", i), "bytes %d+%d do not follow %d", e.Off, e.Len, next)
		}
		next += e.Len
		if err := e.fill(key, body[e.Off:next], batches); err != nil {
			return nil, err
		}
		entries = append(entries, e)
	}
	if next != end {
		return nil, corrupt(key, "footer", "the blocks end at byte %d, the footer begins at %d", next, end)
	}
	return entries, nil
}

func checkHeader(key string, body []byte) error {
	switch {
	case len(body) < headerLen+trailerLen:
		return corrupt(key, "header", "%d bytes are too short for a segment", len(body))
	case string(body[:4]) != segmentMagic:
		return corrupt(key, "header", "the magic is %q, not %q", body[:4], segmentMagic)
	}
	return checkVersion(key, body)
}

// checkVersion refuses what a later release wrote, by name.
func checkVersion(key string, body []byte) error {
	if v := binary.LittleEndian.Uint16(body[4:]); v != formatVersion {
		return corrupt(key, "header", "format version %d is unknown; this program reads version %d", v, formatVersion)
	}
	return nil
}

func footerOf(key string, body []byte) ([]byte, error) {
	t := body[len(body)-trailerLen:]
	size, count := int64(binary.LittleEndian.Uint32(t)), int64(binary.LittleEndian.Uint32(t[4:]))
	switch {
	case string(t[20:]) != segmentMagic:
		return nil, corrupt(key, "trailer", "the magic is %q, not %q", t[20:], segmentMagic)
	case size != count*entryLen || size > int64(len(body)-headerLen-trailerLen):
		return nil, corrupt(key, "trailer", "a footer of %d bytes with %d entries", size, count)
	case binary.LittleEndian.Uint32(t[16:]) != 0:
		return nil, corrupt(key, "trailer", "reserved bytes are not zero")
	}
	start := int64(len(body)) - trailerLen - size
	sum, want := frameSum(body[:headerLen], body[start:len(body)-trailerLen+8]), binary.LittleEndian.Uint64(t[8:])
	if sum != want {
		return nil, corrupt(key, "header or footer", "checksum %016x, the trailer has %016x", sum, want)
	}
	return body[start : len(body)-trailerLen], nil
}

func parseEntry(b []byte) (e Entry, batches uint32) {
	return Entry{
		ObjectID:    binary.LittleEndian.Uint64(b),
		Incarnation: ulid.ULID(b[8:24]).String(),
		Partition:   int(binary.LittleEndian.Uint32(b[24:])),
		Records:     binary.LittleEndian.Uint32(b[28:]),
		Off:         int64(binary.LittleEndian.Uint64(b[32:])),
		Len:         int64(binary.LittleEndian.Uint64(b[40:])),
		Checksum:    binary.LittleEndian.Uint64(b[48:]),
	}, binary.LittleEndian.Uint32(b[56:])
}

// fill checks the bytes of the entry's block and splits them.
func (e *Entry) fill(key string, block []byte, batches uint32) error {
	section := fmt.Sprintf("block at byte %d", e.Off)
	if sum := xxh3.Hash(block); sum != e.Checksum {
		return corrupt(key, section, "checksum %016x, the footer has %016x", sum, e.Checksum)
	}
	list, err := decodeBlock(key, e.Off, block, e.Records)
	if err != nil {
		return err
	}
	if len(list) != int(batches) {
		return corrupt(key, section, "%d batches, the footer has %d", len(list), batches)
	}
	e.Batches = place0(list)
	return nil
}

// place0 gives batches offsets relative to the block.
func place0(list []batch) []Batch {
	out, base := make([]Batch, len(list)), uint64(0)
	for i, b := range list {
		out[i] = Batch{Base: base, Records: b.records, Payload: b.payload}
		base += uint64(b.records)
	}
	return out
}
