//go:build loamfault

package fault

import "testing"

func TestSet(t *testing.T) {
	var heard []string
	Point("nobody listens")
	Set(func(name string) { heard = append(heard, name) })
	Point("a")
	Point("b")
	Set(nil)
	Point("c")
	if len(heard) != 2 || heard[0] != "a" || heard[1] != "b" {
		t.Error(heard)
	}
}
