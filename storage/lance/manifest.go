package lance

import (
	"encoding/binary"
	"fmt"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/storage/lance/internal/file"
	"github.com/loamdb/loam/storage/lance/internal/pb"
)

type (
	// Manifest is one version of a table: schema, fragments, flags.
	Manifest = pb.Manifest
	// Fragment is a set of rows with their data files and deletion file.
	Fragment = pb.Fragment
	// DataFile names a data file and the fields it holds.
	DataFile = pb.DataFile
	// DeletionFile names a fragment's deletion file.
	DeletionFile = pb.DeletionFile
	// BasePath is a place outside the dataset in which files of it lie.
	BasePath = pb.BasePath
	// Field is one node of a schema, with its field id.
	Field = pb.Field
)

// The kinds of deletion files. Loam writes bitmaps.
const (
	DeletionArray  = pb.DeletionArray
	DeletionBitmap = pb.DeletionBitmap
)

// Feature flags of a manifest.
const (
	FlagDeletionFiles = 1 << 0
	FlagStableRowIDs  = 1 << 1
	flagV2Deprecated  = 1 << 2
	FlagTableConfig   = 1 << 3
	FlagBasePaths     = 1 << 4
	flagNoTransaction = 1 << 5
	knownFlags        = FlagDeletionFiles | FlagStableRowIDs | flagV2Deprecated | FlagTableConfig | FlagBasePaths | flagNoTransaction
	// FlagReadOnly is a writer flag that no Lance client knows. With it they read the
	// dataset, but refuse to append, overwrite, delete, index or clean up; a cleanup
	// would remove every file, as it does not see detached versions.
	FlagReadOnly = 1 << 62
)

// Format names in manifests.
const (
	fileFormat     = "lance"
	fileVersion    = "2.1"
	writerLibrary  = "loam"
	writerVersion  = "0.1.0"
	manifestMagic  = "LANC"
	manifestTail   = 16
	manifestMajor  = 0
	manifestMinor  = 2
	maxFragmentsID = 1<<32 - 1
)

// FieldsOf is the Arrow schema as Lance's flat pre-order field list. ids gives the
// field ids in pre-order; nil numbers them from 0.
func FieldsOf(schema *arrow.Schema, ids []int32) ([]Field, error) { return file.FieldsOf(schema, ids) }

// loose says that a field of a data file has no place in the tree of fields.
func loose(f *Field) bool { return file.Loose(f) }

// SchemaOf is the Arrow schema of a manifest.
func SchemaOf(m *Manifest) (*arrow.Schema, error) { return file.SchemaOf(m.Fields, m.SchemaMetadata) }

// NewManifest is a manifest of the version without fragments: schema, time,
// writer and format are set. With version 1 it is the empty version that every
// Loam dataset starts with; it must be the oldest file of the dataset.
func NewManifest(fields []Field, version uint64, at time.Time) *Manifest {
	return &Manifest{
		Fields: fields, Version: version, Timestamp: at,
		Writer:     pb.WriterVersion{Library: writerLibrary, Version: writerVersion},
		FileFormat: fileFormat, FileVersion: fileVersion, WriterFlags: FlagReadOnly,
	}
}

// NewDataFile describes a file that a [Writer] finished, under its name in the
// data folder.
func NewDataFile(name string, info FileInfo) DataFile {
	return DataFile{
		Path: name, Fields: info.Fields, Columns: info.Columns,
		Major: file.Major, Minor: file.Minor, Size: uint64(info.Size),
	}
}

// SetFragments sets the fragments, the highest fragment id and the feature flags
// that follow from them. maxID is the highest id ever used; ids are never reused.
func SetFragments(m *Manifest, fragments []Fragment, maxID uint32) {
	m.Fragments, m.MaxFragmentID = fragments, &maxID
	flags := uint64(0)
	for i := range fragments {
		if fragments[i].DeletionFile != nil {
			flags |= FlagDeletionFiles
		}
	}
	if len(m.BasePaths) > 0 {
		flags |= FlagBasePaths
	}
	m.ReaderFlags, m.WriterFlags = flags, flags|FlagReadOnly
}

// EncodeManifest is the manifest as a file. Whatever [ValidateManifest] refuses is
// a bug of the caller here.
func EncodeManifest(m *Manifest) ([]byte, error) {
	if err := ValidateManifest(m); err != nil {
		return nil, fail.Bug("%v", err)
	}
	body := m.Append(nil)
	out := make([]byte, 0, 4+len(body)+manifestTail)
	out = binary.LittleEndian.AppendUint32(out, uint32(len(body)))
	out = append(out, body...)
	out = binary.LittleEndian.AppendUint64(out, 0)
	out = binary.LittleEndian.AppendUint16(out, manifestMajor)
	out = binary.LittleEndian.AppendUint16(out, manifestMinor)
	return append(out, manifestMagic...), nil
}

