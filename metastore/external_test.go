package metastore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/loamdb/loam/internal/clock"
	"github.com/loamdb/loam/internal/etcdtest"
	"github.com/loamdb/loam/internal/fail"
)

func etcds(t *testing.T, opt etcdtest.Options) *etcdtest.Cluster {
	t.Helper()
	c, err := etcdtest.Start(t.TempDir(), opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func addressOf(c *etcdtest.Cluster) string { return "etcd://" + strings.Join(c.Hosts(), ",") }

func openExternal(t *testing.T, opt ExternalOptions) Store {
	t.Helper()
	clk := clock.Real()
	s, err := OpenExternal(ctx, clk, clock.RandomIDs(clk), opt)
	if err != nil {
		t.Fatal(fail.Render(err, ""))
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// TestExternal: what the other back ends do, with two nodes, and a prefix that keeps
// two Loams in one etcd apart.
func TestExternal(t *testing.T) {
	c := etcds(t, etcdtest.Options{})
	a, b := openExternal(t, ExternalOptions{Address: addressOf(c)}), openExternal(t, ExternalOptions{Address: addressOf(c)})
	other := openExternal(t, ExternalOptions{Address: addressOf(c) + "/team/one/"})
	must(a.CreateNamespace(ctx, "public", nil))(t)
	o := must(a.CreateObject(ctx, Object{Namespace: "public", Name: "docs", Kind: "collection", Partitions: 2}))(t)
	if got := must(b.GetObject(ctx, "public", "DOCS"))(t); got.ID != o.ID {
		t.Errorf("the other node finds %+v", got)
	}
	x, y, z := must(a.Info(ctx))(t), must(b.Info(ctx))(t), must(other.Info(ctx))(t)
	if x.ClusterID != y.ClusterID || x.ClusterID == z.ClusterID {
		t.Errorf("clusters %s %s %s", x.ClusterID, y.ClusterID, z.ClusterID)
	}
	if ns := must(other.ListNamespaces(ctx))(t); len(ns) != 0 {
		t.Errorf("below the prefix there are %v", ns)
	}
	secret := must(a.Secret(ctx, "s", 16))(t)
	if again := must(b.Secret(ctx, "s", 16))(t); !slices.Equal(secret, again) {
		t.Error("two secrets of one name")
	}
	l := must(a.AcquireLease(ctx, "k", "a", time.Minute))(t)
	if _, err := b.AcquireLease(ctx, "k", "b", time.Minute); !fail.Is(err, fail.Locked) {
		t.Errorf("a held lease: %v", err)
	}
	if err := a.ReleaseLease(ctx, l); err != nil {
		t.Fatal(err)
	}
	must(b.AcquireLease(ctx, "k", "b", time.Minute))(t)
	if a.DBSize() <= 0 {
		t.Error("the database has no size")
	}
	client, err := c.Client()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Close() }()
	all, err := client.Get(ctx, "", clientv3.WithPrefix(), clientv3.WithKeysOnly())
	if err != nil {
		t.Fatal(err)
	}
	for _, kv := range all.Kvs {
		if key := string(kv.Key); !strings.HasPrefix(key, "/loam/") && !strings.HasPrefix(key, "/team/one/loam/") {
			t.Errorf("key %q", key)
		}
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Info(ctx); !fail.Is(err, fail.Unavailable) {
		t.Errorf("after the close: %v", err)
	}
}

// appender appends records one by one, each once, and notes what was acknowledged.
type appender struct {
	s       Store
	ids     clock.IDs
	o       Object
	acked   []string // WAL keys
	unknown []string
	longest time.Duration
	other   error
}

func (a *appender) run(stop *atomic.Bool) {
	for !stop.Load() {
		b := AppendBlock{ObjectID: a.o.ID, Incarnation: a.o.Incarnation, Records: 1, Bytes: 10, WALKey: "wal/20260102/" + a.ids.ULID() + ".lwal", Off: 32, Len: 100, Checksum: 7}
		begun := time.Now()
		res, err := a.s.Append(ctx, []AppendBlock{b})
		a.longest = max(a.longest, time.Since(begun))
		switch {
		case fail.Is(err, fail.CommitUnknown):
			a.unknown = append(a.unknown, b.WALKey)
		case err != nil && !fail.Is(err, fail.Unavailable):
			a.other = err
			return
		case err == nil && res[0].Err == nil:
			a.acked = append(a.acked, b.WALKey)
		case err == nil && !fail.Is(res[0].Err, fail.BacklogFull):
			a.other = res[0].Err
			return
		}
		if len(a.acked)%20 == 19 { // make room in the row, without a commit
			if _, parts, _, err := a.s.Heads(ctx, a.o.ID); err == nil && len(parts[0].Refs) > 40 {
				seen := parts[0].Refs[:20]
				for _, r := range seen {
					a.trimmed(r)
				}
				_ = a.s.TrimRefs(ctx, a.o.ID, 0, seen[len(seen)-1].End())
			}
		}
	}
}

var trimmedKeys sync.Map

func (a *appender) trimmed(r Ref) { trimmedKeys.Store(r.WALKey, r.Base) }

// TestExternalLeaderStops: the leader is stopped hard under load. Writes go on within
// seconds, what was acknowledged is there once, and what is unknown at most once.
func TestExternalLeaderStops(t *testing.T) {
	c := etcds(t, etcdtest.Options{})
	s := openExternal(t, ExternalOptions{Address: addressOf(c)})
	clk := clock.Real()
	must(s.CreateNamespace(ctx, "public", nil))(t)
	var stop atomic.Bool
	var all sync.WaitGroup
	list := make([]*appender, 4)
	for i := range list {
		o := must(s.CreateObject(ctx, Object{Namespace: "public", Name: fmt.Sprint("o", i), Kind: "collection", Partitions: 1}))(t)
		list[i] = &appender{s: s, ids: clock.RandomIDs(clk), o: o}
		all.Go(func() { list[i].run(&stop) })
	}
	time.Sleep(300 * time.Millisecond)
	leader := c.Leader()
	if leader < 0 {
		t.Fatal("nobody leads")
	}
	c.Stop(leader)
	time.Sleep(4 * time.Second)
	if err := c.Restart(leader); err != nil {
		t.Fatal(err)
	}
	time.Sleep(500 * time.Millisecond)
	stop.Store(true)
	all.Wait()
	acked, unknown, longest := 0, 0, time.Duration(0)
	for _, a := range list {
		if a.other != nil {
			t.Error(a.other)
		}
		acked, unknown, longest = acked+len(a.acked), unknown+len(a.unknown), max(longest, a.longest)
		a.check(t)
	}
	t.Logf("%d appends acknowledged, %d unknown, the longest took %v", acked, unknown, longest.Round(time.Millisecond))
	if acked < 100 || longest > 5*time.Second {
		t.Errorf("%d appends, the longest took %v", acked, longest)
	}
}

// check holds that each acknowledged append has one reference, others at most one.
func (a *appender) check(t *testing.T) {
	t.Helper()
	_, parts, _, err := a.s.Heads(ctx, a.o.ID)
	if err != nil {
		t.Fatal(err)
	}
	times := map[string]int{}
	for _, r := range parts[0].Refs {
		times[r.WALKey]++
	}
	total := uint64(len(parts[0].Refs))
	for _, key := range slices.Concat(a.acked, a.unknown) {
		if _, gone := trimmedKeys.Load(key); gone {
			times[key]++
			total++
		}
	}
	for _, key := range a.acked {
		if times[key] != 1 {
			t.Errorf("acknowledged append %s is there %d times", key, times[key])
		}
	}
	for _, key := range a.unknown {
		if times[key] > 1 {
			t.Errorf("unknown append %s is there %d times", key, times[key])
		}
	}
	if total != parts[0].Next {
		t.Errorf("%d references for %d offsets", total, parts[0].Next)
	}
}

// TestExternalIsFull: at etcd's quota writes say so with a cure, and reads go on.
func TestExternalIsFull(t *testing.T) {
	c := etcds(t, etcdtest.Options{Members: 1, QuotaBytes: 4 << 20})
	s := openExternal(t, ExternalOptions{Address: addressOf(c) + "?compaction=off"})
	must(s.CreateNamespace(ctx, "public", nil))(t)
	o := must(s.CreateObject(ctx, Object{Namespace: "public", Name: "a", Kind: "view", Definition: []byte("x")}))(t)
	var err error
	for i := 0; err == nil && i < 1000; i++ {
		if o, err = s.UpdateObject(ctx, o.ID, o.SchemaVersion, make([]byte, MaxValueBytes)); err == nil && i == 999 {
			t.Fatal("the quota was never reached")
		}
	}
	if got := fail.Render(err, ""); !fail.Is(err, fail.Exhausted) || !strings.Contains(got, "etcdctl alarm disarm") {
		t.Errorf("%s", got)
	}
	if got := must(s.GetObject(ctx, "public", "a"))(t); got.SchemaVersion < 2 {
		t.Errorf("read %+v", got)
	}
	must(s.ListObjects(ctx, ""))(t)
	last := int64(0)
	for range 3 { // the time goes on beyond what is reserved: each statement that reads asks for it
		now := must(s.Now(ctx))(t)
		if now < last {
			t.Errorf("time goes back from %d to %d", last, now)
		}
		last = now
		time.Sleep(reserve)
	}
}

// TestExternalCompacts: history goes, so that the etcd does not fill by itself; with
// compaction=off it is left to others.
func TestExternalCompacts(t *testing.T) {
	c := etcds(t, etcdtest.Options{Members: 1})
	for _, off := range []bool{true, false} {
		address := addressOf(c)
		if off {
			address += "/x?compaction=off"
		}
		s := openExternal(t, ExternalOptions{Address: address})
		for range compactRevisions + 200 {
			if err := s.SetStoreAddress(ctx, "somewhere"); err != nil {
				t.Fatal(err)
			}
		}
		client, err := c.Client()
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = client.Close() }()
		gone := func() bool {
			_, err := client.Get(ctx, "k", clientv3.WithRev(2))
			return err != nil
		}
		for i := 0; i < 100 && !off && !gone(); i++ {
			time.Sleep(20 * time.Millisecond)
		}
		if gone() == off {
			t.Errorf("compaction off %v: the first revision is gone %v", off, gone())
		}
	}
}

func TestExternalAddresses(t *testing.T) {
	for _, c := range []struct{ address, want string }{
		{"etcd://h:1", ""}, {"etcd+tls://h:1,i:2,[::1]:3/p/q/?compaction=off", ""},
		{"h:1", "does not begin with etcd://"}, {"http://h:1", "does not begin"}, {"etcd://h", `"h" is not host:port`}, {"etcd://h:1,", `"" is not host:port`},
		{"etcd://h:0", "is not host:port"}, {"etcd://h:1?x=y", "the one option is compaction"}, {"etcd://h:1?compaction=maybe", "the one option"},
		{"etcd://u:secret@h:1", "holds a user or password"},
	} {
		x, err := parseExternal(c.address)
		if c.want == "" {
			if err != nil {
				t.Errorf("%s: %v", c.address, err)
			}
			continue
		}
		got := fail.Render(err, "")
		if !fail.Is(err, fail.InvalidParameter) || !strings.Contains(got, c.want) || !strings.Contains(got, "HINT") || strings.Contains(got, "secret") {
			t.Errorf("%s: %+v %s", c.address, x, got)
		}
	}
	x, err := parseExternal("etcd+tls://h:1,i:2/p/q/?compaction=off")
	if err != nil || !x.tls || !x.keep || x.prefix != "/p/q" || !slices.Equal(x.hosts, []string{"h:1", "i:2"}) {
		t.Errorf("%+v, %v", x, err)
	}
}

// TestExternalIsNotThere: an address where nobody answers, a context that ends.
func TestExternalIsNotThere(t *testing.T) {
	clk := clock.Real()
	_, err := OpenExternal(ctx, clk, clock.RandomIDs(clk), ExternalOptions{Address: "etcd://127.0.0.1:1"})
	if got := fail.Render(err, ""); !fail.Is(err, fail.Unavailable) || !strings.Contains(got, "127.0.0.1:1") || !strings.Contains(got, "HINT: Look whether etcd runs there") {
		t.Errorf("%s", got)
	}
	late, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	if _, err := OpenExternal(late, clk, clock.RandomIDs(clk), ExternalOptions{Address: "etcd://127.0.0.1:1"}); !fail.Is(err, fail.DeadlineExceeded) {
		t.Errorf("after the deadline: %v", err)
	}
	for _, o := range []ExternalOptions{
		{Address: "etcd://h:1", CA: []byte("x")}, {Address: "etcd+tls://h:1", CA: []byte("x")}, {Address: "etcd+tls://h:1", Cert: []byte("x")},
	} {
		if _, err := OpenExternal(ctx, clk, clock.RandomIDs(clk), o); !fail.Is(err, fail.InvalidParameter) {
			t.Errorf("%+v: %v", o, err)
		}
	}
}

// TestExternalUsers: etcd's own access control, with right and wrong passwords.
func TestExternalUsers(t *testing.T) {
	c := etcds(t, etcdtest.Options{Members: 1})
	client, err := c.Client()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Close() }()
	read := clientv3.PermissionType(clientv3.PermReadWrite)
	_, e1 := client.UserAdd(ctx, "root", "rootsecret")
	_, e2 := client.UserGrantRole(ctx, "root", "root")
	_, e3 := client.RoleAdd(ctx, "loam")
	_, e4 := client.RoleGrantPermission(ctx, "loam", "/mine/loam/", clientv3.GetPrefixRangeEnd("/mine/loam/"), read)
	_, e5 := client.UserAdd(ctx, "loam", "loamsecret")
	_, e6 := client.UserGrantRole(ctx, "loam", "loam")
	_, e7 := client.AuthEnable(ctx)
	if err := errors.Join(e1, e2, e3, e4, e5, e6, e7); err != nil {
		t.Fatal(err)
	}
	s := openExternal(t, ExternalOptions{Address: addressOf(c) + "/mine", User: "loam", Password: "loamsecret"})
	must(s.CreateNamespace(ctx, "public", nil))(t)
	clk := clock.Real()
	for name, o := range map[string]ExternalOptions{
		"a wrong password": {Address: addressOf(c) + "/mine", User: "loam", Password: "wrongsecret"},
		"no user":          {Address: addressOf(c) + "/mine"},
		"a foreign prefix": {Address: addressOf(c) + "/yours", User: "loam", Password: "loamsecret"},
	} {
		_, err := OpenExternal(ctx, clk, clock.RandomIDs(clk), o)
		if got := fail.Render(err, ""); !fail.Is(err, fail.PermissionDenied) || !strings.Contains(got, "--meta-user") || strings.Contains(got, "secret") {
			t.Errorf("%s: %s", name, got)
		}
	}
}
