package planner

// WithDependent returns a planner that leaves dependent joins in its plans, for
// the reference interpreter, which runs the right side for every row of the left.
func (p *Planner) WithDependent() *Planner {
	k := *p
	k.dependent = true
	return &k
}
