package metastore

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/loamdb/loam/internal/fail"
)

// player runs random operations and writes down what they answered.
type player struct {
	*rig
	rng     *rand.Rand
	objects []Object // also dropped ones
	leases  []Lease
	out     strings.Builder
}

func (p *player) say(op string, err error, what ...any) {
	fmt.Fprintf(&p.out, "%s: %v %s", op, what, fail.CodeOf(err))
	if err != nil {
		fmt.Fprintf(&p.out, " (%v)", err)
	}
	p.out.WriteByte('\n')
}

func (p *player) object() Object {
	if len(p.objects) == 0 {
		return Object{ID: 99, Incarnation: p.ids.ULID()}
	}
	return p.objects[p.rng.IntN(len(p.objects))]
}

func (p *player) step() {
	ns := []string{"a", "A", "b"}[p.rng.IntN(3)]
	switch p.rng.IntN(19) {
	case 0:
		created, err := p.CreateNamespace(ctx, ns, nil)
		p.say("create namespace", err, ns, created)
	case 1:
		p.say("drop namespace", p.DropNamespace(ctx, ns), ns)
	case 2, 3:
		o, err := p.CreateObject(ctx, Object{Namespace: ns, Name: []string{"x", "X", "y"}[p.rng.IntN(3)], Partitions: 1 + p.rng.IntN(2)})
		if err == nil {
			p.objects = append(p.objects, o)
		}
		p.say("create object", err, o)
	case 4:
		if p.rng.IntN(3) == 0 {
			o := p.object()
			p.say("drop object", p.DropObject(ctx, o.ID), o.ID)
		}
	case 5:
		o, err := p.UpdateObject(ctx, p.object().ID, uint64(1+p.rng.IntN(2)), []byte{byte(p.rng.IntN(9))})
		p.say("update", err, o)
	case 6, 7, 8, 9:
		p.appendSome()
	case 10, 11:
		p.commitSome()
	case 12:
		p.leaseStep()
	case 13:
		p.moveSome()
	case 14:
		d := time.Duration(p.rng.IntN(20000)) * time.Millisecond
		if p.rng.IntN(2) == 0 {
			p.clk.Advance(d)
		} else {
			p.clk.Jump(3*d - 30*time.Second)
		}
		now, err := p.Now(ctx)
		p.say("now", err, now)
	case 15:
		o, err := p.GetObject(ctx, ns, "x")
		p.say("get", err, o)
		list, err := p.ListObjects(ctx, "")
		p.say("list", err, list)
		rev, err := p.CatalogRevision(ctx)
		p.say("revision", err, rev)
	case 16, 17:
		p.tagSome()
	case 18:
		p.retainSome()
	}
}

func (p *player) tagSome() {
	o, name := p.object(), []string{"t", "T", "u", "v"}[p.rng.IntN(4)]
	if p.rng.IntN(3) == 0 {
		tag, err := p.DropTag(ctx, o.ID, name, "")
		p.say("drop tag", err, tag)
		return
	}
	head, _, _, _ := p.Heads(ctx, o.ID)
	tag, err := p.CreateTag(ctx, TagRequest{ObjectID: o.ID, Incarnation: o.Incarnation, Limit: 3, Tag: Tag{Name: name,
		Version: 1 + uint64(p.rng.IntN(1+int(head.Version))), ManifestKey: "m", Protect: p.rng.IntN(4) == 0, ExpiresMS: int64(p.rng.IntN(2))}})
	p.say("create tag", err, tag)
}

func (p *player) retainSome() {
	o := p.object()
	switch p.rng.IntN(3) {
	case 0:
		tags, _ := p.Tags(ctx, o.ID)
		n := Count{Freed: p.rng.Int64N(100), TagBytes: p.rng.Int64N(50), Tags: map[string]int64{}}
		for _, t := range tags {
			n.Tags[t.ID] = p.rng.Int64N(40)
		}
		p.say("count", p.CountBytes(ctx, o.ID, n))
		return
	case 1:
		epoch, err := p.BumpGCEpoch(ctx, o.ID)
		p.say("bump", err, epoch)
		return
	}
	oldest := uint64(p.rng.IntN(4))
	p.say("release", p.ReleaseManifests(ctx, o.ID, oldest), oldest)
}

func (p *player) appendSome() {
	var blocks []AppendBlock
	for range 1 + p.rng.IntN(3) {
		b := p.block(p.object(), p.rng.IntN(2), uint32(1+p.rng.IntN(5)))
		if p.rng.IntN(3) == 0 {
			b = p.moving(b)
		}
		if p.rng.IntN(3) == 0 {
			n := uint64(p.rng.IntN(8))
			b.Expect = &n
		}
		blocks = append(blocks, b)
	}
	res, err := p.Append(ctx, blocks)
	p.say("append", err, res)
}

// moving makes the block part of a link's batch, mostly one that may move.
func (p *player) moving(b AppendBlock) AppendBlock {
	link, target := p.object(), p.object()
	a := &Advance{Target: target.ID, Link: link.ID, LinkVersion: max(1, uint64(p.rng.IntN(3))), Batch: p.ids.ULID(), Counts: LinkCounts{Read: 1}}
	at := uint64(0)
	for _, known := range p.progress(target) {
		if known.Link == link.ID {
			at = known.Offsets[0]
			a.Expect = []uint64{at}
		}
	}
	if p.rng.IntN(4) == 0 {
		at = uint64(p.rng.IntN(3))
		a.Expect = []uint64{at}
	}
	a.Next = []uint64{at + 1 + uint64(p.rng.IntN(3))}
	if len(p.leases) > 0 && p.rng.IntN(2) == 0 {
		a.Fence = p.leases[p.rng.IntN(len(p.leases))].Fence()
	}
	b.Advance = a
	if p.rng.IntN(3) == 0 {
		b = AppendBlock{Advance: a}
	} else {
		b.Group = p.rng.IntN(2)
	}
	return b
}

