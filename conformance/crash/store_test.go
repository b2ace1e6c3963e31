package crash

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/loamdb/loam"
	"github.com/loamdb/loam/internal/versitygw"
)

// TestStoreKill is kill -9 under load with the objects on a real S3 server and the
// metastore in the data directory.
func TestStoreKill(t *testing.T) {
	if versitygw.Program() == "" {
		t.Skip("LOAM_VERSITYGW names no server; make store-conformance does")
	}
	none := filepath.Join(t.TempDir(), "none")
	for name, value := range map[string]string{"AWS_ACCESS_KEY_ID": versitygw.AccessKey, "AWS_SECRET_ACCESS_KEY": versitygw.SecretKey, "AWS_PROFILE": "",
		"AWS_CONFIG_FILE": none, "AWS_SHARED_CREDENTIALS_FILE": none, "AWS_EC2_METADATA_DISABLED": "true"} {
		t.Setenv(name, value)
	}
	t.Run("versitygw", func(t *testing.T) {
		server, err := versitygw.Start(t.TempDir(), false)
		if err != nil {
			t.Fatal(err)
		}
		defer server.Close()
		c := killRounds(t, loam.StoreConfig{Address: "s3://" + versitygw.Bucket + "/crash", Endpoint: server.URL}, 10, 0)
		if c.lost+c.duplicated > 0 || c.acked == 0 {
			t.Errorf("%d acknowledged, %d lost, %d duplicated", c.acked, c.lost, c.duplicated)
		}
		fmt.Printf("kill -9 on S3: %d rounds, %d acknowledged rows, %d lost, %d duplicated, slowest recovery with checks %s\n", c.rounds, c.acked, c.lost, c.duplicated, c.recovery)
	})
}
