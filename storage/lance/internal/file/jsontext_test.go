package file

import (
	"encoding/hex"
	"encoding/json"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/loamdb/loam/internal/fail"
)

// TestJSONText runs testdata/json: documents as hex, a line each, and their text. What
// is there was made by the Lance client, but for the damaged ones.
func TestJSONText(t *testing.T) {
	datadriven.RunTest(t, "testdata/json", func(t *testing.T, d *datadriven.TestData) string {
		var out strings.Builder
		for _, line := range strings.Split(d.Input, "\n") {
			doc, err := hex.DecodeString(strings.ReplaceAll(line, " ", ""))
			if err != nil {
				d.Fatalf(t, "%s: %v", line, err)
			}
			text, err := textOfJSON(nil, doc)
			if err != nil {
				out.WriteString("error: " + err.Error() + "\n")
				continue
			}
			if !json.Valid(text) {
				d.Fatalf(t, "%s: %s is no JSON", line, text)
			}
			out.Write(append(text, '\n'))
		}
		return out.String()
	})
}

// TestJSONDepth reads containers within containers up to the bound.
func TestJSONDepth(t *testing.T) {
	nested := func(depth int) []byte {
		doc := []byte{0x80, 0, 0, 0}
		for range depth {
			n := len(doc)
			doc = append([]byte{0x80, 0, 0, 1, 0x50, byte(n >> 16), byte(n >> 8), byte(n)}, doc...)
		}
		return doc
	}
	text, err := textOfJSON(nil, nested(maxDocumentDepth))
	if err != nil || string(text) != strings.Repeat("[", maxDocumentDepth+1)+strings.Repeat("]", maxDocumentDepth+1) {
		t.Errorf("%d bytes, %v", len(text), err)
	}
	if _, err := textOfJSON(nil, nested(maxDocumentDepth+1)); !fail.Is(err, fail.Unsupported) {
		t.Error(err)
	}
}

// FuzzJSONText: any bytes give JSON or an error, of bounded size.
func FuzzJSONText(f *testing.F) {
	for _, s := range []string{"20000000400000", "4000000110000001500000167a40000001100000012000000979607e37e43c8800759c", "80000002200000022000000250015002"} {
		doc, err := hex.DecodeString(s)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(doc)
	}
	f.Fuzz(func(t *testing.T, doc []byte) {
		text, err := textOfJSON(nil, doc)
		if err != nil {
			checkError(t, err, "document")
			return
		}
		if !json.Valid(text) || len(text) > 8*len(doc)+2 {
			t.Errorf("%x is %q", doc, text)
		}
	})
}
