package main

import (
	"context"
	"crypto/tls"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/loamdb/loam/cmd/loam/internal/config"
	"github.com/loamdb/loam/internal/fail"
)

// runHealth asks a running server how it is, for probes and for people: exit code 0
// when it is well, 1 when it is not, 2 for a wrong call. It takes the server's
// settings, so that inside a container it needs none of its own.
func runHealth(ctx context.Context, args []string) int {
	var cfg serveConfig
	fs := serveFlags(&cfg)
	config.ShowOnly(fs, "http", "tls-cert")
	ready := fs.Bool("ready", false, "ask whether it can serve, not only whether it lives")
	timeout := fs.Duration("timeout", 5*time.Second, "how long to wait for the answer")
	settings, err := config.Parse(healthFlags(fs), serveSources(args), serveSecrets...)
	if err != nil {
		return usageError(err)
	}
	if len(settings.Rest) > 0 {
		fmt.Fprintf(os.Stderr, "loam health: unexpected argument %q; the address goes behind --http\n", settings.Rest[0])
		return 2
	}
	if cfg.http == "" {
		fmt.Fprintln(os.Stderr, "loam health: the server has no HTTP address (--http), so that there is nobody to ask")
		return 2
	}
	ctx, cancel := context.WithTimeout(ctx, *timeout)
	defer cancel()
	path := "/healthz"
	if *ready {
		path = "/readyz"
	}
	scheme := "http"
	if cfg.access.cert != "" {
		scheme = "https"
	}
	answer, err := ask(ctx, scheme+"://"+dialable(cfg.http)+path)
	if err != nil {
		fmt.Fprintln(os.Stderr, fail.Render(err, ""))
		return 1
	}
	fmt.Println(answer)
	return 0
}

// healthFlags names the command in usage and errors.
func healthFlags(fs *flag.FlagSet) *flag.FlagSet {
	fs.Init("loam health", flag.ContinueOnError)
	return fs
}

// dialable is the address at which this machine reaches a listener: one that listens
// on all addresses is reached on loopback.
func dialable(addr string) string {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return addr
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port)
}

// maxHealthAnswer bounds what is read of an answer, in bytes.
const maxHealthAnswer = 64 << 10

func ask(ctx context.Context, url string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", fail.Wrap(fail.InvalidParameter, err, "loam health")
	}
	// The certificate is for the name that others use, and a probe tells nothing and
	// believes little: it is not checked.
	client := http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	resp, err := client.Do(req)
	if err != nil {
		return "", fail.New(fail.Unavailable, "no answer from %s: %v", url, err).
			WithHint("Is loam serve running there? --http names another address.")
	}
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(io.LimitReader(resp.Body, maxHealthAnswer))
	text := strings.TrimSpace(string(b))
	if err != nil {
		return "", fail.Wrap(fail.Unavailable, err, "%s", url)
	}
	if resp.StatusCode != http.StatusOK {
		return "", fail.New(fail.Unavailable, "%s answers %s: %s", url, resp.Status, text)
	}
	return text, nil
}
