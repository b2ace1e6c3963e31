package loam

import (
	"context"
	"errors"

	"github.com/loamdb/loam/internal/clock"
	"github.com/loamdb/loam/metastore"
	"github.com/loamdb/loam/storage/object"
)

// StoreConfig says where an object store is.
type StoreConfig struct {
	// Address is s3://bucket or s3://bucket/prefix.
	Address string
	// Endpoint, Region and Addressing are those of [object.S3Options]. What is
	// empty comes from the AWS_* environment.
	Endpoint, Region, Addressing string
}

// MetaConfig says where the metastore is when it is an etcd outside, which other
// nodes use too. The members are those of [metastore.ExternalOptions].
type MetaConfig struct {
	// Address is etcd://host:port,host:port or with a /prefix; etcd+tls:// for TLS.
	// Empty: the metastore is in the data directory.
	Address        string
	User, Password string
	CA, Cert, Key  []byte // PEM
}

func (m MetaConfig) options() metastore.ExternalOptions {
	return metastore.ExternalOptions{Address: m.Address, User: m.User, Password: m.Password, CA: m.CA, Cert: m.Cert, Key: m.Key}
}

func (c StoreConfig) options() object.S3Options {
	return object.S3Options{Endpoint: c.Endpoint, Region: c.Region, Addressing: c.Addressing}
}

// StoreCheck is one promise of an object store, tried.
type StoreCheck = object.Check

// ProbeStore tries whether an object store keeps the promises that Loam builds on.
// It writes below the store's prefix and cleans up. The error is that of a store
// which cannot be opened or cleaned.
func ProbeStore(ctx context.Context, cfg StoreConfig) ([]StoreCheck, error) {
	clk := clock.Real()
	ids := clock.RandomIDs(clk)
	s, err := object.OpenS3(ctx, cfg.Address, clk, ids, cfg.options())
	if err != nil {
		return nil, err
	}
	checks, err := object.Probe(ctx, s, ids)
	return checks, errors.Join(err, s.Close())
}
