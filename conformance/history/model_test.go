package history

import (
	"fmt"
	"math"
	"time"

	"github.com/anishathalye/porcupine"
)

// The three models. An operation whose outcome is unknown returns at the end of
// time: it may take effect at any moment from its call on, or behind all others,
// where nobody sees it.

const never = math.MaxInt64

// kind of an operation.
type kind uint8

const (
	opWrite   kind = iota // key: now has the number
	opDelete              // key: now has none
	opCond                // key: had number from, now has number
	opRead                // key: has the number
	opAppend              // log: records got offsets from number on
	opTail                // log: ends at number
	opCommit              // head: from version from to the next, under an epoch
	opHead                // head: is at version number
	opAcquire             // lease: is held with an epoch
	opRelease             // lease: is held no more
	opRenew               // lease: is held with an epoch
)

var kindNames = []string{"write", "delete", "write if", "read", "append", "tail", "commit", "head", "acquire", "release", "renew"}

// op is one operation as its caller saw it.
type op struct {
	kind    kind
	part    string // the key, log or head that it is about
	number  int64
	from    int64
	records int64
	epoch   uint64
	unknown bool
	who     string
	write   int64  // the write statement that it belongs to
	commit  string // the id of the commit
}

func (o op) String() string {
	out := fmt.Sprintf("%-10s %-8s %d", kindNames[o.kind], o.part, o.number)
	switch o.kind {
	case opCond:
		out += fmt.Sprintf(" instead of %d", o.from)
	case opAppend:
		out += fmt.Sprintf(", %d records", o.records)
	case opCommit:
		out += fmt.Sprintf(" on %d under epoch %d", o.from, o.epoch)
	case opAcquire, opRelease, opRenew:
		out += fmt.Sprintf(" epoch %d", o.epoch)
	}
	if o.unknown {
		out += " (outcome unknown)"
	}
	return out
}

// state is that of one part: a key's number, a log's end, or a head's version with
// the lease's epochs.
type state struct {
	number    int64
	held, top uint64
}

func step(s state, o op) (bool, state) {
	switch o.kind {
	case opWrite:
		s.number = o.number
	case opDelete:
		s.number = 0
	case opCond:
		if s.number != o.from {
			return o.unknown, s
		}
		s.number = o.number
	case opRead, opTail, opHead:
		return s.number == o.number, s
	case opAppend:
		if !o.unknown && s.number != o.number {
			return false, s
		}
		s.number += o.records
	case opCommit:
		if s.number != o.from || o.epoch != 0 && o.epoch != s.held {
			return o.unknown, s
		}
		s.number++
	case opAcquire:
		if o.epoch <= s.top {
			return false, s
		}
		s.held, s.top = o.epoch, o.epoch
	case opRelease:
		if s.held == o.epoch {
			s.held = 0
		}
	case opRenew:
		return s.held == o.epoch, s
	}
	return true, s
}

var model = porcupine.Model{
	Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
		var order []string
		parts := map[string][]porcupine.Operation{}
		for _, o := range history {
			part := o.Input.(op).part
			if parts[part] == nil {
				order = append(order, part)
			}
			parts[part] = append(parts[part], o)
		}
		out := make([][]porcupine.Operation, 0, len(order))
		for _, part := range order {
			out = append(out, parts[part])
		}
		return out
	},
	Init:  func() any { return state{} },
	Step:  func(s, in, _ any) (bool, any) { return step2(s.(state), in.(op)) },
	Equal: func(a, b any) bool { return a == b },
}

func step2(s state, o op) (bool, any) {
	ok, next := step(s, o)
	return ok, next
}

// patience bounds one check: a history that is not decided by then counts as unknown.
const patience = 10 * time.Second

// verdictOf checks the operations part by part; part is the first that is not
// linearizable, or whose check took too long.
func verdictOf(ops []porcupine.Operation) (result porcupine.CheckResult, part []porcupine.Operation) {
	worst := porcupine.Ok
	for _, p := range model.Partition(ops) {
		one := model
		one.Partition = nil
		switch r := porcupine.CheckOperationsTimeout(one, p, patience); {
		case r == porcupine.Illegal:
			return r, p
		case r == porcupine.Unknown:
			worst, part = r, p
		}
	}
	return worst, part
}
