package link

// Sift finds the rows for which try fails, by halving: try is told rows that it
// has to do at once, ascending, and says whether all of them can be done. With few
// bad rows among n it works on about 3 n rows in all, never on each by itself. An
// error for which blame is false, such as the end of the context, ends it.
func Sift(rows []int32, try func(rows []int32) error, blame func(error) bool) (bad map[int32]error, err error) {
	bad = map[int32]error{}
	var halve func(rows []int32) error
	halve = func(rows []int32) error {
		err := try(rows)
		switch {
		case err == nil:
			return nil
		case !blame(err):
			return err
		case len(rows) == 1:
			bad[rows[0]] = err
			return nil
		}
		if err := halve(rows[:len(rows)/2]); err != nil {
			return err
		}
		return halve(rows[len(rows)/2:])
	}
	if len(rows) > 0 {
		err = halve(rows)
	}
	return bad, err
}
