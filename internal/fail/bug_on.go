//go:build invariants

package fail

const invariants = true
