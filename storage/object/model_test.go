package object

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/loamdb/loam/internal/fail"
)

// play runs random calls on a store and writes down the answers.
func play(s Store, seed uint64) string {
	rng := rand.New(rand.NewPCG(seed, 5))
	var out strings.Builder
	say := func(op string, err error, what ...any) {
		fmt.Fprintf(&out, "%s %v %s %v\n", op, what, fail.CodeOf(err), err)
	}
	key := func() string {
		return []string{"a/", "a/b/", "c/"}[rng.IntN(3)] + []string{"x", "y", "z.bin", "x-1"}[rng.IntN(4)]
	}
	for i := range 150 {
		k := key()
		switch rng.IntN(9) {
		case 0, 1:
			info, err := s.Put(ctx, k, fmt.Appendf(nil, "%d%s", i, strings.Repeat("p", rng.IntN(9))), PutOptions{Replace: rng.IntN(4) == 0})
			say("put", err, k, info)
		case 2:
			w, err := s.Create(ctx, k)
			if err != nil {
				say("create", err, k)
				continue
			}
			_, _ = w.Write([]byte("part one "))
			_, _ = w.Write(fmt.Append(nil, i))
			if rng.IntN(3) == 0 {
				w.Abort()
				continue
			}
			info, err := w.Commit()
			say("commit", err, k, info)
		case 3:
			body, err := s.Get(ctx, k)
			say("get", err, k, string(body))
		case 4:
			body, err := s.GetRange(ctx, k, rng.Int64N(6)-1, rng.Int64N(6))
			say("range", err, k, string(body))
		case 5:
			info, err := s.Head(ctx, k)
			say("head", err, k, info)
		case 6:
			page, err := s.List(ctx, []string{"", "a", "a/", "a/b", "c/x"}[rng.IntN(5)], []string{"", "a/b/x", k}[rng.IntN(3)])
			say("list", err, page)
		case 7:
			say("delete", s.Delete(ctx, k, key()), k)
		case 8:
			o, err := s.Open(ctx, k)
			if err != nil {
				say("open", err, k)
				continue
			}
			p := make([]byte, rng.IntN(4))
			err = o.ReadAt(ctx, p, rng.Int64N(4))
			say("read", err, k, o.Size(), string(p))
			_ = o.Close()
		}
	}
	return out.String()
}

// Every store answers a random session like the one in memory.
func TestModel(t *testing.T) {
	for seed := range uint64(20) {
		want := play(NewMem(), seed)
		each(t, func(t *testing.T, s Store) {
			if got := play(s, seed); got != want {
				x, y := strings.Split(want, "\n"), strings.Split(got, "\n")
				for i := range x {
					if i >= len(y) || x[i] != y[i] {
						t.Fatalf("seed %d, line %d:\n mem  %s\n this %s", seed, i, x[i], y[min(i, len(y)-1)])
					}
				}
			}
		})
	}
}
