package pb

import (
	"encoding/binary"
	"math"

	"github.com/loamdb/loam/internal/fail"
)

// Decoder walks the fields of one message. After Next returns false, Err says
// whether the end was reached or the bytes are corrupt. Getters of the wrong
// wire type record an error and return a zero value, so that a caller checks
// Err once.
type Decoder struct {
	name  string
	buf   []byte
	start int // of the current field's tag
	off   int
	num   int
	wire  int
	u     uint64
	bytes []byte
	err   error
}

// NewDecoder returns a decoder of the message called name, which errors use.
func NewDecoder(name string, buf []byte) *Decoder { return &Decoder{name: name, buf: buf} }

// Err is the first failure, or nil.
func (d *Decoder) Err() error { return d.err }

// Num is the current field's number.
func (d *Decoder) Num() int { return d.num }

// Raw is the current field as it stands in the message, tag included. It
// aliases the input.
func (d *Decoder) Raw() []byte { return d.buf[d.start:d.off] }

func (d *Decoder) failf(format string, args ...any) {
	if d.err == nil {
		d.err = fail.New(fail.Corrupt, "protobuf message %s, byte %d: "+format,
			append([]any{d.name, d.start}, args...)...)
	}
}

func (d *Decoder) uvarint() uint64 {
	v, n := binary.Uvarint(d.buf[d.off:])
	if n <= 0 {
		d.failf("bad varint")
		return 0
	}
	d.off += n
	return v
}

// Next moves to the next field.
func (d *Decoder) Next() bool {
	if d.err != nil || d.off >= len(d.buf) {
		return false
	}
	d.start = d.off
	tag := d.uvarint()
	if d.err != nil {
		return false
	}
	if tag>>3 == 0 || tag>>3 > math.MaxInt32>>3 {
		d.failf("bad field number %d", tag>>3)
		return false
	}
	d.num, d.wire, d.u, d.bytes = int(tag>>3), int(tag&7), 0, nil
	switch d.wire {
	case wireVarint:
		d.u = d.uvarint()
	case wireBytes:
		n := d.uvarint()
		if d.err == nil {
			d.bytes = d.take(n)
		}
	case wireFixed64:
		d.take(8)
	case wireFixed32:
		d.take(4)
	default:
		d.failf("field %d has wire type %d", d.num, d.wire)
	}
	return d.err == nil
}

func (d *Decoder) take(n uint64) []byte {
	if n > uint64(len(d.buf)-d.off) {
		d.failf("field %d wants %d bytes, %d are left", d.num, n, len(d.buf)-d.off)
		return nil
	}
	p := d.buf[d.off : d.off+int(n) : d.off+int(n)]
	d.off += int(n)
	return p
}

// Uint64 is the value of a varint field.
func (d *Decoder) Uint64() uint64 {
	if d.wire != wireVarint {
		d.failf("field %d is no varint", d.num)
	}
	return d.u
}

// Uint32 is the value of a varint field that must fit 32 bits.
func (d *Decoder) Uint32() uint32 {
	v := d.Uint64()
	if v > math.MaxUint32 {
		d.failf("field %d is %d, more than 32 bits", d.num, v)
		return 0
	}
	return uint32(v)
}

// Int32 is the value of a signed varint field.
func (d *Decoder) Int32() int32 {
	v := int64(d.Uint64())
	if v > math.MaxInt32 || v < math.MinInt32 {
		d.failf("field %d is %d, more than 32 bits", d.num, v)
		return 0
	}
	return int32(v)
}

// Bool is the value of a bool field.
func (d *Decoder) Bool() bool { return d.Uint64() != 0 }

// Bytes is the value of a length-delimited field. It aliases the input.
func (d *Decoder) Bytes() []byte {
	if d.wire != wireBytes {
		d.failf("field %d is not length-delimited", d.num)
	}
	return d.bytes
}

// String is the value of a string field.
func (d *Decoder) String() string { return string(d.Bytes()) }

// Uint64s appends the values of a repeated field, packed or not.
func (d *Decoder) Uint64s(to []uint64) []uint64 {
	if d.wire == wireVarint {
		return append(to, d.u)
	}
	for p := d.Bytes(); len(p) > 0; {
		v, n := binary.Uvarint(p)
		if n <= 0 {
			d.failf("field %d: bad packed varint", d.num)
			return to
		}
		to, p = append(to, v), p[n:]
	}
	return to
}

// Int32s appends the values of a repeated int32 field, packed or not.
func (d *Decoder) Int32s(to []int32) []int32 {
	for _, v := range d.Uint64s(nil) {
		if s := int64(v); s > math.MaxInt32 || s < math.MinInt32 {
			d.failf("field %d: %d is more than 32 bits", d.num, s)
			return to
		}
		to = append(to, int32(int64(v)))
	}
	return to
}

// mapEntry reads one entry of a map<string, bytes> field into m.
func (d *Decoder) mapEntry(m map[string]string) map[string]string {
	e := NewDecoder(d.name+" map entry", d.Bytes())
	var k, v string
	for e.Next() {
		switch e.Num() {
		case 1:
			k = e.String()
		case 2:
			v = e.String()
		}
	}
	d.nested(e.Err())
	if m == nil {
		m = map[string]string{}
	}
	m[k] = v
	return m
}

// nested records the failure of a sub-message.
func (d *Decoder) nested(err error) {
	if d.err == nil && err != nil {
		d.err = fail.Wrap(fail.Corrupt, err, "protobuf message %s, byte %d", d.name, d.start)
	}
}
