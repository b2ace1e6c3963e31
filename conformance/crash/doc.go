// Package crash holds the tests that end Loam the hard way: kill -9 under load
// (TestQuick, TestLong; with a link at work: TestQuickLinks, TestLongLinks; with
// producers of streams: TestQuickStreams, TestLongStreams), images of a disk that lost
// what was not synced (TestImagesQuick, TestImagesLong), the end at every named place
// between two steps (TestPoints, built with the tag loamfault), and one hour of small
// inserts against a server (TestSoak). The long ones run by flag.
//
// It has test files alone. They import the root package, the storage rooms and
// the metastore, and of the wire the Flight client.
package crash
