package pb

import "time"

// Manifest is lance.table.Manifest: one version of a table.
type Manifest struct {
	// Fields is the schema, flat and in pre-order.
	Fields         []Field
	Fragments      []Fragment
	Version        uint64
	SchemaMetadata map[string]string
	// IndexSection and TransactionSection are positions in the manifest file.
	IndexSection, TransactionSection *uint64
	Timestamp                        time.Time
	Tag                              string
	// ReaderFlags and WriterFlags are the feature flags.
	ReaderFlags, WriterFlags uint64
	// MaxFragmentID is nil only in a version that never had a fragment.
	MaxFragmentID *uint32
	Transaction   string
	Writer        WriterVersion
	NextRowID     uint64
	// FileFormat and FileVersion are the data storage format, "lance" and "2.1".
	FileFormat, FileVersion string
	Config, TableMetadata   map[string]string
	BasePaths               []BasePath
	Branch                  string
	// Unknown are fields that this codec does not know, tags included.
	Unknown []byte
}

// WriterVersion names the program that wrote a manifest.
type WriterVersion struct {
	Library, Version, Prerelease, Build string
}

// BasePath is a place outside the dataset in which files of it lie.
type BasePath struct {
	ID   uint32
	Name string
	// IsDatasetRoot: the place has data and _deletions folders of its own.
	IsDatasetRoot bool
	Path          string
}

// Fragment is lance.table.DataFragment: rows with their files.
type Fragment struct {
	ID           uint64
	Files        []DataFile
	DeletionFile *DeletionFile
	// PhysicalRows counts the rows of the files, deleted ones included.
	PhysicalRows uint64
	// InlineRowIDs is a serialized RowIdSequence (stable row ids), kept as it is.
	InlineRowIDs []byte
	// Unknown are fields that this codec does not know, tags included.
	Unknown []byte
}

// DataFile is a file with some columns of a fragment's rows.
type DataFile struct {
	// Path is relative to the data folder.
	Path string
	// Fields are field ids, Columns the file's column of each (-1: none).
	Fields, Columns []int32
	// Major and Minor are the file version; Size is in bytes, 0 when unknown.
	Major, Minor uint32
	Size         uint64
	// BaseID points into Manifest.BasePaths; nil: in the dataset itself.
	BaseID  *uint32
	Unknown []byte
}

// DeletionFileType says how a deletion file stores its rows.
type DeletionFileType uint32

// The deletion file types.
const (
	DeletionArray  DeletionFileType = 0
	DeletionBitmap DeletionFileType = 1
)

// DeletionFile names the file that marks a fragment's deleted rows.
type DeletionFile struct {
	Type        DeletionFileType
	ReadVersion uint64
	ID          uint64
	// DeletedRows is the cardinality; readers believe it. 0 means unknown.
	DeletedRows uint64
	BaseID      *uint32
}

func appendOptional(b []byte, field int, v *uint32) []byte {
	if v == nil {
		return b
	}
	return AppendVarintAlways(b, field, uint64(*v))
}

func appendOptional64(b []byte, field int, v *uint64) []byte {
	if v == nil {
		return b
	}
	return AppendVarintAlways(b, field, *v)
}

// Append appends the message's bytes to b.
func (m *Manifest) Append(b []byte) []byte {
	for i := range m.Fields {
		b = AppendMessage(b, 1, m.Fields[i].Append(nil))
	}
	for i := range m.Fragments {
		b = AppendMessage(b, 2, m.Fragments[i].Append(nil))
	}
	b = AppendVarint(b, 3, m.Version)
	b = appendMap(b, 5, m.SchemaMetadata)
	b = appendOptional64(b, 6, m.IndexSection)
	if !m.Timestamp.IsZero() {
		ts := AppendVarint(nil, 1, uint64(m.Timestamp.Unix()))
		ts = AppendVarint(ts, 2, uint64(m.Timestamp.Nanosecond()))
		b = AppendMessage(b, 7, ts)
	}
	b = AppendString(b, 8, m.Tag)
	b = AppendVarint(b, 9, m.ReaderFlags)
	b = AppendVarint(b, 10, m.WriterFlags)
	b = appendOptional(b, 11, m.MaxFragmentID)
	b = AppendString(b, 12, m.Transaction)
	b = m.Writer.append(b)
	b = AppendVarint(b, 14, m.NextRowID)
	if m.FileFormat != "" || m.FileVersion != "" {
		format := AppendString(nil, 1, m.FileFormat)
		b = AppendMessage(b, 15, AppendString(format, 2, m.FileVersion))
	}
	b = appendMap(b, 16, m.Config)
	for i := range m.BasePaths {
		b = AppendMessage(b, 18, m.BasePaths[i].append(nil))
	}
	b = appendMap(b, 19, m.TableMetadata)
	b = AppendString(b, 20, m.Branch)
	b = appendOptional64(b, 21, m.TransactionSection)
	return append(b, m.Unknown...)
}

func (w *WriterVersion) append(b []byte) []byte {
	if *w == (WriterVersion{}) {
		return b
	}
	body := AppendString(nil, 1, w.Library)
	body = AppendString(body, 2, w.Version)
	body = AppendString(body, 3, w.Prerelease)
	return AppendMessage(b, 13, AppendString(body, 4, w.Build))
}

func (p *BasePath) append(b []byte) []byte {
	b = AppendVarint(b, 1, uint64(p.ID))
	b = AppendString(b, 2, p.Name)
	b = AppendBool(b, 3, p.IsDatasetRoot)
	return AppendString(b, 4, p.Path)
}

// Append appends the message's bytes to b. The id comes first: readers that slice
// manifests rely on it.
func (f *Fragment) Append(b []byte) []byte {
	b = AppendVarint(b, 1, f.ID)
	for i := range f.Files {
		b = AppendMessage(b, 2, f.Files[i].Append(nil))
	}
	if f.DeletionFile != nil {
		b = AppendMessage(b, 3, f.DeletionFile.append(nil))
	}
	b = AppendVarint(b, 4, f.PhysicalRows)
	b = AppendBytes(b, 5, f.InlineRowIDs)
	return append(b, f.Unknown...)
}

// Append appends the message's bytes to b.
func (d *DataFile) Append(b []byte) []byte {
	b = AppendString(b, 1, d.Path)
	b = AppendPackedInt32(b, 2, d.Fields)
	b = AppendPackedInt32(b, 3, d.Columns)
	b = AppendVarint(b, 4, uint64(d.Major))
	b = AppendVarint(b, 5, uint64(d.Minor))
	b = AppendVarint(b, 6, d.Size)
	b = appendOptional(b, 7, d.BaseID)
	return append(b, d.Unknown...)
}

func (d *DeletionFile) append(b []byte) []byte {
	b = AppendVarint(b, 1, uint64(d.Type))
	b = AppendVarint(b, 2, d.ReadVersion)
	b = AppendVarint(b, 3, d.ID)
	b = AppendVarint(b, 4, d.DeletedRows)
	return appendOptional(b, 7, d.BaseID)
}
