package gc

import (
	"context"
	"math/rand"
)

// scheduler runs actors one at a time: each goes on until it awaits something of
// a store, and then the seed says who is next. So every interleaving of awaits
// can happen, and a seed repeats its own.
type scheduler struct {
	r      *rand.Rand
	actors []*actor
	steps  int
}

// actor is a goroutine that runs when it has the turn.
type actor struct {
	name   string
	turn   chan struct{}
	back   chan bool // false: it has ended
	ended  bool
	weight int
}

type actorKey struct{}

// spawn adds an actor; it runs when its turn comes.
func (s *scheduler) spawn(ctx context.Context, name string, f func(ctx context.Context)) {
	a := &actor{name: name, turn: make(chan struct{}), back: make(chan bool), weight: 1}
	s.actors = append(s.actors, a)
	go func() {
		<-a.turn
		f(context.WithValue(ctx, actorKey{}, a))
		a.back <- false
	}()
}

// await gives the turn back and waits for the next. Code that no actor runs goes on.
func await(ctx context.Context) {
	if a, ok := ctx.Value(actorKey{}).(*actor); ok {
		a.back <- true
		<-a.turn
	}
}

// spell is how many turns the weights of the actors last: some stand still for
// whole passes of the others.
const spell = 60

// run gives turns until all actors have ended.
func (s *scheduler) run() {
	for {
		if s.steps%spell == 0 {
			for _, a := range s.actors {
				a.weight = []int{0, 0, 1, 1, 3, 9}[s.r.Intn(6)]
			}
		}
		s.steps++
		a := s.pick()
		if a == nil {
			return
		}
		a.turn <- struct{}{}
		a.ended = !<-a.back
	}
}

// pick chooses by weight; nil when all have ended.
func (s *scheduler) pick() *actor {
	total, live := 0, 0
	for _, a := range s.actors {
		if !a.ended {
			total, live = total+a.weight, live+1
		}
	}
	if live == 0 {
		return nil
	}
	even := total == 0 // all who live stand still: any of them
	if even {
		total = live
	}
	n := s.r.Intn(total)
	for _, a := range s.actors {
		if a.ended {
			continue
		}
		w := a.weight
		if even {
			w = 1
		}
		if n -= w; n < 0 {
			return a
		}
	}
	return nil
}
