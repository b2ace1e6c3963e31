package object

import (
	"context"
	"fmt"
	"testing"

	"github.com/loamdb/loam/internal/clock"
)

// countedFS counts the files whose sizes were asked for.
type countedFS struct {
	FS
	stats int
}

func (c *countedFS) Stat(name string) (DirEntry, error) {
	c.stats++
	return c.FS.Stat(name)
}

// A page of a large directory asks for the sizes of what is on it, no more.
func TestListAsksForSizesOfThePageAlone(t *testing.T) {
	ctx := context.Background()
	fsys := &countedFS{FS: NewCrashFS()}
	s, err := OpenFile("/", clock.SeededIDs(clock.Real(), 1), FileOptions{FS: fsys})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 2*ListPage + 10 {
		if _, err := s.Put(ctx, fmt.Sprintf("wal/%06d", i), []byte("four"), PutOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	fsys.stats = 0
	page, err := s.List(ctx, "wal/", fmt.Sprintf("wal/%06d", ListPage-1))
	if err != nil || len(page) != ListPage || page[0].Key != fmt.Sprintf("wal/%06d", ListPage) || page[0].Size != 4 {
		t.Fatalf("%d entries, %v", len(page), err)
	}
	if fsys.stats != ListPage {
		t.Errorf("%d sizes asked for, want %d", fsys.stats, ListPage)
	}
}
