package functions

import (
	"encoding/binary"
	"encoding/hex"

	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/fail"
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
	{names: "uuid gen_random_uuid", help: "a random UUID (version 4), new for each row", vol: expr.Volatile, sigs: []sig{{ret: "text", eval: evalUUID}}},
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
	if env.Random == nil {
		return fail.New(fail.Unsupported, "uuid() has no source of randomness here")
	}
	for i := range n {
		var b [16]byte
		binary.BigEndian.PutUint64(b[:8], env.Random())
		binary.BigEndian.PutUint64(b[8:], env.Random())
		b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
		h := hex.EncodeToString(b[:])
		out.Strings.Set(i, h[:8]+"-"+h[8:12]+"-"+h[12:16]+"-"+h[16:20]+"-"+h[20:])
	}
	return nil
}
