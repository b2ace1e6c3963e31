package meta

import (
	"github.com/apache/arrow-go/v18/arrow/array"
)

// typeRow describes one SQL type to ODBC: data type codes of the specification,
// the size in digits or characters, quotes of literals.
type typeRow struct {
	name             string
	code             int32
	size             int32 // 0 is unknown
	quote            string
	params           []string
	caseSensitive    bool
	unsigned         bool
	minScale, maxScl int32
	sqlType, subcode int32 // subcode 0 is none
	radix            int32 // 0 is none
}

// typeRows are sorted by code, then by how close they are to it.
var typeRows = []typeRow{
	{name: "BOOLEAN", code: -7, size: 1, unsigned: true, sqlType: -7},
	{name: "BIGINT", code: -5, size: 19, sqlType: -5, radix: 10},
	{name: "BINARY", code: -3, quote: "'", sqlType: -3, unsigned: true},
	{name: "DECIMAL", code: 3, size: 38, params: []string{"precision", "scale"}, maxScl: 38, sqlType: 3, radix: 10},
	{name: "INT", code: 4, size: 10, sqlType: 4, radix: 10},
	{name: "DOUBLE", code: 8, size: 15, sqlType: 8, radix: 10},
	{name: "TEXT", code: 12, quote: "'", caseSensitive: true, unsigned: true, sqlType: 12},
	{name: "JSON", code: 12, quote: "'", caseSensitive: true, unsigned: true, sqlType: 12},
	{name: "UUID", code: 12, size: 36, quote: "'", unsigned: true, sqlType: 12},
	{name: "DATE", code: 91, size: 10, quote: "'", unsigned: true, sqlType: 9, subcode: 1},
	{name: "TIME", code: 92, size: 15, quote: "'", unsigned: true, maxScl: 6, sqlType: 9, subcode: 2},
	{name: "TIMESTAMP", code: 93, size: 26, quote: "'", unsigned: true, maxScl: 6, sqlType: 9, subcode: 3},
}

// Values of the columns nullable and searchable: NULLs are allowed; the type can
// stand in any WHERE.
const (
	nullable       = 1
	searchableFull = 3
)

func typeInfo(b *array.RecordBuilder, filter *int32) {
	for i := range typeRows {
		if filter == nil || *filter == typeRows[i].code {
			typeRows[i].appendTo(b)
		}
	}
}

func (t *typeRow) appendTo(b *array.RecordBuilder) {
	num := func(column int, v int32) { b.Field(column).(*array.Int32Builder).Append(v) }
	numOrNull := func(column int, v int32) {
		if v == 0 {
			b.Field(column).AppendNull()
			return
		}
		num(column, v)
	}
	textOrNull := func(column int, v string) {
		if v == "" {
			b.Field(column).AppendNull()
			return
		}
		text(b, column, v)
	}
	yes := func(column int, v bool) { b.Field(column).(*array.BooleanBuilder).Append(v) }

	text(b, 0, t.name)
	num(1, t.code)
	numOrNull(2, t.size)
	textOrNull(3, t.quote)
	textOrNull(4, t.quote)
	t.appendParams(b.Field(5).(*array.ListBuilder))
	num(6, nullable)
	yes(7, t.caseSensitive)
	num(8, searchableFull)
	yes(9, t.unsigned)
	yes(10, false)
	yes(11, false)
	text(b, 12, t.name)
	num(13, t.minScale)
	num(14, t.maxScl)
	num(15, t.sqlType)
	numOrNull(16, t.subcode)
	numOrNull(17, t.radix)
	b.Field(18).AppendNull()
}

func (t *typeRow) appendParams(list *array.ListBuilder) {
	if len(t.params) == 0 {
		list.AppendNull()
		return
	}
	list.Append(true)
	list.ValueBuilder().(*array.StringBuilder).AppendValues(t.params, nil)
}
