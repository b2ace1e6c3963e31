// Package source holds the two encodings that every document goes through:
// source_json_v1 (typed fields to the JSON of _source and back) and
// loam_canonical_v1 (key fields to _pk). The same extractor serves the tail,
// apply, scans and scan plans, so that a value reads the same everywhere.
//
// In: rows of typed vectors, or JSON documents as users send them. Out: _pk,
// _source, vectors; and from _source again the typed fields. It does no I/O. It
// imports schema, vec, types, fail. docs/formats/source.md is its page.
package source
