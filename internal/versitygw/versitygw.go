// Package versitygw runs versitygw, an S3 server over a directory, for tests.
//
// In: the program that LOAM_VERSITYGW names (make store-conformance builds it).
// Out: a server on loopback with the bucket [Bucket]. It is never linked into the
// product: what runs is a process of its own. It imports nothing of Loam.
package versitygw

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// Bucket is the one bucket that a server has.
const Bucket = "loam-test"

// The root account of a server.
const (
	AccessKey = "loam"
	SecretKey = "loamsecret"
)

// Server is a running server.
type Server struct {
	URL string
	cmd *exec.Cmd
	log *os.File
}

// Program is the versitygw to run; empty when the tests are to do without.
func Program() string { return os.Getenv("LOAM_VERSITYGW") }

// Start starts a server that keeps its files under dir, which must be on a file
// system with extended attributes. With sidecar, metadata goes into files of
// their own, which is not safe: a control that tests must find wanting. The
// caller closes the server.
func Start(dir string, sidecar bool) (*Server, error) {
	args := []string{"--quiet", "--keep-alive", "--access", AccessKey, "--secret", SecretKey}
	data, side := filepath.Join(dir, "data"), filepath.Join(dir, "sidecar")
	if err := errors.Join(os.MkdirAll(filepath.Join(data, Bucket), 0o755), os.MkdirAll(side, 0o755)); err != nil {
		return nil, err
	}
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	address := lis.Addr().String()
	_ = lis.Close()
	args = append(args, "--port", address, "posix")
	if sidecar {
		args = append(args, "--sidecar", side)
	}
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		return nil, err
	}
	s := &Server{URL: "http://" + address, log: log, cmd: exec.Command(Program(), append(args, data)...)}
	s.cmd.Stdout, s.cmd.Stderr = log, log
	if err := s.cmd.Start(); err != nil {
		return nil, errors.Join(err, log.Close())
	}
	return s, s.wait()
}

// wait waits until the server answers.
func (s *Server) wait() error {
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if reply, err := http.Get(s.URL); err == nil {
			_ = reply.Body.Close()
			return nil
		}
	}
	s.Close()
	text, _ := os.ReadFile(s.log.Name())
	return fmt.Errorf("versitygw does not answer:\n%s", text)
}

// Close kills the server.
func (s *Server) Close() {
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
	_ = s.log.Close()
	http.DefaultClient.CloseIdleConnections()
}
