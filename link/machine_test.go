package link

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/schema"
	"github.com/loamdb/loam/metastore"
)

// errorsOf are the outcomes that the test text names.
var errorsOf = map[string]error{
	"ok":      nil,
	"unknown": fail.New(fail.CommitUnknown, "the reply was lost"),
	"down":    fail.New(fail.Unavailable, "the store is away"),
	"fence":   fail.Wrap(fail.Conflict, metastore.ErrFenceLost, "lease"),
	"moved":   fail.Wrap(fail.Conflict, metastore.ErrLinkMoved, "link"),
	"changed": fail.Wrap(fail.Conflict, metastore.ErrLinkChanged, "link"),
	"dropped": fail.New(fail.UndefinedTable, "gone"),
	"large":   fail.New(fail.TooLarge, "a batch of 9 bytes"),
	"full":    &fail.Error{Code: fail.BacklogFull, Message: "full", RetryAfter: 3 * time.Second},
	"expired": fail.New(fail.OffsetExpired, "offset 3 is no longer kept"),
	"ended":   fail.New(fail.Canceled, "canceled"),
}

func numbers(t *testing.T, list []string) []uint64 {
	out := make([]uint64, len(list))
	for i, s := range list {
		n, err := strconv.ParseUint(s, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		out[i] = n
	}
	return out
}

func shown(a Action) string {
	s := a.Do.String()
	switch a.Do {
	case Wait:
		s += fmt.Sprintf(" until %s", a.Until)
	case Commit:
		s += fmt.Sprintf(" %v to %v", a.From, a.To)
	case Read:
		s += fmt.Sprintf(" %d from %v", a.Records, a.From)
		if a.To != nil {
			s += fmt.Sprintf(" below %v", a.To)
		}
	}
	if a.Bad != nil {
		s += fmt.Sprintf(" at %d/%d", a.Bad.Partition, a.Bad.Offset)
	}
	if a.Err != nil {
		s += fmt.Sprintf(" (%v)", a.Err)
	}
	return s + "\n"
}

// TestMachine plays sessions: what a worker sees, and what the machine tells it.
func TestMachine(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		var m *Machine
		var now time.Duration
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			arg := func(key string) []string {
				for _, a := range d.CmdArgs {
					if a.Key == key {
						return a.Vals
					}
				}
				return nil
			}
			if v := arg("now"); v != nil {
				var err error
				if now, err = time.ParseDuration(v[0]); err != nil {
					t.Fatal(err)
				}
			}
			switch d.Cmd {
			case "new":
				m, now = New(Config{BatchBytes: 1000, Interval: 2 * time.Second, OnError: schema.OnError(arg("on_error")[0])}), 0
				return ""
			case "look":
				v := View{At: numbers(t, arg("at")), Ends: numbers(t, arg("ends")), Old: d.HasArg("old")}
				if b := arg("bytes"); b != nil {
					v.Bytes = int64(numbers(t, b)[0])
				}
				return shown(m.Looked(now, v))
			case "got":
				var bad []Bad
				for _, b := range arg("bad") {
					p, o, _ := strings.Cut(b, "/")
					at := numbers(t, []string{p, o})
					bad = append(bad, Bad{Partition: int(at[0]), Offset: at[1], Err: fail.New(fail.OutOfRange, "out of range")})
				}
				records := 1
				if n := arg("records"); n != nil {
					records = int(numbers(t, n)[0])
				}
				return shown(m.Got(Batch{To: numbers(t, arg("to")), Records: records, Bytes: int64(numbers(t, arg("bytes"))[0]), Bad: bad}))
			case "committed":
				return shown(m.Committed(now, errorsOf[arg("err")[0]]))
			case "broke":
				return shown(m.Broke(now, errorsOf[arg("err")[0]]))
			case "retries":
				n, next, err := m.Retries()
				return fmt.Sprintf("%d, next %s, %v\n", n, next, err)
			}
			t.Fatalf("%s: unknown command %s", d.Pos, d.Cmd)
			return ""
		})
	})
}
