// Package gc deletes the stored objects that no retained version and no tag
// refers to. [Memory] decides, without clock and without I/O; [Collector] does
// what it says on real stores.
//
// In: the listing of an object's prefix, its root in the metastore, its
// manifests. Out: keys to delete, and the bytes that are kept, which the metastore
// notes. It never reads a clock and never goes by the age of a file. It imports
// metastore, object, collection.
//
// # Why it is safe
//
// The head of an object holds an epoch. A builder (apply, merge) reads it before
// it writes its first file, and its commit is refused when the epoch has risen by
// more than one since. A pass
//
//	(a) lists the object's files,
//	(b) raises the epoch, to e,
//	(c) reads the roots and marks what the retained and tagged versions refer to,
//	(d) deletes the unmarked files that an earlier pass had listed before it
//	    raised the epoch, to e′ < e.
//
// Who wrote such a file read its epoch before e′ was set: it has at most e′−1 ≤
// e−2, and from (b) on its commit is refused. So the marks of (c) are the last
// word: a version that is committed later refers to files of its parent, which are
// marked, and to files that were listed later. A version that is not retained at
// (c), and that no tag names, can be neither tagged nor retained again. Names are
// never used twice, so that what may be deleted may be deleted for ever, by
// whoever decided it, even after it has lost its lease. A builder may span one
// whole pass.
//
// A pass that cannot read a root ends without having deleted anything. The files
// of a dropped object are deleted by the second pass that finds its id gone.
package gc
