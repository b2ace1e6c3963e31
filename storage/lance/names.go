package lance

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/loamdb/loam/internal/fail"
)

// Folders of a dataset, relative to its root.
const (
	dataDir      = "data/"
	dataSuffix   = ".lance"
	versionsDir  = "_versions/"
	deletionsDir = "_deletions/"
	tagsDir      = "_refs/tags/"
	// ExportsDir holds the pointer datasets of a collection.
	ExportsDir = "_exports/"
)

// detachedBit marks the ids of versions outside the numbered line.
const detachedBit = uint64(1) << 63

// IsDetached reports whether the version id is a detached one.
func IsDetached(version uint64) bool { return version&detachedBit != 0 }

// NewDetachedID makes the id of a detached version, 1<<63 | r<<11 with 52 random
// bits r: such ids are exact in a float64, so JSON carries them. random gives
// random bytes; a collision shows when the manifest is created (names are never
// reused), and the caller draws again.
func NewDetachedID(random io.Reader) (uint64, error) {
	var b [8]byte
	if _, err := io.ReadFull(random, b[:]); err != nil {
		return 0, fail.Wrap(fail.Internal, err, "lance: no randomness for a version id")
	}
	return detachedBit | binary.LittleEndian.Uint64(b[:])>>12<<11, nil
}

// NewDataFileName makes a unique data file name, relative to the data folder: 24
// binary digits, which spread the keys of an object store, then 26 hex digits.
func NewDataFileName(random io.Reader) (string, error) {
	var b [16]byte
	if _, err := io.ReadFull(random, b[:]); err != nil {
		return "", fail.Wrap(fail.Internal, err, "lance: no randomness for a file name")
	}
	return fmt.Sprintf("%08b%08b%08b", b[0], b[1], b[2]) + hex.EncodeToString(b[3:]) + dataSuffix, nil
}

// DataPath is the path of a data file relative to the dataset.
func DataPath(name string) string { return dataDir + name }

// ManifestPath is the path of a version's manifest relative to the dataset: the
// V2 name, whose digits fall as versions rise, or d<id>.manifest for a detached one.
func ManifestPath(version uint64) string {
	if IsDetached(version) {
		return versionsDir + "d" + strconv.FormatUint(version, 10) + ".manifest"
	}
	return versionsDir + fmt.Sprintf("%020d", math.MaxUint64-version) + ".manifest"
}

// ParseManifestPath is the version of a manifest path, or false for any other path.
func ParseManifestPath(path string) (version uint64, ok bool) {
	name, ok := strings.CutPrefix(path, versionsDir)
	if !ok {
		return 0, false
	}
	digits, ok := strings.CutSuffix(name, ".manifest")
	if !ok {
		return 0, false
	}
	if rest, detached := strings.CutPrefix(digits, "d"); detached {
		v, err := strconv.ParseUint(rest, 10, 64)
		return v, err == nil && IsDetached(v)
	}
	v, err := strconv.ParseUint(digits, 10, 64)
	return math.MaxUint64 - v, err == nil && len(digits) == 20
}

// DeletionPath is the path of a fragment's deletion file relative to the dataset.
func DeletionPath(fragment uint64, d DeletionFile) string {
	ext := "arrow"
	if d.Type == DeletionBitmap {
		ext = "bin"
	}
	return fmt.Sprintf("%s%d-%d-%d.%s", deletionsDir, fragment, d.ReadVersion, d.ID, ext)
}

// TagPath is the path of a tag file relative to the dataset.
func TagPath(name string) string { return tagsDir + name + ".json" }

// ExportPath is the root of the pointer dataset of a tag, relative to the
// collection's dataset.
func ExportPath(tag string) string { return ExportsDir + tag + ".lance/" }

// CheckTagName refuses names that Lance does not take: letters, digits, dot, dash
// and underscore only, no dot at either end, no "..", no ".lock" at the end.
func CheckTagName(name string) error {
	bad := name == "" || strings.HasPrefix(name, ".") || strings.HasSuffix(name, ".") ||
		strings.Contains(name, "..") || strings.HasSuffix(name, ".lock")
	for _, r := range name {
		ok := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.' || r == '-' || r == '_'
		bad = bad || !ok
	}
	if bad {
		return fail.New(fail.InvalidParameter, "tag name %q is not allowed", name).
			WithHint("Use letters, digits, '.', '-' and '_'; no dot first or last, no '..', not ending in '.lock'.")
	}
	return nil
}
