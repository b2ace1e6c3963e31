package mem

// Step is the grain in which an Account asks its tracker, so that the shared
// counters are touched seldom.
const Step int64 = 64 << 10

// Account is the part of a tracker that one goroutine draws from. It is not
// safe for concurrent use. The zero value with its Tracker set is ready.
type Account struct {
	Tracker *Tracker
	used    int64
	granted int64
}

// Grow reserves n bytes more before they are allocated. Error: fail.Exhausted.
func (a *Account) Grow(n int64) error {
	if a.used+n > a.granted {
		ask := max(Step, a.used+n-a.granted)
		if err := a.Tracker.Reserve(ask); err != nil {
			return err
		}
		a.granted += ask
	}
	a.used += n
	return nil
}

// Set makes the account hold exactly n bytes, growing or shrinking it.
func (a *Account) Set(n int64) error {
	if n >= a.used {
		return a.Grow(n - a.used)
	}
	a.Shrink(a.used - n)
	return nil
}

// Shrink gives back n bytes of what Grow reserved.
func (a *Account) Shrink(n int64) {
	a.used -= min(n, a.used)
	if spare := a.granted - a.used; spare > 2*Step {
		a.Tracker.Release(spare - Step)
		a.granted -= spare - Step
	}
}

// Bytes is what the account holds.
func (a *Account) Bytes() int64 { return a.used }

// Close gives everything back.
func (a *Account) Close() {
	if a.Tracker != nil {
		a.Tracker.Release(a.granted)
	}
	a.used, a.granted = 0, 0
}
