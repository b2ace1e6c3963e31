package loam

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/plan"
	"github.com/loamdb/loam/internal/snapshot"
	"github.com/loamdb/loam/storage/collection"
)

// Options that say what the queries of a session see. Statements that write always
// read everything that was acknowledged.
const (
	optConsistency      = "loam.consistency"
	optConsistencyToken = "loam.consistency_token"
	optConsistencyWait  = "loam.consistency_wait"
	optPinManifest      = "loam.pin_manifest"
)

// The levels of optConsistency.
const (
	readStrong   = "strong"
	readToken    = "token"
	readEventual = "eventual"
	readPinned   = "pinned"
)

var consistencySettings = []setting{
	{optConsistency, readStrong, "what queries see: strong, every acknowledged write; token, at least that of loam.consistency_token; eventual, what this node has; pinned, exactly a manifest and a token", oneOf(readStrong, readToken, readEventual, readPinned)},
	{optConsistencyToken, "", "tokens of writes, separated by commas, for loam.consistency", checkTokens},
	{optConsistencyWait, "10s", "how long a query waits for a token", checkWait},
	{optPinManifest, "", "the manifest version that loam.consistency = pinned reads", checkManifest},
}

func checkTokens(_ context.Context, _ *Engine, v string) error {
	_, err := parseTokens(v)
	return err
}

func checkWait(_ context.Context, _ *Engine, v string) error {
	d, err := time.ParseDuration(v)
	if err != nil || d < 0 || d > 10*time.Minute {
		return fail.New(fail.InvalidParameter, "%q is not a duration from 0s to 10m, such as '10s'", v)
	}
	return nil
}

func checkManifest(_ context.Context, _ *Engine, v string) error {
	if _, err := strconv.ParseUint(v, 10, 63); err != nil && v != "" {
		return fail.New(fail.InvalidParameter, "%q is not a manifest version", v)
	}
	return nil
}

// parseTokens reads tokens that are separated by commas; those of one object are
// merged.
func parseTokens(text string) ([]snapshot.Token, error) {
	var out []snapshot.Token
next:
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		t, err := snapshot.ParseToken(part)
		if err != nil {
			return nil, err
		}
		for i := range out {
			if out[i].ObjectID == t.ObjectID && out[i].Incarnation == t.Incarnation && len(out[i].Offsets) == len(t.Offsets) {
				out[i] = out[i].Merge(t)
				continue next
			}
		}
		out = append(out, t)
	}
	return out, nil
}

// reading is what the session's options say of a query.
type reading struct {
	level  string
	tokens []snapshot.Token
	wait   time.Duration
	pin    string
}

func (s *Session) reading() (reading, error) {
	option := func(name string) string { v, _ := s.Option(name); return v }
	r := reading{level: strings.ToLower(option(optConsistency)), pin: option(optPinManifest)}
	var err error
	if r.tokens, err = parseTokens(option(optConsistencyToken)); err != nil {
		return r, err
	}
	if r.wait, err = time.ParseDuration(option(optConsistencyWait)); err != nil {
		return r, fail.Wrap(fail.InvalidParameter, err, "%s", optConsistencyWait)
	}
	switch {
	case r.level == readToken && len(r.tokens) == 0:
		return r, fail.New(fail.InvalidParameter, "%s is token, and %s holds none", optConsistency, optConsistencyToken).
			WithHint("Set it to the token that a write answered.")
	case r.level == readPinned && (len(r.tokens) == 0 || r.pin == ""):
		return r, fail.New(fail.InvalidParameter, "%s is pinned, and needs %s and %s", optConsistency, optPinManifest, optConsistencyToken).
			WithHint("A scan plan names both as its pin.")
	}
	return r, nil
}

