package ingest

import (
	"io"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func stringsReader(s string) io.Reader { return strings.NewReader(s) }
