package config

import "strings"

// List is a flag that may be given several times.
type List []string

// String joins the values by newlines.
func (l *List) String() string {
	if l == nil {
		return ""
	}
	return strings.Join(*l, "\n")
}

// Set adds a value.
func (l *List) Set(v string) error {
	*l = append(*l, v)
	return nil
}
