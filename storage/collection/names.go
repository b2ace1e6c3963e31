package collection

import (
	"github.com/loamdb/loam/internal/schema"
	"github.com/loamdb/loam/storage/lance"
)

func prefix(obj *schema.Object) string { return Prefix(obj.ID) }

// datasetKey is the root of the collection's Lance dataset.
func datasetKey(obj *schema.Object) string { return prefix(obj) + "data.lance/" }

func dataKey(obj *schema.Object, file string) string { return datasetKey(obj) + lance.DataPath(file) }

func splitKey(obj *schema.Object, id string) string { return prefix(obj) + "splits/" + id + ".lsplit" }

func manifestKey(obj *schema.Object, id string) string {
	return prefix(obj) + "manifests/" + id + ".lman"
}

func groupKey(obj *schema.Object, id string) string { return prefix(obj) + "groups/" + id + ".lgrp" }

func deletionKey(obj *schema.Object, id string) string {
	return prefix(obj) + "deletions/" + id + ".bin"
}
