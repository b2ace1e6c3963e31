// Package wire sends record batches over Flight without copying their bytes.
//
// In: record batches of one schema. Out: FlightData messages on a gRPC stream,
// the Arrow IPC header and the protobuf tags written here, the batch's own
// buffers handed to the transport as they are. A batch is held until the
// transport has written its last byte or has given the stream up, however long
// the client takes; the caller may release it as soon as Write returns.
//
// It never builds batches, cuts them to size or knows SQL. It imports Arrow,
// gRPC and fail. The server must be made with the [Codec]:
//
//	srv := grpc.NewServer(grpc.ForceServerCodecV2(wire.Codec()))
//
//	w := wire.NewWriter(stream, schema, mem)
//	err := w.Write(batch, nil) // the schema goes first
//	err = w.Close()            // also when nothing was written
package wire
