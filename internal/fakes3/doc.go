// Package fakes3 is an S3 server in memory for tests, over net/http on loopback,
// whose replies can be made to fail and whose promises can be broken.
//
// In: the requests of an S3 client with path-style addresses. Out: what S3
// answers, or a [Fault]. It knows objects, conditional creates, ranges, CRC32C
// checksums, multipart uploads and listings, and no signatures. It is never
// linked into the product, and imports nothing of Loam.
package fakes3
