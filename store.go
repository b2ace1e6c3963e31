package loam

import (
	"context"
	"errors"

	"github.com/loamdb/loam/internal/clock"
	"github.com/loamdb/loam/storage/object"
)

// StoreConfig says which object store keeps the objects. The zero value is the
// data directory.
type StoreConfig struct {
	// Address is s3://bucket or s3://bucket/prefix.
	Address string
	// Endpoint, Region and Addressing are those of [object.S3Options]. What is
	// empty comes from the AWS_* environment.
	Endpoint, Region, Addressing string
}

func (c StoreConfig) open(ctx context.Context, clk clock.Clock, ids clock.IDs) (*object.S3, error) {
	return object.OpenS3(ctx, c.Address, clk, ids, object.S3Options{Endpoint: c.Endpoint, Region: c.Region, Addressing: c.Addressing})
}

// StoreCheck is one promise of an object store, tried.
type StoreCheck = object.Check

// ProbeStore tries whether an object store keeps the promises that Loam builds on.
// It writes below the store's prefix and cleans up. The error is that of a store
// which cannot be opened or cleaned.
func ProbeStore(ctx context.Context, cfg StoreConfig) ([]StoreCheck, error) {
	clk := clock.Real()
	ids := clock.RandomIDs(clk)
	s, err := cfg.open(ctx, clk, ids)
	if err != nil {
		return nil, err
	}
	checks, err := object.Probe(ctx, s, ids)
	return checks, errors.Join(err, s.Close())
}
