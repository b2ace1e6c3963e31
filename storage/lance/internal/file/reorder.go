package file

import (
	"encoding/binary"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// reorder returns the elements of data (which has offset 0 and came from
// buildArray) at the positions of order, and releases data.
func reorder(data arrow.ArrayData, order []int32, mem memory.Allocator) arrow.ArrayData {
	defer data.Release()
	return gather(data, order, mem)
}

func gather(data arrow.ArrayData, order []int32, mem memory.Allocator) arrow.ArrayData {
	var valid bitmap
	valid.buf.mem = mem
	in := data.Buffers()[0]
	for _, i := range order {
		if in != nil && !bitutil.BitIsSet(in.Bytes(), int(i)) {
			valid.addNull()
		} else {
			valid.addValid(1)
		}
	}
	bufs := []*memory.Buffer{valid.buffer()}
	var children []arrow.ArrayData
	switch t := data.DataType().(type) {
	case *arrow.StructType:
		for _, c := range data.Children() {
			children = append(children, gather(c, order, mem))
		}
	case *arrow.NullType:
		return array.NewData(t, len(order), []*memory.Buffer{nil}, nil, len(order), 0)
	case *arrow.FixedSizeListType:
		children = append(children, gatherVectors(data.Children()[0], order, int(t.Len()), mem))
	case *arrow.BooleanType:
		bufs = append(bufs, gatherBits(data.Buffers()[1], order, mem))
	case *arrow.ListType, *arrow.LargeListType, *arrow.MapType:
		width := 4
		if t.ID() == arrow.LARGE_LIST {
			width = 8
		}
		offs, elems := gatherOffsets(data.Buffers()[1], order, width, mem)
		bufs = append(bufs, offs)
		children = append(children, gather(data.Children()[0], elems, mem))
	default:
		if fixed, ok := t.(arrow.FixedWidthDataType); ok {
			bufs = append(bufs, gatherFixed(data.Buffers()[1], order, fixed.BitWidth()/8, mem))
			break
		}
		width := 4
		if id := t.ID(); id == arrow.LARGE_BINARY || id == arrow.LARGE_STRING {
			width = 8
		}
		bufs = append(bufs, gatherVariable(data, order, width, mem)...)
	}
	out := array.NewData(data.DataType(), len(order), bufs, children, valid.nulls, 0)
	for _, b := range bufs {
		if b != nil {
			b.Release()
		}
	}
	for _, c := range children {
		c.Release()
	}
	return out
}

// gatherVectors picks vectors of dim items.
func gatherVectors(items arrow.ArrayData, order []int32, dim int, mem memory.Allocator) arrow.ArrayData {
	width := items.DataType().(arrow.FixedWidthDataType).BitWidth() / 8 * dim
	if width == 0 || items.NullN() > 0 { // item by item
		each := make([]int32, 0, len(order)*dim)
		for _, i := range order {
			for j := range dim {
				each = append(each, i*int32(dim)+int32(j))
			}
		}
		return gather(items, each, mem)
	}
	vals := gatherFixed(items.Buffers()[1], order, width, mem)
	defer vals.Release()
	return array.NewData(items.DataType(), len(order)*dim, []*memory.Buffer{nil, vals}, nil, 0, 0)
}

func gatherBits(in *memory.Buffer, order []int32, mem memory.Allocator) *memory.Buffer {
	g := growBuf{mem: mem}
	bits := g.extend(int(bitutil.BytesForBits(int64(len(order)))))
	clear(bits)
	for k, i := range order {
		if bitutil.BitIsSet(in.Bytes(), int(i)) {
			bitutil.SetBit(bits, k)
		}
	}
	return g.buffer()
}

func gatherFixed(in *memory.Buffer, order []int32, width int, mem memory.Allocator) *memory.Buffer {
	g := growBuf{mem: mem}
	g.reserve(len(order) * width)
	for _, i := range order {
		copy(g.extend(width), in.Bytes()[int(i)*width:(int(i)+1)*width])
	}
	return g.buffer()
}

// gatherOffsets makes the offsets of the picked lists and the positions of
// their elements.
func gatherOffsets(in *memory.Buffer, order []int32, width int, mem memory.Allocator) (*memory.Buffer, []int32) {
	g := growBuf{mem: mem}
	var elems []int32
	putOffset(&g, width, 0)
	for _, i := range order {
		a, b := offsetAt(in.Bytes(), int(i), width), offsetAt(in.Bytes(), int(i)+1, width)
		for e := a; e < b; e++ {
			elems = append(elems, int32(e))
		}
		putOffset(&g, width, len(elems))
	}
	return g.buffer(), elems
}

func gatherVariable(data arrow.ArrayData, order []int32, width int, mem memory.Allocator) []*memory.Buffer {
	offs, vals := growBuf{mem: mem}, growBuf{mem: mem}
	putOffset(&offs, width, 0)
	in := data.Buffers()[1].Bytes()
	for _, i := range order {
		a, b := offsetAt(in, int(i), width), offsetAt(in, int(i)+1, width)
		copy(vals.extend(int(b-a)), data.Buffers()[2].Bytes()[a:b])
		putOffset(&offs, width, vals.n)
	}
	return []*memory.Buffer{offs.buffer(), vals.buffer()}
}

func putOffset(g *growBuf, width, v int) {
	if width == 4 {
		binary.LittleEndian.PutUint32(g.extend(4), uint32(v))
	} else {
		binary.LittleEndian.PutUint64(g.extend(8), uint64(v))
	}
}
