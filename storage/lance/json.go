package lance

import (
	"encoding/json"
	"time"

	"github.com/loamdb/loam/internal/fail"
)

// fragmentJSON is the shape that Lance's Python client takes as keyword
// arguments: one key more is an error there.
type fragmentJSON struct {
	ID           uint64         `json:"id"`
	Files        []dataFileJSON `json:"files"`
	DeletionFile *deletionJSON  `json:"deletion_file,omitempty"`
	PhysicalRows uint64         `json:"physical_rows"`
}

type dataFileJSON struct {
	Path    string  `json:"path"`
	Fields  []int32 `json:"fields"`
	Columns []int32 `json:"column_indices"`
	Major   uint32  `json:"file_major_version"`
	Minor   uint32  `json:"file_minor_version"`
	Size    *uint64 `json:"file_size_bytes"`
	BaseID  *uint32 `json:"base_id"`
}

type deletionJSON struct {
	ReadVersion uint64  `json:"read_version"`
	ID          uint64  `json:"id"`
	Type        string  `json:"file_type"`
	DeletedRows uint64  `json:"num_deleted_rows"`
	BaseID      *uint32 `json:"base_id"`
}

// FragmentJSON is the fragment as Lance's FragmentMetadata.from_json reads it.
func FragmentJSON(f Fragment) ([]byte, error) {
	out := fragmentJSON{ID: f.ID, PhysicalRows: f.PhysicalRows, Files: []dataFileJSON{}}
	for _, d := range f.Files {
		j := dataFileJSON{Path: d.Path, Fields: d.Fields, Columns: d.Columns, Major: d.Major, Minor: d.Minor, BaseID: d.BaseID}
		if d.Size > 0 {
			j.Size = &d.Size
		}
		out.Files = append(out.Files, j)
	}
	if d := f.DeletionFile; d != nil {
		j := &deletionJSON{ReadVersion: d.ReadVersion, ID: d.ID, Type: "array", DeletedRows: d.DeletedRows, BaseID: d.BaseID}
		if d.Type == DeletionBitmap {
			j.Type = "bitmap"
		}
		out.DeletionFile = j
	}
	b, err := json.Marshal(out)
	return b, fail.Wrap(fail.Internal, err, "lance: fragment %d as JSON", f.ID)
}

// Tag is a Lance tag: a name for a version. Retention is not Lance's business
// here: the tag mirrors one of Loam's.
type Tag struct {
	Version uint64
	// ManifestSize is the size of the version's manifest file in bytes.
	ManifestSize         int64
	CreatedAt, UpdatedAt time.Time
}

type tagJSON struct {
	Branch       *string           `json:"branch"`
	Version      uint64            `json:"version"`
	CreatedAt    string            `json:"createdAt"`
	UpdatedAt    string            `json:"updatedAt"`
	ManifestSize int64             `json:"manifestSize"`
	Metadata     map[string]string `json:"metadata"`
}

// TagJSON is the content of the tag's file, which belongs at [TagPath].
func TagJSON(t Tag) ([]byte, error) {
	b, err := json.Marshal(tagJSON{
		Version: t.Version, ManifestSize: t.ManifestSize, Metadata: map[string]string{},
		CreatedAt: t.CreatedAt.UTC().Format(time.RFC3339Nano), UpdatedAt: t.UpdatedAt.UTC().Format(time.RFC3339Nano),
	})
	return b, fail.Wrap(fail.Internal, err, "lance: tag as JSON")
}

// DecodeTag reads a tag file.
func DecodeTag(b []byte) (Tag, error) {
	var j tagJSON
	if err := json.Unmarshal(b, &j); err != nil {
		return Tag{}, fail.Wrap(fail.Corrupt, err, "lance: tag file")
	}
	t := Tag{Version: j.Version, ManifestSize: j.ManifestSize}
	var err error
	if t.CreatedAt, err = time.Parse(time.RFC3339Nano, j.CreatedAt); err != nil {
		return t, fail.Wrap(fail.Corrupt, err, "lance: tag file, createdAt")
	}
	if t.UpdatedAt, err = time.Parse(time.RFC3339Nano, j.UpdatedAt); err != nil {
		return t, fail.Wrap(fail.Corrupt, err, "lance: tag file, updatedAt")
	}
	return t, nil
}

// exportBase is the id of the only base path of a pointer dataset.
const exportBase = uint32(1)

// ExportManifest is version 1 of a pointer dataset: the pinned manifest with every
// file resolved against the dataset at the URI. Tools that open only the latest
// version of a path read the pinned rows through it.
func ExportManifest(pinned *Manifest, uri string, at time.Time) *Manifest {
	out := NewManifest(pinned.Fields, 1, at)
	out.SchemaMetadata = pinned.SchemaMetadata
	out.BasePaths = []BasePath{{ID: exportBase, IsDatasetRoot: true, Path: uri}}
	base := exportBase
	fragments := make([]Fragment, len(pinned.Fragments))
	for i, f := range pinned.Fragments {
		f.Files = append([]DataFile(nil), f.Files...)
		for k := range f.Files {
			f.Files[k].BaseID = &base
		}
		if f.DeletionFile != nil {
			d := *f.DeletionFile
			d.BaseID = &base
			f.DeletionFile = &d
		}
		fragments[i] = f
	}
	if pinned.MaxFragmentID != nil {
		SetFragments(out, fragments, *pinned.MaxFragmentID)
	}
	return out
}
