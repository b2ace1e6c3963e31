// Package mem counts the memory of queries before it is allocated.
//
// In: a limit for the process and one for each query. Out: a tree of [Tracker]
// (process → query → operator) that grants or refuses bytes, and an [Account]
// for the hot loops of one worker. It never allocates on anyone's behalf and
// never frees: whoever reserved releases. [LimitProcess] is apart from that: it paces
// the garbage collector of a server. It imports fail alone.
//
//	process := mem.New("process", 8<<30)
//	query := process.Child("query 7", 2<<30)
//	defer query.Close()
//	sort := query.Child("Sort", mem.NoLimit)
//	if err := sort.Reserve(1 << 20); err != nil { … } // fail.Exhausted
package mem
