package scan

import (
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/loamdb/loam"
	"github.com/loamdb/loam/internal/fail"
)

// TypeURL names the command inside google.protobuf.Any.
const TypeURL = "type.googleapis.com/loam.flight.v1.ScanPlanCommand"

// Field numbers of ScanPlanCommand in scan.proto.
const (
	fieldNamespace       protowire.Number = 1
	fieldCollection      protowire.Number = 2
	fieldManifestVersion protowire.Number = 3
	fieldToken           protowire.Number = 4
	fieldTag             protowire.Number = 5
	fieldTail            protowire.Number = 6
	fieldColumns         protowire.Number = 7
	fieldTimestamp       protowire.Number = 8
)

// tails are the modes by their number in scan.proto.
var tails = []loam.ScanTail{"", loam.TailNone, loam.TailMerge, loam.TailWait}

// MarshalCommand writes the request as a ScanPlanCommand.
func MarshalCommand(r loam.ScanRequest) []byte {
	var b []byte
	text := func(f protowire.Number, v string) {
		b = protowire.AppendString(protowire.AppendTag(b, f, protowire.BytesType), v)
	}
	num := func(f protowire.Number, v uint64) {
		b = protowire.AppendVarint(protowire.AppendTag(b, f, protowire.VarintType), v)
	}
	if r.Target.Namespace != "" {
		text(fieldNamespace, r.Target.Namespace)
	}
	text(fieldCollection, r.Target.Name)
	switch {
	case r.ManifestVersion != nil:
		num(fieldManifestVersion, *r.ManifestVersion)
	case r.Token != nil:
		text(fieldToken, r.Token.String())
	case r.Tag != nil:
		text(fieldTag, *r.Tag)
	case r.Timestamp != nil:
		num(fieldTimestamp, uint64(r.Timestamp.UnixMicro()))
	}
	for i, t := range tails {
		if i > 0 && t == r.Tail {
			num(fieldTail, uint64(i))
		}
	}
	for _, c := range r.Columns {
		text(fieldColumns, c)
	}
	return b
}

// ParseCommand reads a ScanPlanCommand. Of "at" the last field counts, as
// protobuf says of oneof; unknown fields are passed over. Errors as of ParseJSON.
func ParseCommand(b []byte) (loam.ScanRequest, error) {
	var r loam.ScanRequest
	var token *string
	for len(b) > 0 {
		field, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			return r, broken()
		}
		b = b[n:]
		size := protowire.ConsumeFieldValue(field, typ, b)
		if size < 0 {
			return r, broken()
		}
		value := b[:size]
		b = b[size:]
		switch typ {
		case protowire.VarintType:
			v, _ := protowire.ConsumeVarint(value)
			switch field {
			case fieldManifestVersion:
				r.ManifestVersion, r.Tag, r.Timestamp, token = &v, nil, nil, nil
			case fieldTimestamp:
				t := time.UnixMicro(int64(v)).UTC()
				r.Timestamp, r.ManifestVersion, r.Tag, token = &t, nil, nil, nil
			case fieldTail:
				if v >= uint64(len(tails)) {
					return r, fail.New(fail.InvalidParameter, "there is no tail mode %d", v)
				}
				r.Tail = tails[v]
			}
		case protowire.BytesType:
			raw, _ := protowire.ConsumeBytes(value)
			text := string(raw)
			switch field {
			case fieldNamespace:
				r.Target.Namespace = text
			case fieldCollection:
				r.Target.Name = text
			case fieldToken:
				token, r.ManifestVersion, r.Tag, r.Timestamp = &text, nil, nil, nil
			case fieldTag:
				r.Tag, r.ManifestVersion, r.Timestamp, token = &text, nil, nil, nil
			case fieldColumns:
				r.Columns = append(r.Columns, text)
			}
		}
	}
	if r.Target.Name == "" {
		return r, fail.New(fail.BadRequest, "the ScanPlanCommand names no collection")
	}
	if token != nil {
		if err := setToken(&r, *token); err != nil {
			return r, err
		}
	}
	return r, validate(&r)
}

func broken() error { return fail.New(fail.BadRequest, "the ScanPlanCommand is malformed") }
