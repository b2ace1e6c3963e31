package object_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/loamdb/loam/storage/object"
)

// An object is made once, under a name that is never used again.
func Example() {
	ctx := context.Background()
	s := object.NewMem()
	info, _ := s.Put(ctx, "wal/20260102/first", []byte("hello, log"), object.PutOptions{})
	_, err := s.Put(ctx, "wal/20260102/first", []byte("again"), object.PutOptions{})
	part, _ := s.GetRange(ctx, info.Key, 7, 3)
	fmt.Println(info.Size, errors.Is(err, object.ErrExists), string(part))
	// Output: 10 true log
}
