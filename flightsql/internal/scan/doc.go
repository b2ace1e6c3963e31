// Package scan writes and reads scan plans on the wire: the request as JSON and
// as the published protobuf (scan.proto), the plan as JSON, the metadata of its
// endpoints. REST and Flight share it.
//
// In: bytes of a request, a [loam.ScanPlan]. Out: a [loam.ScanRequest], JSON. It
// plans nothing. It imports loam, snapshot and fail.
package scan
