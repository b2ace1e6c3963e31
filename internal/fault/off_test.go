//go:build !loamfault

package fault

import "testing"

// A point is nothing in the product: no call, no allocation.
func TestPointCostsNothing(t *testing.T) {
	if n := testing.AllocsPerRun(100, func() { Point("room/step") }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
