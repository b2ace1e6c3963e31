package wal

import (
	"encoding/binary"

	"github.com/loamdb/loam/metastore"
	"github.com/zeebo/xxh3"
)

// An index object holds the references that left a partition row:
// magic, version u16, zero u16, count u32, then the references, then XXH3-64 of
// all that comes before.
const indexHead = 12

// refFixed is the size of a reference without its key.
const refFixed = 8 + 4 + 8 + 8 + 8 + 8 + 8 + 2

func encodeIndex(refs []metastore.Ref) []byte {
	b := append([]byte(nil), indexMagic...)
	b = binary.LittleEndian.AppendUint16(b, formatVersion)
	b = binary.LittleEndian.AppendUint16(b, 0)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(refs)))
	for _, r := range refs {
		b = binary.LittleEndian.AppendUint64(b, r.Base)
		b = binary.LittleEndian.AppendUint32(b, r.Records)
		b = binary.LittleEndian.AppendUint64(b, uint64(r.Off))
		b = binary.LittleEndian.AppendUint64(b, uint64(r.Len))
		b = binary.LittleEndian.AppendUint64(b, r.Checksum)
		b = binary.LittleEndian.AppendUint64(b, uint64(r.TS))
		b = binary.LittleEndian.AppendUint64(b, uint64(r.Bytes))
		b = binary.LittleEndian.AppendUint16(b, uint16(len(r.WALKey)))
		b = append(b, r.WALKey...)
	}
	return binary.LittleEndian.AppendUint64(b, xxh3.Hash(b))
}

// DecodeIndex reads and checks an index object, for fsck and for tools.
func DecodeIndex(key string, b []byte) ([]metastore.Ref, error) {
	switch {
	case len(b) < indexHead+8:
		return nil, corrupt(key, "header", "%d bytes are too short for an index", len(b))
	case string(b[:4]) != indexMagic:
		return nil, corrupt(key, "header", "the magic is %q, not %q", b[:4], indexMagic)
	}
	if err := checkVersion(key, b); err != nil {
		return nil, err
	}
	sum := binary.LittleEndian.Uint64(b[len(b)-8:])
	b = b[:len(b)-8]
	if got := xxh3.Hash(b); got != sum {
		return nil, corrupt(key, "references", "checksum %016x, the object ends with %016x", got, sum)
	}
	n := int(binary.LittleEndian.Uint32(b[8:]))
	b = b[indexHead:]
	if n > len(b)/refFixed {
		return nil, corrupt(key, "header", "%d references do not fit into %d bytes", n, len(b))
	}
	refs := make([]metastore.Ref, n)
	for i := range refs {
		var ok bool
		if refs[i], b, ok = parseRef(b); !ok {
			return nil, corrupt(key, "references", "reference %d ends after the object", i)
		}
	}
	if len(b) > 0 {
		return nil, corrupt(key, "references", "%d bytes left over", len(b))
	}
	return refs, nil
}

func parseRef(b []byte) (r metastore.Ref, rest []byte, ok bool) {
	if len(b) < refFixed {
		return r, nil, false
	}
	n := int(binary.LittleEndian.Uint16(b[52:]))
	if len(b) < refFixed+n {
		return r, nil, false
	}
	return metastore.Ref{
		Base:     binary.LittleEndian.Uint64(b),
		Records:  binary.LittleEndian.Uint32(b[8:]),
		Off:      int64(binary.LittleEndian.Uint64(b[12:])),
		Len:      int64(binary.LittleEndian.Uint64(b[20:])),
		Checksum: binary.LittleEndian.Uint64(b[28:]),
		TS:       int64(binary.LittleEndian.Uint64(b[36:])),
		Bytes:    int64(binary.LittleEndian.Uint64(b[44:])),
		WALKey:   string(b[refFixed : refFixed+n]),
	}, b[refFixed+n:], true
}
