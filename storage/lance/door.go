package lance

import (
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
