package functions

import (
	"encoding/binary"

	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/kernel"
	"github.com/loamdb/loam/internal/vec"
)

// Version is Loam's version.
const Version = "0.1.0"

// sessionTable holds what a statement can ask about itself and its values.
var sessionTable = []def{
	{names: "version", help: "the server's version", sigs: []sig{{ret: "text", eval: same(func(*expr.Env) string { return "Loam " + Version })}}},
	{names: "current_schema current_namespace", help: "the session's namespace", vol: expr.Stable, sigs: []sig{{ret: "text", eval: same(func(env *expr.Env) string { return env.Namespace })}}},
	{names: "current_database current_catalog", help: "the catalog, always loam", sigs: []sig{{ret: "text", eval: same(func(*expr.Env) string { return "loam" })}}},
	{names: "current_user session_user user", help: "the principal of the session", vol: expr.Stable, sigs: []sig{{ret: "text", eval: same(func(env *expr.Env) string { return env.User })}}},
	{names: "typeof pg_typeof", help: "the SQL type of a value", nulls: true, sigs: []sig{{in: "any", ret: "text", eval: func(_ *expr.Env, args []*vec.Vector, n int, out *vec.Vector) error {
		return fill(args[0].Type.String(), n, out)
	}}}},
	{names: "arrow_typeof", help: "the Arrow type of a value", nulls: true, sigs: []sig{{in: "any", ret: "text", eval: func(_ *expr.Env, args []*vec.Vector, n int, out *vec.Vector) error {
		return fill(args[0].Type.Arrow().String(), n, out)
	}}}},
	{names: "uuid gen_random_uuid uuidv4", help: "a random UUID (version 4), new for each row", vol: expr.Volatile, example: "typeof(uuid())", sigs: []sig{{ret: "uuid", eval: evalUUID}}},
	{names: "uuidv7", help: "a UUID that begins with the statement's time in milliseconds (version 7), new for each row", vol: expr.Volatile, example: "uuid_version(uuidv7())", sigs: []sig{{ret: "uuid", eval: evalUUIDv7}}},
	{names: "uuid_version uuid_extract_version", help: "the version of a UUID of RFC 9562; NULL of another", example: "uuid_version('550e8400-e29b-41d4-a716-446655440000'::UUID)", sigs: []sig{{in: "uuid", ret: "bigint", eval: evalUUIDVersion}}},
	{names: "uuid_timestamp uuid_extract_timestamp", help: "the time in a UUID of version 7 or 1; NULL of another", example: "uuid_timestamp('019535d9-3df7-79fb-b466-fa907fa17f9e'::UUID)", sigs: []sig{{in: "uuid", ret: "timestamp", eval: evalUUIDTime}}},
}

func fill(s string, n int, out *vec.Vector) error {
	for i := range n {
		out.Strings.Set(i, s)
	}
	return nil
}

func same(f func(*expr.Env) string) expr.EvalFunc {
	return func(env *expr.Env, _ []*vec.Vector, n int, out *vec.Vector) error { return fill(f(env), n, out) }
}

func evalUUID(env *expr.Env, _ []*vec.Vector, n int, out *vec.Vector) error {
	return eachUUID(env, n, out, func(b *[16]byte) { b[6] = b[6]&0x0f | 0x40 })
}

func evalUUIDv7(env *expr.Env, _ []*vec.Vector, n int, out *vec.Vector) error {
	var ms [8]byte
	binary.BigEndian.PutUint64(ms[:], uint64(env.Now.UnixMilli()))
	return eachUUID(env, n, out, func(b *[16]byte) {
		copy(b[:6], ms[2:])
		b[6] = b[6]&0x0f | 0x70
	})
}

// eachUUID makes random UUIDs of RFC 9562's variant; mark sets the rest.
func eachUUID(env *expr.Env, n int, out *vec.Vector, mark func(*[16]byte)) error {
	if env.Random == nil {
		return fail.New(fail.Unsupported, "uuid() has no source of randomness here")
	}
	for i := range n {
		var b [16]byte
		binary.BigEndian.PutUint64(b[:8], env.Random())
		binary.BigEndian.PutUint64(b[8:], env.Random())
		b[8] = b[8]&0x3f | 0x80
		mark(&b)
		out.Decimals[i] = vec.MakeUUID(b)
	}
	return nil
}

// uuidVersion is the version of a UUID of RFC 9562's variant, 0 for others.
func uuidVersion(b [16]byte) int64 {
	if b[8]&0xc0 != 0x80 {
		return 0
	}
	return int64(b[6] >> 4)
}

func evalUUIDVersion(_ *expr.Env, args []*vec.Vector, n int, out *vec.Vector) error {
	ids := decimals(args[0])
	for i := range n {
		if out.Int64s[i] = uuidVersion(vec.UUIDBytes(ids.at(i))); out.Int64s[i] == 0 {
			out.SetNull(i)
		}
	}
	return nil
}

// gregorian is the number of 100 ns from 1582-10-15 to 1970-01-01, which
// version 1 counts from.
const gregorian = 0x01b21dd213814000

func evalUUIDTime(_ *expr.Env, args []*vec.Vector, n int, out *vec.Vector) error {
	ids := decimals(args[0])
	for i := range n {
		b := vec.UUIDBytes(ids.at(i))
		switch uuidVersion(b) {
		case 7:
			out.Int64s[i] = int64(binary.BigEndian.Uint64(b[:8])>>16) * 1000
		case 1:
			low, mid, high := binary.BigEndian.Uint32(b[:4]), binary.BigEndian.Uint16(b[4:6]), binary.BigEndian.Uint16(b[6:8])&0x0fff
			out.Int64s[i] = kernel.FloorDiv((int64(high)<<48|int64(mid)<<32|int64(low))-gregorian, 10)
		default:
			out.SetNull(i)
		}
	}
	return nil
}
