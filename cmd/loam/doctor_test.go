package main

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/loamdb/loam/internal/fakes3"
	"github.com/loamdb/loam/internal/versitygw"
)

// awsEnv keeps the machine's own AWS settings out of a test.
func awsEnv(t *testing.T) {
	t.Helper()
	none := filepath.Join(t.TempDir(), "none")
	for name, value := range map[string]string{"AWS_ACCESS_KEY_ID": versitygw.AccessKey, "AWS_SECRET_ACCESS_KEY": versitygw.SecretKey, "AWS_SESSION_TOKEN": "",
		"AWS_REGION": "", "AWS_DEFAULT_REGION": "", "AWS_PROFILE": "", "AWS_ENDPOINT_URL": "", "AWS_ENDPOINT_URL_S3": "",
		"AWS_CONFIG_FILE": none, "AWS_SHARED_CREDENTIALS_FILE": none, "AWS_EC2_METADATA_DISABLED": "true"} {
		t.Setenv(name, value)
	}
}

func doctor(t *testing.T, args ...string) (int, string, string) {
	t.Helper()
	return captured(t, func() int { return runDoctor(context.Background(), append([]string{"store"}, args...)) })
}

func TestDoctorStore(t *testing.T) {
	awsEnv(t)
	server := fakes3.Start()
	defer server.Close()
	address := "s3://" + fakes3.Bucket + "/p"
	for name, c := range map[string]struct {
		lies fakes3.Lies
		code int
		want []string
	}{
		"honest": {fakes3.Lies{}, 0, []string{"ok    create once     a second create", "Loam can keep its data in s3://loam-test/p\ndoctor: 9 passed, 0 failed, 0 skipped\n"}},
		"ignores conditions": {fakes3.Lies{IgnoreConditions: true}, 1, []string{"FAIL  create once", "ignores If-None-Match", "HINT: Loam cannot trust",
			"FAIL  create race", "8 of 8 writers won", "do not keep data in s3://loam-test/p\ndoctor: 6 passed, 3 failed, 0 skipped\n"}},
		"racy":             {fakes3.Lies{RacyConditions: true}, 1, []string{"FAIL  create race", "not atomic", "doctor: 8 passed, 1 failed"}},
		"ignores checksum": {fakes3.Lies{IgnoreChecksums: true}, 1, []string{"FAIL  checksums", "was accepted", "doctor: 8 passed, 1 failed"}},
		"no ranges":        {fakes3.Lies{IgnoreRanges: true}, 1, []string{"FAIL  range reads", "does not read ranges", "doctor: 8 passed, 1 failed"}},
		"stale listing":    {fakes3.Lies{ForgetListing: true}, 1, []string{"FAIL  listing", "6 objects were written", "doctor: 8 passed, 1 failed"}},
	} {
		t.Run(name, func(t *testing.T) {
			server.Lie(c.lies)
			code, out, errs := doctor(t, address, "--endpoint", server.URL)
			if code != c.code || errs != "" {
				t.Errorf("exit code %d, %s", code, errs)
			}
			for _, w := range c.want {
				if !strings.Contains(out, w) {
					t.Errorf("%q is not in\n%s", w, out)
				}
			}
			if left := server.Keys(); len(left) != 0 {
				t.Errorf("left behind: %q", left)
			}
		})
	}
}

// Without the right to write, one check fails and the others have nothing to try.
func TestDoctorStops(t *testing.T) {
	awsEnv(t)
	server := fakes3.Start()
	defer server.Close()
	server.Add(fakes3.Fault{Method: "PUT", Status: 403, Code: "AccessDenied"})
	code, out, _ := doctor(t, "--endpoint", server.URL, "s3://"+fakes3.Bucket)
	if code != 1 || !strings.Contains(out, "access is denied") || !strings.Contains(out, "doctor: 0 passed, 1 failed, 8 skipped") {
		t.Errorf("exit code %d\n%s", code, out)
	}
}

func TestDoctorCalls(t *testing.T) {
	awsEnv(t)
	for _, c := range []struct {
		args string
		code int
		want string
	}{
		{"", 2, "Usage: loam doctor store s3://BUCKET/PREFIX"},
		{"store", 2, "Usage: loam doctor store"},
		{"shop s3://b", 2, "Usage: loam doctor store"},
		{"store s3://b s3://c", 2, `unexpected argument "s3://c"`},
		{"store s3://b --endpont x", 2, "Did you mean --endpoint?"},
		{"store /srv/data --endpoint http://127.0.0.1:1", 1, `"/srv/data" is no address of an S3 store`},
		{"store s3://b --endpoint 127.0.0.1:1", 1, "is no URL"},
		{"store s3://b --addressing x", 1, "Write path or virtual"},
		{"store s3://b", 1, "Set AWS_REGION"},
	} {
		code, out, errs := captured(t, func() int { return runDoctor(context.Background(), strings.Fields(c.args)) })
		if code != c.code || !strings.Contains(errs, c.want) || out != "" {
			t.Errorf("loam doctor %s: %d %q %q, want %d %q", c.args, code, out, errs, c.code, c.want)
		}
	}
}

// A real server passes; the same server with metadata beside the files is the control.
func TestStoreDoctorOnServer(t *testing.T) {
	if versitygw.Program() == "" {
		t.Skip("LOAM_VERSITYGW names no server; make store-conformance does")
	}
	awsEnv(t)
	for name, sidecar := range map[string]bool{"versitygw": false, "versitygw-sidecar": true} {
		t.Run(name, func(t *testing.T) {
			server, err := versitygw.Start(t.TempDir(), sidecar)
			if err != nil {
				t.Fatal(err)
			}
			defer server.Close()
			code, out, errs := doctor(t, "s3://"+versitygw.Bucket+"/p", "--endpoint", server.URL)
			if (code == 1) != sidecar || strings.Contains(out, "FAIL  replace") != sidecar {
				t.Errorf("exit code %d\n%s%s", code, out, errs)
			}
			t.Logf("%s", out)
		})
	}
}
