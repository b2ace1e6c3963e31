package ast

import "reflect"

var spanType = reflect.TypeFor[Span]()

// Equal reports whether two trees are the same but for their places in the
// text. Names compare as written (text and quotes); nil equals only nil. It is
// for tests, views and the grouping check of small expressions: it reflects.
func Equal(a, b Node) bool {
	return equalValues(reflect.ValueOf(a), reflect.ValueOf(b))
}

func equalValues(a, b reflect.Value) bool {
	if !a.IsValid() || !b.IsValid() {
		return a.IsValid() == b.IsValid()
	}
	if a.Type() != b.Type() {
		return false
	}
	switch a.Kind() {
	case reflect.Interface, reflect.Pointer:
		if a.IsNil() || b.IsNil() {
			return a.IsNil() == b.IsNil()
		}
		return equalValues(a.Elem(), b.Elem())
	case reflect.Struct:
		return equalStructs(a, b)
	case reflect.Slice:
		if a.Len() != b.Len() {
			return false
		}
		for i := range a.Len() {
			if !equalValues(a.Index(i), b.Index(i)) {
				return false
			}
		}
		return true
	default:
		return a.Equal(b)
	}
}

func equalStructs(a, b reflect.Value) bool {
	t := a.Type()
	for i := range t.NumField() {
		if isPlace(t.Field(i)) {
			continue
		}
		if !equalValues(a.Field(i), b.Field(i)) {
			return false
		}
	}
	return true
}

// isPlace reports whether a field only says where the node stands in the text.
func isPlace(f reflect.StructField) bool {
	return f.Type == spanType || f.Tag.Get("ast") == "pos"
}
