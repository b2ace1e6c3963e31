package metastore

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/loamdb/loam/internal/fail"
)

// The version of the layout below. An unknown major is refused at open.
const (
	formatMajor = 0
	formatMinor = 0
)

// The keys. docs/formats/metastore.md describes the values.
const (
	keyFormat     = "/loam/format"
	keyClock      = "/loam/clock"
	keyID         = "/loam/id"
	keyCatalog    = "/loam/catalog"
	keyWALFloor   = "/loam/walfloor"
	keyStore      = "/loam/store"
	prefixNode    = "/loam/node/"
	prefixSecret  = "/loam/secret/"
	prefixNS      = "/loam/ns/"
	prefixName    = "/loam/name/"
	prefixObject  = "/loam/object/"
	prefixData    = "/loam/data/"
	prefixLease   = "/loam/lease/"
	prefixMaker   = "/loam/producer/"
	partitionPart = "/p/"
	linkPart      = "/l/"
	tagsPart      = "tags"
)

// fold makes the form of a name by which it is unique, without slashes.
func fold(name string) string { return url.PathEscape(strings.ToLower(name)) }

func nsKey(name string) string       { return prefixNS + fold(name) }
func nameKey(ns, name string) string { return prefixName + fold(ns) + "/" + fold(name) }
func objectKey(id uint64) string     { return fmt.Sprintf("%s%016x", prefixObject, id) }
func dataPrefix(id uint64) string    { return fmt.Sprintf("%s%016x/", prefixData, id) }
func headKey(id uint64) string       { return dataPrefix(id) + "head" }
func partKey(id uint64, p int) string {
	return fmt.Sprintf("%s%016x%s%04x", prefixData, id, partitionPart, p)
}

// producerCountKey holds how many producers an object has; their rows follow it.
func producerCountKey(id uint64) string { return fmt.Sprintf("%s%016x", prefixMaker, id) }
func producerPrefix(id uint64) string   { return producerCountKey(id) + "/" }
func producerKey(id uint64, producer string) string {
	return producerPrefix(id) + url.PathEscape(producer)
}

// parseProducerKey is the producer of a producerKey of the object.
func parseProducerKey(id uint64, key string) (producer string, ok bool) {
	tail, ok := strings.CutPrefix(key, producerPrefix(id))
	producer, err := url.PathUnescape(tail)
	return producer, ok && err == nil
}
func secretKey(name string) string   { return prefixSecret + url.PathEscape(name) }
func leaseRowKey(name string) string { return prefixLease + url.PathEscape(name) }
func isHeadKey(key string) bool      { return strings.HasSuffix(key, "/head") }
func tagsKey(id uint64) string       { return dataPrefix(id) + tagsPart }
func isTagsKey(key string) bool      { return strings.HasSuffix(key, "/"+tagsPart) }

// stateSpan is what a snapshot reads of an object: its rows without the tags,
// which come last and which few statements ask for.
func stateSpan(id uint64) span {
	return span{from: dataPrefix(id), to: tagsKey(id)}
}

// parseDataKey is the id of the object that a row under prefixData belongs to.
func parseDataKey(key string) (id uint64, ok bool) {
	head, _, found := strings.Cut(strings.TrimPrefix(key, prefixData), "/")
	id, err := strconv.ParseUint(head, 16, 64)
	return id, found && err == nil && strings.HasPrefix(key, prefixData)
}

func progressKey(target, link uint64) string {
	return fmt.Sprintf("%s%016x%s%016x", prefixData, target, linkPart, link)
}

// parseProgressKey is the link of a progressKey.
func parseProgressKey(key string) (link uint64, ok bool) {
	_, tail, found := strings.Cut(strings.TrimPrefix(key, prefixData), linkPart)
	link, err := strconv.ParseUint(tail, 16, 64)
	return link, found && err == nil
}

// parsePartKey is the inverse of partKey.
func parsePartKey(key string) (id uint64, p int, ok bool) {
	head, tail, found := strings.Cut(strings.TrimPrefix(key, prefixData), partitionPart)
	id, err := strconv.ParseUint(head, 16, 64)
	p64, perr := strconv.ParseUint(tail, 16, 16)
	return id, int(p64), found && err == nil && perr == nil
}

func checkName(what, name string) error {
	switch {
	case name == "":
		return fail.New(fail.InvalidParameter, "the name of a %s is empty", what)
	case len(name) > MaxNameLen:
		return fail.New(fail.TooLarge, "the name of the %s is %d bytes long, the limit is %d", what, len(name), MaxNameLen)
	case strings.ContainsRune(name, 0):
		return fail.New(fail.InvalidParameter, "the name of the %s holds a zero byte", what)
	}
	return nil
}