// DecodeManifest reads a manifest file. Errors: Corrupt with the place, and
// Unsupported naming a feature flag that Loam does not know. Index and
// transaction sections before the manifest are ignored.
func DecodeManifest(b []byte) (*Manifest, error) {
	if len(b) < 4+manifestTail || string(b[len(b)-4:]) != manifestMagic {
		return nil, fail.New(fail.Corrupt, "lance manifest: %d bytes do not end in %q", len(b), manifestMagic)
	}
	tail := b[len(b)-manifestTail:]
	at := binary.LittleEndian.Uint64(tail)
	limit := uint64(len(b) - manifestTail - 4)
	if at > limit {
		return nil, fail.New(fail.Corrupt, "lance manifest: starts at byte %d of %d", at, len(b))
	}
	size := binary.LittleEndian.Uint32(b[at:])
	if uint64(size) != limit-at {
		return nil, fail.New(fail.Corrupt, "lance manifest: records %d bytes at byte %d, the file has %d", size, at, limit-at)
	}
	m, err := pb.DecodeManifest(b[at+4 : at+4+uint64(size)])
	if err != nil {
		return nil, fail.Wrap(fail.Corrupt, err, "lance manifest")
	}
	if bad := m.ReaderFlags &^ knownFlags; bad != 0 {
		return nil, fail.New(fail.Unsupported, "lance manifest: reader feature flags %#x are unknown", bad).
			WithHint("The table was written by a newer Lance; flags %#x are known.", knownFlags)
	}
	return m, ValidateManifest(m)
}

// ValidateManifest checks what readers rely on: a named file version, ascending
// unique fragment ids up to the recorded highest, files whose fields and columns
// pair up and whose live field ids are unique within a fragment, row counts, and
// deletion files that leave at least one row.
func ValidateManifest(m *Manifest) error {
	bad := func(format string, args ...any) error {
		return fail.New(fail.Corrupt, "lance manifest of version %d: %s", m.Version, fmt.Sprintf(format, args...))
	}
	if m.FileFormat != fileFormat {
		return bad("data format is %q, not %q", m.FileFormat, fileFormat)
	}
	if len(m.Fragments) > 0 && m.MaxFragmentID == nil {
		return bad("fragments without a highest fragment id")
	}
	bases := map[uint32]bool{}
	for i := range m.BasePaths {
		bases[m.BasePaths[i].ID] = true
	}
	for i := range m.Fragments {
		f := &m.Fragments[i]
		if f.ID > maxFragmentsID || f.ID > uint64(*m.MaxFragmentID) {
			return bad("fragment id %d is above the highest, %d", f.ID, *m.MaxFragmentID)
		}
		if i > 0 && f.ID <= m.Fragments[i-1].ID {
			return bad("fragment %d follows fragment %d", f.ID, m.Fragments[i-1].ID)
		}
		if what := checkFragment(f, bases, m.FileVersion); what != "" {
			return bad("fragment %d: %s", f.ID, what)
		}
		if f.DeletionFile != nil && m.ReaderFlags&FlagDeletionFiles == 0 {
			return bad("fragment %d has a deletion file but feature flag 1 is clear", f.ID)
		}
	}
	return nil
}

// checkFragment says what is wrong with the fragment, or "".
func checkFragment(f *Fragment, bases map[uint32]bool, version string) string {
	if f.PhysicalRows == 0 || f.PhysicalRows > 1<<32 {
		return fmt.Sprintf("%d rows", f.PhysicalRows)
	}
	if len(f.Files) == 0 {
		return "no data file"
	}
	live := map[int32]bool{}
	for i := range f.Files {
		d := &f.Files[i]
		if v := fmt.Sprintf("%d.%d", d.Major, d.Minor); v != version {
			return fmt.Sprintf("file %q has version %s in a table of %s", d.Path, v, version)
		}
		if d.Path == "" || len(d.Fields) != len(d.Columns) {
			return fmt.Sprintf("file %q: %d fields for %d columns", d.Path, len(d.Fields), len(d.Columns))
		}
		if d.BaseID != nil && !bases[*d.BaseID] {
			return fmt.Sprintf("file %q: base path %d is not in the manifest", d.Path, *d.BaseID)
		}
		for _, id := range d.Fields {
			if id >= 0 && live[id] {
				return fmt.Sprintf("field id %d is in two files", id)
			}
			live[id] = true
		}
	}
	if d := f.DeletionFile; d != nil {
		switch {
		case d.Type != DeletionArray && d.Type != DeletionBitmap:
			return fmt.Sprintf("deletion file of type %d", d.Type)
		case d.DeletedRows >= f.PhysicalRows:
			return fmt.Sprintf("%d of %d rows are deleted; a fragment without rows is dropped", d.DeletedRows, f.PhysicalRows)
		case d.BaseID != nil && !bases[*d.BaseID]:
			return fmt.Sprintf("deletion file: base path %d is not in the manifest", *d.BaseID)
		}
	}
	return ""
}
