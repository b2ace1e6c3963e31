// Package history runs clients against two nodes whose machines, clocks and stores
// misbehave, and checks what the clients were told: writes, heads and leases with
// the linearizability checker porcupine, every read of a collection against the log
// folded by offset, every read of a stream against the one log that all reads and all
// answers to producers make up together. A history is decided by its seed and runs on
// simulated time.
//
// It has test files alone. They import the storage rooms, the metastore and the
// ground floor.
package history
