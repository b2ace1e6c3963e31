package vec

import (
	"encoding/binary"
	"unsafe"
)

// makeView is the view of a string that lies at off in buffer buf.
func makeView(str []byte, buf, off uint32) View {
	v := View{Len: uint32(len(str))}
	if len(str) <= InlineLen {
		copy(unsafe.Slice(&v.Prefix[0], InlineLen), str)
		return v
	}
	copy(v.Prefix[:], str)
	binary.LittleEndian.PutUint32(v.Rest[:4], buf)
	binary.LittleEndian.PutUint32(v.Rest[4:], off)
	return v
}

// place is the buffer and offset of a string longer than InlineLen.
func (v *View) place() (buf, off uint32) {
	return binary.LittleEndian.Uint32(v.Rest[:4]), binary.LittleEndian.Uint32(v.Rest[4:])
}
