package ingest

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/loamdb/loam/internal/fail"
)

// check verifies that the buffers of an array, and of those inside it, are as
// long as its length says, and that offsets lie inside of their values. The IPC
// reader does neither for every type.
func check(arr arrow.Array) error {
	if err := checkBits(arr); err != nil {
		return err
	}
	if v, ok := arr.(interface{ ValidateFull() error }); ok {
		if err := v.ValidateFull(); err != nil {
			return err
		}
	}
	switch a := arr.(type) {
	case array.ExtensionArray:
		return check(a.Storage())
	case *array.Dictionary:
		if err := check(a.Indices()); err != nil {
			return err
		}
		return check(a.Dictionary())
	case *array.Struct:
		for i := range a.NumField() {
			if a.Field(i).Len() < a.Len() {
				return fmt.Errorf("field %d has %d of %s", i, a.Field(i).Len(), fail.Count(a.Len(), "row"))
			}
			if err := check(a.Field(i)); err != nil {
				return err
			}
		}
	case array.ListLike:
		return check(a.ListValues())
	}
	return nil
}

// checkBits verifies the lengths of bitmaps: validity, and boolean values.
func checkBits(arr arrow.Array) error {
	data := arr.Data()
	need := (data.Offset() + data.Len() + 7) / 8
	buffers := data.Buffers()
	if len(buffers) > 0 && buffers[0] != nil && arr.NullN() > 0 && buffers[0].Len() < need {
		return fmt.Errorf("a validity bitmap of %s for %s", fail.Count(buffers[0].Len(), "byte"), fail.Count(data.Len(), "row"))
	}
	if arr.DataType().ID() == arrow.BOOL && data.Len() > 0 && (len(buffers) < 2 || buffers[1] == nil || buffers[1].Len() < need) {
		return fmt.Errorf("boolean values are shorter than %s", fail.Count(data.Len(), "row"))
	}
	return nil
}
