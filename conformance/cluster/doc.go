// Package cluster holds the test of several loam serve processes on one bucket and
// one etcd (make cluster): real processes, a real S3 server, three members of etcd.
// Nodes are killed, the etcd's leader is stopped hard, and nothing that was
// acknowledged is lost or there twice.
//
// It has test files alone. They import the Flight client and the servers of tests.
package cluster