func (p *player) commitSome() {
	o := p.object()
	head, parts, _, err := p.Heads(ctx, o.ID)
	if err != nil {
		p.say("heads", err)
		return
	}
	var applied []uint64
	for _, s := range parts {
		applied = append(applied, s.Applied+uint64(p.rng.IntN(5)))
	}
	req := CommitRequest{ObjectID: o.ID, Incarnation: o.Incarnation, ExpectVersion: head.Version,
		Head: Head{Version: head.Version + 1, CommitID: p.ids.ULID(), Applied: applied}, GCEpoch: head.GCEpoch - min(head.GCEpoch, uint64(p.rng.IntN(3))), Added: p.rng.Int64N(100)}
	if len(p.leases) > 0 && p.rng.IntN(2) == 0 {
		req.Fences = []Fence{p.leases[p.rng.IntN(len(p.leases))].Fence()}
	}
	h, err := p.Commit(ctx, req)
	p.say("commit", err, h)
}

func (p *player) leaseStep() {
	if len(p.leases) > 0 && p.rng.IntN(2) == 0 {
		l := p.leases[p.rng.IntN(len(p.leases))]
		if p.rng.IntN(2) == 0 {
			p.say("release", p.ReleaseLease(ctx, l), l)
			return
		}
		l, err := p.RenewLease(ctx, l, 10*time.Second)
		p.say("renew", err, l)
		return
	}
	l, err := p.AcquireLease(ctx, "k", []string{"me", "you"}[p.rng.IntN(2)], 10*time.Second)
	if err == nil {
		p.leases = append(p.leases, l)
	}
	p.say("acquire", err, l)
}

func (p *player) moveSome() {
	o := p.object()
	_, parts, _, err := p.Heads(ctx, o.ID)
	if err != nil || len(parts[0].Refs) == 0 {
		p.say("no refs", err)
		return
	}
	refs := parts[0].Refs
	upTo := refs[p.rng.IntN(len(refs))].End()
	if p.rng.IntN(3) == 0 {
		p.say("trim", p.TrimRefs(ctx, o.ID, 0, upTo), upTo)
		return
	}
	p.say("move", p.MoveRefs(ctx, o.ID, 0, upTo, "walx/20260102/"+p.ids.ULID()+".lwix", parts[0].Overflow.IndexKey), upTo)
}

// state is everything that can be read, with the invariants checked.
func (p *player) state() {
	_ = p.ScanPartitions(ctx, func(id uint64, part int, s PartitionState) error {
		if err := dense(s); err != nil {
			p.t.Fatalf("object %d partition %d: %v\n%s", id, part, err, p.out.String())
		}
		p.say("partition", nil, id, part, s)
		return nil
	})
	for _, o := range p.objects {
		h, _, _, err := p.Heads(ctx, o.ID)
		p.say("head", err, h, p.progress(o))
	}
	err := p.Roots(ctx, func(r Root) error {
		if err := sound(r); err != nil {
			p.t.Fatalf("object %d: %v\n%s", r.ObjectID, err, p.out.String())
		}
		r.Revision = 0 // a lost reply may have cost one
		p.say("root", nil, r)
		return nil
	})
	p.say("roots", err)
}

// TestModel plays the same random session on both back ends: every answer is the
// same. With lost replies on one of them, too: they must not show.
func TestModel(t *testing.T) {
	sessions := 30
	if testing.Short() {
		sessions = 5
	}
	embedded := newRig(t, t.TempDir())
	for seed := range uint64(sessions) {
		for _, faulty := range []bool{false, true} {
			play := func(r *rig) string {
				p := &player{rig: r, rng: rand.New(rand.NewPCG(seed, 3))}
				chaos := rand.New(rand.NewPCG(seed, 4))
				for range 120 {
					r.faults.Clear()
					if faulty && r == embedded && chaos.IntN(3) == 0 {
						r.faults.Add(Fault{Kind: []FaultKind{LostBefore, LostAfter}[chaos.IntN(2)], N: 1})
					}
					p.step()
				}
				r.faults.Clear()
				p.state()
				if faulty { // each try takes a new time
					return times.ReplaceAllString(p.out.String(), "T")
				}
				return p.out.String()
			}
			if err := embedded.Close(); err != nil {
				t.Fatal(err)
			}
			embedded = newRig(t, t.TempDir())
			want, got := play(newRig(t, "")), play(embedded)
			if got != want {
				t.Fatalf("seed %d, faulty %v: the back ends differ\n%s", seed, faulty, firstDiff(want, got))
			}
		}
	}
}

var times = regexp.MustCompile(`\b(17\d{11,14}|another \d+ ms)\b`)

func firstDiff(a, b string) string {
	x, y := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range min(len(x), len(y)) {
		if x[i] != y[i] {
			return fmt.Sprintf("line %d\n mem      %s\n embedded %s", i, x[i], y[i])
		}
	}
	return "one is longer"
}
