package object

import (
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/loamdb/loam/internal/clock"
	"github.com/loamdb/loam/internal/versitygw"
	"go.uber.org/goleak"
)

// gateway is the S3 server of the conformance run, started by the first test that
// asks for it and ended by TestMain.
var gateway struct {
	once   sync.Once
	server *versitygw.Server
	dir    string
	err    error
	stores atomic.Int64
}

func startGateway() {
	if gateway.dir, gateway.err = os.MkdirTemp(os.Getenv("LOAM_VERSITYGW_DIR"), "loam-versitygw-"); gateway.err == nil {
		gateway.server, gateway.err = versitygw.Start(gateway.dir, false)
	}
}

// openGateway returns an empty store on the real server.
func openGateway(t *testing.T) Store {
	t.Helper()
	return openS3On(t, S3Options{}, fmt.Sprintf("store-%d", gateway.stores.Add(1)))
}

func openS3On(t *testing.T, opt S3Options, prefix string) *S3 {
	t.Helper()
	gateway.once.Do(startGateway)
	if gateway.err != nil {
		t.Fatal(gateway.err)
	}
	awsEnv(t)
	opt.Endpoint = gateway.server.URL
	s, err := OpenS3(ctx, "s3://"+versitygw.Bucket+"/"+prefix, clock.Real(), clock.RandomIDs(clock.Real()), opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		if gateway.server != nil {
			gateway.server.Close()
		}
		if gateway.dir != "" {
			_ = os.RemoveAll(gateway.dir)
		}
		os.Exit(code)
	}))
}

// TestGatewayFigures prints what a call costs on the real server, and holds that
// large objects come back as they were.
func TestGatewayFigures(t *testing.T) {
	if versitygw.Program() == "" {
		t.Skip("LOAM_VERSITYGW names no server; make store-conformance does")
	}
	t.Run("versitygw", func(t *testing.T) {
		s := openS3On(t, S3Options{}, "figures")
		const n = 200
		small := make([]byte, 4096)
		each := func(what string, call func(i int) error) {
			start := time.Now()
			for i := range n {
				if err := call(i); err != nil {
					t.Fatal(err)
				}
			}
			t.Logf("%s of 4 KiB: %v", what, (time.Since(start) / n).Round(time.Microsecond))
		}
		each("put", func(i int) error {
			_, err := s.Put(ctx, fmt.Sprintf("k/%d", i), small, PutOptions{})
			return err
		})
		each("get", func(i int) error { _, err := s.Get(ctx, fmt.Sprintf("k/%d", i)); return err })
		const big = 64 << 20
		body := make([]byte, big)
		for i := range body {
			body[i] = byte(i >> 8 * 7)
		}
		start := time.Now()
		w, err := s.Create(ctx, "big")
		if err == nil {
			if _, err = w.Write(body); err == nil {
				_, err = w.Commit()
			}
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("multipart put of 64 MiB: %.0f MiB/s", 64/time.Since(start).Seconds())
		start = time.Now()
		for off := int64(0); off < big; off += 8 << 20 {
			part, err := s.GetRange(ctx, "big", off, 8<<20)
			if err != nil || string(part) != string(body[off:off+8<<20]) {
				t.Fatalf("range at %d: %v", off, err)
			}
		}
		t.Logf("range reads of 8 MiB: %.0f MiB/s", 64/time.Since(start).Seconds())
		start = time.Now()
		if got, err := s.Get(ctx, "big"); err != nil || string(got) != string(body) {
			t.Fatalf("whole: %v", err)
		}
		t.Logf("checked read of 64 MiB: %.0f MiB/s", 64/time.Since(start).Seconds())
	})
}
