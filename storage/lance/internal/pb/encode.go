package pb

import (
	"encoding/binary"
	"sort"
)

// Wire types of the protobuf encoding that the messages here use.
const (
	wireVarint  = 0
	wireFixed64 = 1
	wireBytes   = 2
	wireFixed32 = 5
)

func appendTag(b []byte, field, wire int) []byte {
	return binary.AppendUvarint(b, uint64(field)<<3|uint64(wire))
}

// AppendVarint appends field = v; a zero is left out, as proto3 demands.
func AppendVarint(b []byte, field int, v uint64) []byte {
	if v == 0 {
		return b
	}
	return AppendVarintAlways(b, field, v)
}

// AppendVarintAlways appends field = v, zero included (fields with presence).
func AppendVarintAlways(b []byte, field int, v uint64) []byte {
	return binary.AppendUvarint(appendTag(b, field, wireVarint), v)
}

// AppendBool appends field = true, or nothing.
func AppendBool(b []byte, field int, v bool) []byte {
	if !v {
		return b
	}
	return AppendVarintAlways(b, field, 1)
}

// AppendInt32 appends a signed int32; negative values take ten bytes.
func AppendInt32(b []byte, field int, v int32) []byte {
	return AppendVarint(b, field, uint64(int64(v)))
}

// AppendBytes appends a length-delimited field; an empty one is left out.
func AppendBytes(b []byte, field int, v []byte) []byte {
	if len(v) == 0 {
		return b
	}
	return AppendMessage(b, field, v)
}

// AppendString appends a string field; an empty one is left out.
func AppendString(b []byte, field int, v string) []byte {
	if v == "" {
		return b
	}
	b = binary.AppendUvarint(appendTag(b, field, wireBytes), uint64(len(v)))
	return append(b, v...)
}

// AppendMessage appends a sub-message, even an empty one.
func AppendMessage(b []byte, field int, v []byte) []byte {
	b = binary.AppendUvarint(appendTag(b, field, wireBytes), uint64(len(v)))
	return append(b, v...)
}

// AppendPacked appends a packed repeated varint field; an empty one is left out.
func AppendPacked(b []byte, field int, vs []uint64) []byte {
	if len(vs) == 0 {
		return b
	}
	var body []byte
	for _, v := range vs {
		body = binary.AppendUvarint(body, v)
	}
	return AppendMessage(b, field, body)
}

// AppendPackedInt32 appends a packed repeated int32 field.
func AppendPackedInt32(b []byte, field int, vs []int32) []byte {
	if len(vs) == 0 {
		return b
	}
	var body []byte
	for _, v := range vs {
		body = binary.AppendUvarint(body, uint64(int64(v)))
	}
	return AppendMessage(b, field, body)
}

// appendMap appends a map<string, bytes> (or string) field in key order, so that
// equal maps give equal bytes.
func appendMap(b []byte, field int, m map[string]string) []byte {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	for _, k := range keys {
		entry := AppendString(nil, 1, k)
		entry = AppendString(entry, 2, m[k])
		b = AppendMessage(b, field, entry)
	}
	return b
}
