package ast

import "reflect"

// CopyWith is a copy of an expression with the calls that by has replaced. What
// the copy shares with e are its subqueries, names and literals. It reflects, and
// is for expressions that are written once and mean several.
func CopyWith(e Expr, by map[*FuncCall]*FuncCall) Expr {
	out, _ := copyOf(reflect.ValueOf(e), by).Interface().(Expr)
	return out
}

func copyOf(v reflect.Value, by map[*FuncCall]*FuncCall) reflect.Value {
	switch v.Kind() {
	case reflect.Interface, reflect.Pointer:
		if v.IsNil() {
			return v
		}
		return copyPointer(v, by)
	case reflect.Struct:
		out := reflect.New(v.Type()).Elem()
		out.Set(v)
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				out.Field(i).Set(copyOf(v.Field(i), by))
			}
		}
		return out
	case reflect.Slice:
		if v.IsNil() {
			return v
		}
		out := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		for i := range v.Len() {
			out.Index(i).Set(copyOf(v.Index(i), by))
		}
		return out
	}
	return v
}

func copyPointer(v reflect.Value, by map[*FuncCall]*FuncCall) reflect.Value {
	if v.Kind() == reflect.Interface {
		out := reflect.New(v.Type()).Elem()
		out.Set(copyOf(v.Elem(), by))
		return out
	}
	switch x := v.Interface().(type) {
	case *Query:
		return v
	case *FuncCall:
		if to := by[x]; to != nil {
			return reflect.ValueOf(to)
		}
	}
	out := reflect.New(v.Type().Elem())
	out.Elem().Set(copyOf(v.Elem(), by))
	return out
}
