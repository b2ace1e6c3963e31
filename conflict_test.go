package loam_test

import (
	"fmt"
	"sync"
	"testing"
)

// TestConflictsCount: counters that many writers raise by ON CONFLICT DO UPDATE
// lose no step, and DO NOTHING has one winner for each key.
func TestConflictsCount(t *testing.T) {
	n := opened(t)
	n.ok("CREATE COLLECTION c (id TEXT PRIMARY KEY, n INT)", "CREATE COLLECTION once (id TEXT PRIMARY KEY, who INT)")
	const writers, rounds = 4, 8
	var mu sync.Mutex
	won := int64(0)
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range rounds {
				sql := "INSERT INTO c VALUES ('x', 1), ('y', 2) ON CONFLICT (id) DO UPDATE SET n = c.n + excluded.n"
				if _, _, err := n.query(sql); err != nil {
					t.Errorf("%s: %v", sql, err)
				}
				_, count, err := n.query(fmt.Sprintf("INSERT INTO once VALUES ('k%d', %d) ON CONFLICT DO NOTHING", i, w))
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				won += count
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	n.want("SELECT id, n FROM c ORDER BY id", fmt.Sprintf("x\t%d\ny\t%d", writers*rounds, 2*writers*rounds))
	n.want("SELECT count(*) FROM once", fmt.Sprint(rounds))
	if won != rounds {
		t.Errorf("%d winners of %d keys", won, rounds)
	}
}
