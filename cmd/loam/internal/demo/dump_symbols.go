//go:build ignore

// This program prints the symbols of the local Go release as JSON lines,
// {"id": …, "text": …}, the input of embeddings_gen.py:
//
//	go run dump_symbols.go > symbols.jsonl
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/loamdb/loam/cmd/loam/internal/demo"
)

func main() {
	if err := dump(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func dump(ctx context.Context) error {
	root, err := demo.FindGoroot(ctx)
	if err != nil {
		return err
	}
	lib, err := demo.ReadLibrary(ctx, os.DirFS(root))
	if err != nil {
		return err
	}
	out := bufio.NewWriter(os.Stdout)
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	for _, s := range lib.Symbols {
		if err := enc.Encode(map[string]string{"id": s.ID, "text": s.EmbeddingText()}); err != nil {
			return err
		}
	}
	return out.Flush()
}
