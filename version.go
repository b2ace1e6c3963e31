package loam

import (
	"runtime"
	"runtime/debug"

	"github.com/loamdb/loam/functions"
)

// Version is Loam's version.
const Version = functions.Version

// BuildInfo says which program this is. Commit and Time are empty where the build did
// not record them.
type BuildInfo struct {
	Version  string `json:"version"`
	Commit   string `json:"commit,omitempty"`
	Modified bool   `json:"modified,omitempty"` // built from a tree with changes beside the commit
	Time     string `json:"time,omitempty"`     // of the commit, RFC 3339
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

// Build is what the program knows of its own build.
func Build() BuildInfo {
	b := BuildInfo{Version: Version, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Commit = s.Value
		case "vcs.time":
			b.Time = s.Value
		case "vcs.modified":
			b.Modified = s.Value == "true"
		}
	}
	return b
}

// String is one line: "loam 0.1.0 (commit 0123456789ab, go1.26.0, linux/amd64)".
func (b BuildInfo) String() string {
	s := "loam " + b.Version + " ("
	if b.Commit != "" {
		s += "commit " + b.Commit[:min(12, len(b.Commit))]
		if b.Modified {
			s += " with changes"
		}
		s += ", "
	}
	return s + b.Go + ", " + b.Platform + ")"
}
