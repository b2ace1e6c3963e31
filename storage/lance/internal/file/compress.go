package file

import (
	"encoding/binary"

	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"

	"github.com/loamdb/loam/storage/lance/internal/pb"
)

// maxExpansion bounds what a compressed buffer may claim to hold, as a multiple of
// its size; both schemes stay below it.
const maxExpansion = 1 << 16

// decompress undoes general compression: LZ4 is a u32 length and a raw block,
// Zstd a u64 length and a frame, or a bare frame.
func decompress(scheme uint64, b []byte) ([]byte, error) {
	switch scheme {
	case pb.LZ4:
		return decompressLZ4(b)
	case pb.Zstd:
		return decompressZstd(b)
	}
	return nil, unsupported("compression scheme %d is not readable", scheme)
}

func decompressLZ4(b []byte) ([]byte, error) {
	if len(b) < 4 {
		return nil, corrupt("compressed buffer of %d bytes", len(b))
	}
	n := uint64(binary.LittleEndian.Uint32(b))
	if n > uint64(len(b))*256 {
		return nil, corrupt("compressed buffer of %d bytes claims %d", len(b), n)
	}
	out := make([]byte, n)
	got, err := lz4.UncompressBlock(b[4:], out)
	if err != nil || uint64(got) != n {
		return nil, corrupt("LZ4 block: %d of %d bytes (%v)", got, n, err)
	}
	return out, nil
}

// zstdMagic starts a frame.
const zstdMagic = 0xFD2FB528

func decompressZstd(b []byte) ([]byte, error) {
	sized := len(b) < 4 || binary.LittleEndian.Uint32(b) != zstdMagic
	want := uint64(0)
	if sized {
		if len(b) < 8 {
			return nil, corrupt("compressed buffer of %d bytes", len(b))
		}
		want, b = binary.LittleEndian.Uint64(b), b[8:]
	}
	limit := uint64(len(b))*maxExpansion + 1<<10
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(limit))
	if err != nil {
		return nil, corrupt("zstd frame: %v", err)
	}
	defer d.Close()
	out, err := d.DecodeAll(b, nil)
	if err != nil {
		return nil, corrupt("zstd frame: %v", err)
	}
	if sized && uint64(len(out)) != want {
		return nil, corrupt("zstd frame of %d bytes where %d are due", len(out), want)
	}
	return out, nil
}
