package shell

import (
	"bufio"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// maxHistory is how many statements the history keeps.
const maxHistory = 5000

// History is what was typed, oldest first, each text once: the last time counts.
// The file has one JSON string a line and is readable by its owner only. A nil
// History keeps nothing.
type History struct {
	file    string
	entries []string
	on      map[string]bool
}

// HistoryFile is where the history is kept: $XDG_STATE_HOME/loam/history, or
// ~/.local/state/loam/history; "" when there is no home.
func HistoryFile() string {
	dir := os.Getenv("XDG_STATE_HOME")
	if dir == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return ""
		}
		dir = filepath.Join(home, ".local", "state")
	}
	return filepath.Join(dir, "loam", "history")
}

// OpenHistory reads a history. Without a file it lives as long as the session.
// An error leaves a history that works and is not kept.
func OpenHistory(file string) (*History, error) {
	h := &History{file: file, on: map[string]bool{}}
	if file == "" {
		return h, nil
	}
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return h, os.MkdirAll(filepath.Dir(file), 0o700)
	}
	if err != nil {
		h.file = ""
		return h, err
	}
	lines := 0
	sc := bufio.NewScanner(strings.NewReader(string(text)))
	sc.Buffer(nil, 16<<20)
	for sc.Scan() {
		var entry string
		if json.Unmarshal(sc.Bytes(), &entry) == nil {
			h.remember(entry)
			lines++
		}
	}
	if lines > 2*len(h.entries)+100 || len(h.entries) > maxHistory {
		return h, h.compact()
	}
	return h, nil
}

// remember puts an entry at the end.
func (h *History) remember(entry string) bool {
	if entry = strings.TrimSpace(entry); entry == "" || len(h.entries) > 0 && h.entries[len(h.entries)-1] == entry {
		return false
	}
	if h.on[entry] {
		i := slices.Index(h.entries, entry)
		h.entries = slices.Delete(h.entries, i, i+1)
	}
	h.on[entry] = true
	h.entries = append(h.entries, entry)
	return true
}

// compact writes the file anew, the last entries only.
func (h *History) compact() error {
	for len(h.entries) > maxHistory {
		delete(h.on, h.entries[0])
		h.entries = h.entries[1:]
	}
	var b strings.Builder
	for _, e := range h.entries {
		b.WriteString(line(e))
	}
	tmp := h.file + ".new"
	if err := os.WriteFile(tmp, []byte(b.String()), 0o600); err != nil {
		return err
	}
	return os.Rename(tmp, h.file)
}

func line(entry string) string {
	b, _ := json.Marshal(entry) // a string always encodes
	return string(b) + "\n"
}

// Add keeps what was typed; what begins with a space or names a password is not
// written down. A file that cannot be written stops being written to.
func (h *History) Add(typed string) {
	if h == nil || strings.HasPrefix(typed, " ") || strings.Contains(strings.ToLower(typed), "password") || !h.remember(typed) || h.file == "" {
		return
	}
	f, err := os.OpenFile(h.file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = f.WriteString(line(strings.TrimSpace(typed)))
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		h.file = ""
	}
}

// Entries are what is remembered, oldest first.
func (h *History) Entries() []string {
	if h == nil {
		return nil
	}
	return h.entries
}
