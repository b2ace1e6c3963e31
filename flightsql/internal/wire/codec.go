package wire

import (
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
)

// codec is gRPC's protobuf codec, but for the messages of this package.
type codec struct{ encoding.CodecV2 }

// Codec returns the codec that a server needs for a Writer's messages. It keeps
// the name "proto" and leaves every other message to gRPC's codec of that name,
// so that clients see no difference. Safe for concurrent use.
func Codec() encoding.CodecV2 { return codec{encoding.GetCodecV2(proto.Name)} }

// Marshal implements encoding.CodecV2.
func (c codec) Marshal(v any) (mem.BufferSlice, error) {
	if m, ok := v.(*message); ok {
		return m.buffers(), nil
	}
	return c.CodecV2.Marshal(v)
}
