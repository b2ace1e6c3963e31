// Package text is Loam's full-text index: analysis, the immutable segment, the
// in-memory index of the tail, the query language and the BM25 executor.
//
// In: field values as strings, numbered documents, query texts, bitmaps of
// allowed and of excluded documents. Out: exact top-k hits, exact match
// bitmaps, exact statistics over live documents. It never reads a file, a
// clock or a catalog: a segment is a byte slice, and a primary key is seen only
// through the caller's tie-break. It may import roaring, bleve's analysis
// packages, xxh3, internal/fail and storage/internal/postings.
//
// A search over several parts goes in two rounds, so that scores do not depend
// on how documents lie in parts:
//
//	q, err := text.ParseQuery("ring buffer", fields, text.QueryOptions{})
//	var global text.Stats
//	for _, p := range parts {               // *Segment or MemView
//		b, err := p.Bind(ctx, q, p.exclusion) // looks the terms up once
//		global.Add(b.Stats())
//	}
//	hits, err := bound.Search(ctx, global, text.SearchOptions{K: 10, Less: byKey})
//
// # Scores
//
// The contribution of a term to a document is, in float64 and in this order of
// operations,
//
//	w · (tf / (tf + (c0 + c1·dl)))
//	w  = boost · idf · (k1+1)      idf = ln(1 + (N − df + 0.5)/(df + 0.5))
//	c0 = k1·(1−b)                  c1  = k1·b / avgdl
//
// where N counts the live documents with at least one token in the field, df
// those of them that hold the term, avgdl is live tokens / N, dl is the exact
// number of tokens of the field in the document and tf the exact number of
// occurrences (Robertson and Zaragoza 2009, with Lucene's non-negative idf and
// the k1+1 numerator). No fused multiply-add is used. A phrase scores like a
// term whose idf is the sum over its terms and whose tf is its frequency. A
// prefix scores as one term made of all its expansions: their occurrences are
// added, df counts the documents that hold any. A fuzzy term does the same with
// an occurrence at edit distance d counting 1/(1+d).
//
// Contributions of an OR of terms are added by falling w (ties: the order in
// the query), those of any other node in the order of the query. Therefore a
// document's score has the same bits in every part kind, under every filter
// and with or without pruning.
package text
