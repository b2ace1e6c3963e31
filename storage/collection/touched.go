package collection

import "context"

// touched reports whether one of the keys has another row in now than in base, has
// one that it had not, or has none any more. A row is its offset in the log, which
// it keeps when it is applied or merged. A delete leaves nothing behind once it is
// applied: only the rows themselves tell.
func touched(ctx context.Context, now, base *Snapshot, keys []string) (bool, error) {
	was, err := base.find(ctx, keys)
	if err != nil {
		return false, err
	}
	is, err := now.find(ctx, keys)
	if err != nil {
		return false, err
	}
	var before, after []scored // rows that are elsewhere now
	for i := range keys {
		switch a, b := was[i], is[i]; {
		case (a.view == nil) != (b.view == nil):
			return true, nil
		case a.view != nil && (a.view.part != b.view.part || a.row != b.row):
			before, after = append(before, a), append(after, b)
		}
	}
	if len(before) == 0 {
		return false, nil
	}
	old, err := (&Search{snap: base}).gather(ctx, offsetRef, before)
	if err != nil {
		return false, err
	}
	fresh, err := (&Search{snap: now}).gather(ctx, offsetRef, after)
	if err != nil {
		return false, err
	}
	for i := range before {
		if old.Int64s[i] != fresh.Int64s[i] {
			return true, nil
		}
	}
	return false, nil
}