// pinQuery takes the snapshots of a query, as the session's options say.
func (s *Session) pinQuery(ctx context.Context, root plan.Node) (Pin, snapshots, error) {
	if len(leavesOf(root)) == 0 {
		return s.pin(ctx, root)
	}
	r, err := s.reading()
	if err != nil {
		return Pin{}, nil, err
	}
	switch r.level {
	case readToken:
		if err := s.waitTokens(ctx, r, root); err != nil {
			return Pin{}, nil, err
		}
	case readEventual:
		return s.pinEventual(ctx, root)
	case readPinned:
		return s.pinPinned(ctx, r, root)
	}
	return s.pin(ctx, root)
}

// waitTokens waits for what the tokens cover of what the query reads now. A token of
// an object that is gone is refused, also when another one has its name now.
func (s *Session) waitTokens(ctx context.Context, r reading, root plan.Node) error {
	read := map[uint64]bool{}
	for _, l := range leavesOf(root) {
		if l.at == nil {
			read[l.id] = true
		}
	}
	for _, t := range r.tokens {
		c, err := s.engine.byID(ctx, t.ObjectID)
		if fail.Is(err, fail.UndefinedTable) {
			return fail.New(fail.InvalidParameter, "the consistency token belongs to an object that was dropped").
				WithHint("Use the token of a write to what is there now.")
		}
		if err != nil {
			return err
		}
		if read[t.ObjectID] {
			err = c.WaitToken(ctx, t, r.wait)
		} else {
			err = c.Owns(t)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// pinEventual takes what this node has of each object, without asking the metastore.
// A state of the past is found as ever.
func (s *Session) pinEventual(ctx context.Context, root plan.Node) (Pin, snapshots, error) {
	e := s.engine
	leaves := leavesOf(root)
	for _, l := range leaves {
		if l.at != nil {
			return s.pin(ctx, root)
		}
	}
	p, snaps := Pin{NowMicros: e.cfg.Clock.Now().UnixMicro()}, snapshots{}
	for _, l := range leaves {
		e.mu.Lock()
		c := e.open[l.id]
		e.mu.Unlock()
		if c == nil { // nobody has read it here yet
			var err error
			if c, err = e.byID(ctx, l.id); err != nil {
				return Pin{}, nil, err
			}
		}
		snap, err := c.Latest(ctx)
		if err != nil {
			return Pin{}, nil, err
		}
		snaps[l.key()] = snap
		p.Objects = append(p.Objects, objectPin(snap))
	}
	return p, snaps, nil
}

// pinPinned takes the one object that a query reads at a manifest and a token.
func (s *Session) pinPinned(ctx context.Context, r reading, root plan.Node) (Pin, snapshots, error) {
	leaves := leavesOf(root)
	if len(leaves) != 1 || len(r.tokens) != 1 || leaves[0].at != nil || leaves[0].id != r.tokens[0].ObjectID {
		return Pin{}, nil, fail.New(fail.InvalidParameter, "the pin is of another object than the statement reads, or the statement reads several").
			WithHint("Pin a query over the one object that the token is of, or write AT for each.")
	}
	now, err := s.engine.meta.Now(ctx)
	if err != nil {
		return Pin{}, nil, err
	}
	c, err := s.engine.byID(ctx, leaves[0].id)
	if err == nil {
		err = c.Owns(r.tokens[0])
	}
	if err != nil {
		return Pin{}, nil, err
	}
	version, err := strconv.ParseUint(r.pin, 10, 63)
	if err != nil {
		return Pin{}, nil, fail.Wrap(fail.InvalidParameter, err, "%s", optPinManifest)
	}
	snap, err := c.Pinned(ctx, version, r.tokens[0].Offsets)
	if err != nil {
		return Pin{}, nil, err
	}
	return Pin{NowMicros: now * 1000, Objects: []ObjectPin{objectPin(snap)}}, snapshots{leaves[0].key(): snap}, nil
}

// sawAt is the token of what a query saw, where it reads one object.
func sawAt(snaps snapshots) *snapshot.Token {
	if len(snaps) != 1 {
		return nil
	}
	var only *collection.Snapshot
	for _, snap := range snaps {
		only = snap
	}
	t := only.Token()
	return &t
}
