package file

import (
	"bytes"
	"encoding/binary"
	"io"
	"sync"

	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"

	"github.com/loamdb/loam/storage/lance/internal/pb"
)

// maxExpansion bounds what a compressed buffer may hold, as a multiple of its size;
// both schemes stay below it.
const maxExpansion = 1 << 16

// A buffer that claims to hold no more than so much is believed at once; what claims
// more is given memory as it turns out to be true.
const (
	likelyExpansion = 32
	likelyBytes     = 64 << 10
)

func likely(b []byte) uint64 { return uint64(len(b))*likelyExpansion + likelyBytes }

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
	var got int
	var err error
	for size := min(n, likely(b)); ; size = min(n, 4*size) {
		out := make([]byte, size)
		got, err = lz4.UncompressBlock(b[4:], out)
		if err == nil && uint64(got) == n {
			return out, nil
		}
		if err == nil || size == n {
			return nil, corrupt("LZ4 block: %d of %d bytes (%v)", got, n, err)
		}
	}
}

// zstdMagic starts a frame.
const zstdMagic = 0xFD2FB528

// zstdDecoder decodes frames for all files; it is safe for many goroutines.
var zstdDecoder = sync.OnceValues(func() (*zstd.Decoder, error) {
	return zstd.NewReader(nil, zstd.WithDecoderMaxMemory(1<<32))
})

func decompressZstd(b []byte) ([]byte, error) {
	sized := len(b) < 4 || binary.LittleEndian.Uint32(b) != zstdMagic
	want := uint64(0)
	if sized {
		if len(b) < 8 {
			return nil, corrupt("compressed buffer of %d bytes", len(b))
		}
		want, b = binary.LittleEndian.Uint64(b), b[8:]
	}
	var h zstd.Header
	if err := h.Decode(b); err != nil {
		return nil, corrupt("zstd frame: %v", err)
	}
	var out []byte
	var err error
	if h.HasFCS && h.FrameContentSize <= likely(b) {
		var d *zstd.Decoder
		if d, err = zstdDecoder(); err == nil {
			out, err = d.DecodeAll(b, nil)
		}
	} else {
		out, err = decodeStream(b)
	}
	if err != nil {
		return nil, corrupt("zstd frame: %v", err)
	}
	if sized && uint64(len(out)) != want {
		return nil, corrupt("zstd frame of %d bytes where %d are due", len(out), want)
	}
	return out, nil
}

// decodeStream decodes a frame whose size is not known or not to be believed: the
// memory grows with what is decoded.
func decodeStream(b []byte) ([]byte, error) {
	limit := uint64(len(b))*maxExpansion + 1<<10
	d, err := zstd.NewReader(bytes.NewReader(b), zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(limit), zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxWindow(min(max(likely(b), 1<<23), 1<<29)))
	if err != nil {
		return nil, err
	}
	defer d.Close()
	var out bytes.Buffer
	_, err = io.Copy(&out, d)
	return out.Bytes(), err
}

// zstdEncoder encodes values for all files; it is safe for many goroutines.
var zstdEncoder = sync.OnceValues(func() (*zstd.Encoder, error) {
	return zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedDefault), zstd.WithEncoderCRC(false))
})

// Values are compressed one by one where they are long enough and it saves enough.
const (
	longEnough     = 4 << 10 // average bytes of a value
	triedValues    = 8       // values that are compressed to see what it saves
	savesOneInSuch = 4       // at least this part of the bytes
)

// appendCompressed appends the length of a value and its frame.
func appendCompressed(to, v []byte) ([]byte, error) {
	e, err := zstdEncoder()
	if err != nil {
		return to, err
	}
	to = binary.LittleEndian.AppendUint64(to, uint64(len(v)))
	return e.EncodeAll(v, to), nil
}

// compressPays tries some values of a segment of variable width.
func (s *segment) compressPays() (bool, error) {
	n := len(s.ends)
	if n == 0 || s.ends[n-1]-s.base < int64(n)*longEnough {
		return false, nil
	}
	var plain, packed int
	for k := range min(n, triedValues) {
		v := s.value(k * n / min(n, triedValues))
		out, err := appendCompressed(nil, v)
		if err != nil {
			return false, err
		}
		plain, packed = plain+len(v), packed+len(out)
	}
	return packed < plain-plain/savesOneInSuch, nil
}
