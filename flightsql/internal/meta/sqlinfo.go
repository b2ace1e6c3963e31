package meta

import (
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/loamdb/loam/internal/fail"
)

// bitmask is a value of the union's 32-bit arm, bigint of its 64-bit arm.
// Drivers read each number from the arm that belongs to it and from no other.
type (
	bitmask int32
	bigint  int64
)

// Sets of functions that tools offer in their menus; only names that SQL has are answered.
const (
	numericFunctions  = "abs acos asin atan atan2 ceil ceiling cos cot degrees exp floor ln log log10 mod pi pow power radians random round sign sin sqrt tan trunc"
	stringFunctions   = "ascii btrim char_length character_length chr concat concat_ws initcap left length lower lpad ltrim octet_length repeat replace reverse right rpad rtrim split_part starts_with strpos substr substring trim upper"
	systemFunctions   = "coalesce current_schema current_user ifnull nullif version"
	datetimeFunctions = "current_date current_timestamp date_part date_trunc day extract hour make_date minute month now second to_timestamp year"
)

// keywords are the words beyond SQL:2003's that a name needs quotes for, at least as
// an alias without AS: tools quote these, and no others.
const keywords = "ASOF,ILIKE,ISNULL,LIMIT,NOTNULL,OFFSET,QUALIFY,RETURNING,SEMI"

// info is every value that is answered, by id.
func (s *Source) info() map[uint32]any {
	out := map[uint32]any{
		0: "loam", 1: s.Version, 2: arrow.PkgVersion,
		3: false, 4: true, 5: false, 6: "", 7: "",
		8: bitmask(0), 9: true, 10: true, 11: false,
		100: bitmask(0), 101: bitmask(0),
		500: false, 501: true, 502: true,
		503: bigint(1), 504: `"`, 505: bigint(0), 506: true, 507: bigint(0), // NULL sorts above every value
		508: strings.Split(keywords, ","),
		509: s.known(numericFunctions), 510: s.known(stringFunctions),
		511: s.known(systemFunctions), 512: s.known(datetimeFunctions),
		513: string(Escape), 514: "", 515: true, 516: true, 517: conversions(),
		518: true, 519: false, 520: true, 521: true,
		522: bitmask(3), // GROUP BY of columns not selected, and beyond them
		523: true, 524: true,
		525: bitmask(3), // minimum and core grammar
		526: bitmask(1), // entry level
		527: false,
		528: bitmask(6), // limited and full outer joins
		529: "schema", 530: "procedure", 531: "catalog", 532: true,
		533: bitmask(7), 534: bitmask(7), // schemas and catalogs in calls, indexes, privileges: names may be qualified
		535: bitmask(0), 536: false, 537: false,
		538: bitmask(15), // subqueries in comparisons, EXISTS, IN, quantified
		539: true,
		540: bitmask(3), // UNION and UNION ALL
		556: true,
		562: bigint(0), 563: false, 564: bitmask(1), 565: false, 566: true,
		567: bitmask(2), 568: bitmask(0), 569: bitmask(2), 570: bitmask(0), 571: bitmask(0), // forward only, read only
		572: true, 573: false, 574: false, 575: false, 576: false,
	}
	for id := uint32(541); id <= 561; id++ {
		if id != 556 {
			out[id] = bigint(0) // no limit, or none known
		}
	}
	return out
}

func (s *Source) known(names string) []string {
	found := []string{}
	for _, name := range strings.Fields(names) {
		if len(s.Functions) == 0 || slices.Contains(s.Functions, name) {
			found = append(found, name)
		}
	}
	return found
}

// conversions says what CAST does between the specification's type numbers:
// numbers, text and booleans into each other, text and times into each other.
func conversions() map[int32][]int32 {
	const bigInt, binary, bit, date, decimal, float, integer, timestamp, varbinary, varchar = 0, 1, 2, 4, 5, 6, 7, 16, 18, 19
	numbers := []int32{bigInt, bit, decimal, float, integer, varchar}
	return map[int32][]int32{
		bigInt: numbers, bit: numbers, decimal: numbers, float: numbers, integer: numbers,
		date: {date, timestamp, varchar}, timestamp: {date, timestamp, varchar},
		binary: {binary, varbinary, varchar}, varbinary: {binary, varbinary, varchar},
		varchar: {bigInt, bit, date, decimal, float, integer, timestamp, varbinary, varchar},
	}
}

// sqlInfo answers the ids asked for, or all without any. Unknown ids are passed
// over: clients ask for what newer servers have.
func (s *Source) sqlInfo(b *array.RecordBuilder, asked []uint32) error {
	all := s.info()
	if len(asked) == 0 {
		for id := range all {
			asked = append(asked, id)
		}
	}
	asked = slices.Compact(slices.Sorted(slices.Values(asked)))
	values := b.Field(1).(*array.DenseUnionBuilder)
	for _, id := range asked {
		v, ok := all[id]
		if !ok {
			continue
		}
		b.Field(0).(*array.Uint32Builder).Append(id)
		if err := appendInfo(values, v); err != nil {
			return err
		}
	}
	return nil
}

// The arms of the union, by their type codes.
const (
	armText arrow.UnionTypeCode = iota
	armBool
	armBigint
	armBitmask
	armList
	armMap
)

func appendInfo(union *array.DenseUnionBuilder, value any) error {
	switch v := value.(type) {
	case string:
		union.Append(armText)
		union.Child(int(armText)).(*array.StringBuilder).Append(v)
	case bool:
		union.Append(armBool)
		union.Child(int(armBool)).(*array.BooleanBuilder).Append(v)
	case bigint:
		union.Append(armBigint)
		union.Child(int(armBigint)).(*array.Int64Builder).Append(int64(v))
	case bitmask:
		union.Append(armBitmask)
		union.Child(int(armBitmask)).(*array.Int32Builder).Append(int32(v))
	case []string:
		union.Append(armList)
		list := union.Child(int(armList)).(*array.ListBuilder)
		list.Append(true)
		list.ValueBuilder().(*array.StringBuilder).AppendValues(v, nil)
	case map[int32][]int32:
		union.Append(armMap)
		appendMap(union.Child(int(armMap)).(*array.MapBuilder), v)
	default:
		return fail.Bug("an info value of type %T", value)
	}
	return nil
}

func appendMap(b *array.MapBuilder, values map[int32][]int32) {
	keys := make([]int32, 0, len(values))
	for k := range values {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	b.Append(true)
	items := b.ItemBuilder().(*array.ListBuilder)
	for _, k := range keys {
		b.KeyBuilder().(*array.Int32Builder).Append(k)
		items.Append(true)
		items.ValueBuilder().(*array.Int32Builder).AppendValues(values[k], nil)
	}
}
