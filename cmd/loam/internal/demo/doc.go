// Package demo holds the real data behind "loam demo": the documentation of
// Go's standard library, and sentence embeddings of it.
//
// In: a Go installation ([FindGoroot], [ReadLibrary]) and the committed file
// embeddings.bin. Out: a [Library] of packages and documented symbols in a fixed
// order, and [Embeddings] that give a symbol's vector by its id. The ids depend
// on the Go release alone, never on the host: files are chosen as for
// linux/amd64 without cgo.
//
// It never computes an embedding (embeddings_gen.py did, once) and never opens
// a socket. It may import internal/fail and the standard library; a symbol that
// the committed file does not know simply has no vector.
//
//	root, err := demo.FindGoroot(ctx)
//	lib, err := demo.ReadLibrary(ctx, os.DirFS(root))
//	emb, err := demo.LoadEmbeddings()
//	for _, s := range lib.Symbols {
//		v, ok := emb.Vector(s.ID)
//		...
//	}
package demo
