package lance

import (
	"context"
	"io"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/loamdb/loam/storage/lance/internal/file"
)

type (
	// Writer writes one data file from Arrow record batches; see [NewWriter].
	Writer = file.Writer
	// WriterOptions are the choices of a Writer: field ids and page bounds.
	WriterOptions = file.WriterOptions
	// FileInfo is what a finished file holds: rows, bytes, and the field ids of
	// its columns, as a [DataFile] wants them.
	FileInfo = file.Info
	// File is an open data file; see [OpenFile]. Safe for many goroutines.
	File = file.File
	// Reader is the bytes of one immutable file, implemented by the caller. ReadAt
	// fills p from the offset or fails; it may be called by many goroutines at once.
	Reader = file.Source
	// Prefetcher is a Reader that can be told of reads to come.
	Prefetcher = file.Prefetcher
	// Follower is a Reader that can be told where a scan goes on.
	Follower = file.Follower
	// Sidecar is an open file of blobs beside a data file.
	Sidecar = file.Sidecar
	// Vectors is a run of float32 vectors, as [File.ReadVectors] returns it.
	Vectors = file.Vectors
)

// NewWriter starts a data file (format 2.1) of the schema on w, with field ids
// numbered from 0 in pre-order. One goroutine may use it. Call Close to write the
// footer; without it the file cannot be read.
func NewWriter(w io.Writer, schema *arrow.Schema) (*Writer, error) {
	return file.NewWriter(w, schema, file.WriterOptions{})
}

// NewWriterWith is [NewWriter] with options.
func NewWriterWith(w io.Writer, schema *arrow.Schema, opts WriterOptions) (*Writer, error) {
	return file.NewWriter(w, schema, opts)
}

// OpenFile reads the metadata of a data file of the size (usually one range
// read). The file must stay unchanged while it is in use.
func OpenFile(ctx context.Context, r Reader, size int64) (*File, error) {
	return file.Open(ctx, r, size)
}
