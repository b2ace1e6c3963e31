// Package fsck says whether what is stored is what was committed. It reads every
// object that a row of the metastore leads to, recomputes every checksum and
// count, and looks for objects that nothing leads to.
//
// In: a metastore and an object store that nobody writes to. Out: a [Report]. Run
// never changes anything; [Repair] deletes orphans, through package gc. It never stops at the first damage: whatever can still
// be reached is checked. It imports metastore, object, wal, gc,
// collection.
package fsck
