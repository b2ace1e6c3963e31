package crash

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
)

// The workload. Each writer owns the rows that carry its number, and sends one
// statement after the other. What statement s of a writer does follows from the
// writer, s and the rows before it, so that whoever knows s knows the rows. After
// a crash a writer's rows must be those after its last acknowledged statement, or
// those after the one that was under way: whole or not at all.

// The objects that writers write to, writer w to number w modulo 3: a collection,
// a collection of three partitions, whose statements take several log blocks, and
// a table, whose rows have no key that would hide a duplicate.
var objects = []string{"docs", "wide", "events"}

const (
	writers = 6
	// keysPerWriter bounds the documents of a writer.
	keysPerWriter = 150
	tableObject   = 2
)

// ddl makes the objects.
var ddl = []string{
	"CREATE COLLECTION docs (id TEXT PRIMARY KEY, w INT, n BIGINT, body TEXT FULLTEXT 'english', emb VECTOR(4) DISTANCE l2)",
	"CREATE COLLECTION wide (id TEXT PRIMARY KEY, w INT, n BIGINT, body TEXT FULLTEXT 'english', emb VECTOR(4) DISTANCE l2) WITH (partitions = 3)",
	"CREATE TABLE events (id TEXT, w INT, n BIGINT, body TEXT)",
}

// row is what a writer knows of one of its rows.
type row struct {
	n    int // the statement that wrote it last
	made int // the statement that inserted it, which its vector tells
	body string
}

// world are a writer's rows by id.
type world map[string]row

// statement is one step of a writer.
type statement struct {
	number int
	sql    string   // or
	docs   [][]byte // documents, sent as such
	rows   int      // that it writes or deletes
	after  world
}

func target(w int) string { return objects[w%len(objects)] }

// token is a word that all documents of a writer contain, and no others.
func token(w int) string { return fmt.Sprintf("writer%d", w) }

func vectorOf(id string, made int) []int {
	h := 0
	for _, c := range id {
		h = (h*31 + int(c)) % 97
	}
	return []int{made % 13, h % 7, h % 11, 1}
}

// render is a row as the tests compare it; tables have no vector.
func (r row) render(w int, id string) string {
	if w%len(objects) == tableObject {
		return fmt.Sprintf("%s n=%d %s", id, r.n, r.body)
	}
	v := vectorOf(id, r.made)
	return fmt.Sprintf("%s n=%d %s [%d, %d, %d, %d]", id, r.n, r.body, v[0], v[1], v[2], v[3])
}

// lines are all rows of a world, sorted.
func (s world) lines(w int) []string {
	out := make([]string, 0, len(s))
	for id, r := range s {
		out = append(out, r.render(w, id))
	}
	slices.Sort(out)
	return out
}

// after is the world after a writer's first n statements.
func after(w, n int) world {
	s := world{}
	for i := 1; i <= n; i++ {
		s = next(w, i, s).after
	}
	return s
}

// next is statement number s of a writer, whose rows before it are given.
func next(w, s int, before world) statement {
	rng := rand.New(rand.NewPCG(uint64(w), uint64(s)))
	ids := slices.Sorted(maps.Keys(before))
	st := statement{number: s, after: maps.Clone(before)}
	switch p := rng.IntN(20); {
	case p < 4 && len(ids) > 0:
		st.delete(w, pick(rng, ids, 1+rng.IntN(5)))
	case p < 7 && len(ids) > 0:
		st.update(w, pick(rng, ids, 1+rng.IntN(4)))
	case p < 9 && len(ids) > 30:
		st.deleteOld(w)
	default:
		st.insert(w, rng)
	}
	return st
}

func pick(rng *rand.Rand, ids []string, n int) []string {
	out := make([]string, 0, n)
	for _, i := range rng.Perm(len(ids))[:min(n, len(ids))] {
		out = append(out, ids[i])
	}
	return out
}

func quoted(ids []string) string { return "'" + strings.Join(ids, "', '") + "'" }

func (st *statement) delete(w int, ids []string) {
	st.sql = fmt.Sprintf("DELETE FROM %s WHERE id IN (%s)", target(w), quoted(ids))
	st.rows = len(ids)
	for _, id := range ids {
		delete(st.after, id)
	}
}

// deleteOld deletes by a predicate over other fields than the key.
func (st *statement) deleteOld(w int) {
	bound := st.number - 60
	st.sql = fmt.Sprintf("DELETE FROM %s WHERE w = %d AND n < %d", target(w), w, bound)
	for id, r := range st.after {
		if r.n < bound {
			delete(st.after, id)
			st.rows++
		}
	}
}

func (st *statement) update(w int, ids []string) {
	body := fmt.Sprintf("%s updated by s%d", token(w), st.number)
	st.sql = fmt.Sprintf("UPDATE %s SET n = %d, body = '%s' WHERE id IN (%s)", target(w), st.number, body, quoted(ids))
	st.rows = len(ids)
	for _, id := range ids {
		st.after[id] = row{n: st.number, made: st.after[id].made, body: body}
	}
}

func (st *statement) insert(w int, rng *rand.Rand) {
	n := 1 + rng.IntN(12)
	table := w%len(objects) == tableObject
	values := make([]string, 0, n)
	seen := map[string]bool{}
	for i := range n {
		id := fmt.Sprintf("w%d-%03d", w, rng.IntN(keysPerWriter))
		if table {
			id = fmt.Sprintf("w%d-%d-%d", w, st.number, i)
		}
		if seen[id] {
			continue
		}
		seen[id] = true
		r := row{n: st.number, made: st.number, body: fmt.Sprintf("%s wrote s%d row %d of many words", token(w), st.number, i)}
		st.after[id] = r
		v := vectorOf(id, r.made)
		switch {
		case table:
			values = append(values, fmt.Sprintf("('%s', %d, %d, '%s')", id, w, r.n, r.body))
		case st.number%2 == 0:
			values = append(values, fmt.Sprintf("('%s', %d, %d, '%s', [%d, %d, %d, %d])", id, w, r.n, r.body, v[0], v[1], v[2], v[3]))
		default:
			st.docs = append(st.docs, fmt.Appendf(nil, `{"id":"%s","w":%d,"n":%d,"body":"%s","emb":[%d,%d,%d,%d]}`, id, w, r.n, r.body, v[0], v[1], v[2], v[3]))
		}
	}
	st.rows = len(seen)
	if len(values) > 0 {
		st.sql = fmt.Sprintf("INSERT INTO %s VALUES %s", target(w), strings.Join(values, ", "))
	}
}
