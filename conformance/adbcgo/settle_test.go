package adbcgo

import "github.com/loamdb/loam"

var (
	sessionConfig = loam.SessionConfig{}
	settle        = loam.ScanRequest{Target: loam.Target{Name: "docs"}, Tail: loam.TailWait}
)
