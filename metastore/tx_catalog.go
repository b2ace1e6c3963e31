package metastore

import (
	"bytes"
	"context"

	"github.com/loamdb/loam/internal/fail"
)

// counter reads a loaded counter row and makes the write depend on it.
func counter(t *tx, key string) (uint64, error) {
	r, ok := t.get(key)
	if !ok {
		return 0, nil
	}
	return decodeUint(r)
}

// countUp raises a loaded counter and returns its new value.
func countUp(t *tx, key string) (uint64, error) {
	v, err := counter(t, key)
	if err != nil {
		return 0, err
	}
	t.put(key, encodeUint(v+1))
	return v + 1, nil
}

func (s *db) CatalogRevision(ctx context.Context) (uint64, error) {
	r, ok, err := s.one(ctx, keyCatalog)
	if err != nil || !ok {
		return 0, err
	}
	return decodeUint(r)
}

func (s *db) CreateNamespace(ctx context.Context, name string, definition []byte) (created bool, err error) {
	if err := checkName("namespace", name); err != nil {
		return false, err
	}
	if err := checkDefinition(name, definition); err != nil {
		return false, err
	}
	id := s.ids.ULID()
	err = s.update(ctx, "create_namespace", func(t *tx) error {
		created = false
		if err := t.load(nsKey(name), keyCatalog, keyClock); err != nil {
			return err
		}
		if r, ok := t.get(nsKey(name)); ok {
			ns, err := decodeNamespace(r)
			created = ns.ID == id // our own earlier try
			return err
		}
		now, err := s.stamp(t)
		if err != nil {
			return err
		}
		t.put(nsKey(name), encodeNamespace(Namespace{ID: id, Name: name, CreatedMS: now / 1000, Definition: definition}))
		created = true
		_, err = countUp(t, keyCatalog)
		return err
	})
	return created, err
}

func (s *db) UpdateNamespace(ctx context.Context, name string, expect, definition []byte) error {
	if err := checkDefinition(name, definition); err != nil {
		return err
	}
	return s.update(ctx, "update_namespace", func(t *tx) error {
		if err := t.load(nsKey(name), keyCatalog); err != nil {
			return err
		}
		ns, err := getNamespace(t, name)
		if err != nil {
			return err
		}
		switch {
		case bytes.Equal(ns.Definition, definition):
			return nil // also our own earlier try
		case !bytes.Equal(ns.Definition, expect):
			return fail.New(fail.Conflict, "the options of namespace %q changed meanwhile", ns.Name).WithHint("Read them again and repeat the change.")
		}
		ns.Definition = definition
		t.put(nsKey(name), encodeNamespace(ns))
		_, err = countUp(t, keyCatalog)
		return err
	})
}

func (s *db) DropNamespace(ctx context.Context, name string) error {
	return s.update(ctx, "drop_namespace", func(t *tx) error {
		if err := t.load(nsKey(name), keyCatalog); err != nil {
			return err
		}
		ns, err := getNamespace(t, name)
		if err != nil {
			if t.maybe && fail.Is(err, fail.UndefinedNamespace) {
				return nil // our own earlier try
			}
			return err
		}
		if ns.Objects > 0 {
			return errNotEmpty(ns)
		}
		t.del(nsKey(name))
		_, err = countUp(t, keyCatalog)
		return err
	})
}

// getNamespace decodes a loaded namespace row.
func getNamespace(t *tx, name string) (Namespace, error) {
	r, ok := t.get(nsKey(name))
	if !ok {
		return Namespace{}, errNoNamespace(name)
	}
	return decodeNamespace(r)
}

func errNotEmpty(ns Namespace) error {
	return fail.New(fail.Dependents, "namespace %q is not empty: it holds %s", ns.Name, fail.Count(ns.Objects, "object")).
		WithHint("Drop its objects first.")
}

func errNoNamespace(name string) error {
	return fail.New(fail.UndefinedNamespace, "namespace %q does not exist", name)
}

func errNoObject(id uint64) error {
	return fail.New(fail.UndefinedTable, "object %d does not exist", id).
		WithHint("It was dropped; look its name up again.")
}

func (s *db) ListNamespaces(ctx context.Context) ([]Namespace, error) {
	var out []Namespace
	err := s.pages(ctx, prefixNS, func(r row) error {
		ns, err := decodeNamespace(r)
		out = append(out, ns)
		return err
	}, func() { out = nil })
	return out, err
}

// pages walks all rows of a prefix as of one catalog revision; restart is called
// when the catalog changed underway and the walk begins again.
func (s *db) pages(ctx context.Context, prefix string, fn func(row) error, restart func()) error {
	const page = 500
	from, seen := prefix, int64(-1)
	for {
		rows, _, err := s.read(ctx, keySpan(keyCatalog), span{from: from, to: prefixEnd(prefix), limit: page})
		if err != nil {
			return err
		}
		rev := int64(0)
		if len(rows[0]) > 0 {
			rev = rows[0][0].mod
		}
		if seen >= 0 && rev != seen {
			from, seen = prefix, -1
			restart()
			continue
		}
		seen = rev
		for _, r := range rows[1] {
			if err := fn(r); err != nil {
				return err
			}
			from = r.key + "\x00"
		}
		if len(rows[1]) < page {
			return nil
		}
	}
}

func checkObject(o Object) error {
	if err := checkName("object", o.Name); err != nil {
		return err
	}
	if o.Partitions < 0 || o.Partitions > MaxPartitions {
		return fail.New(fail.InvalidParameter, "%q asks for %d partitions, the limit is %d", o.Name, o.Partitions, MaxPartitions)
	}
	return checkDefinition(o.Name, o.Definition)
}

func checkDefinition(name string, def []byte) error {
	if len(def) > MaxValueBytes {
		return fail.New(fail.TooLarge, "the definition of %q takes %d bytes, the limit is %d", name, len(def), MaxValueBytes)
	}
	return nil
}

func (s *db) CreateObject(ctx context.Context, o Object) (Object, error) {
	if err := checkObject(o); err != nil {
		return Object{}, err
	}
	o.Incarnation, o.SchemaVersion = s.ids.ULID(), 1
	nsk, nk := nsKey(o.Namespace), nameKey(o.Namespace, o.Name)
	err := s.update(ctx, "create_object", func(t *tx) error {
		if err := t.load(nsk, nk, keyCatalog, keyClock, keyID); err != nil {
			return err
		}
		ns, err := getNamespace(t, o.Namespace)
		if err != nil {
			return err
		}
		if r, ok := t.get(nk); ok {
			id, incarnation, err := decodeName(r)
			if err != nil {
				return err
			}
			if incarnation == o.Incarnation { // our own earlier try
				o.ID = id
				return nil
			}
			return fail.New(fail.DuplicateObject, "%q already exists in namespace %q", o.Name, ns.Name)
		}
		if err := s.stampObject(t, &o, ns); err != nil {
			return err
		}
		return putObject(t, o, ns)
	})
	if err != nil {
		return Object{}, err
	}
	return o, nil
}

// stampObject assigns what a try assigns: the id and the time.
func (s *db) stampObject(t *tx, o *Object, ns Namespace) error {
	now, err := s.stamp(t)
	if err != nil {
		return err
	}
	o.Namespace, o.CreatedMS = ns.Name, now/1000
	o.ID, err = countUp(t, keyID)
	return err
}

func putObject(t *tx, o Object, ns Namespace) error {
	ns.Objects++
	t.put(nsKey(ns.Name), encodeNamespace(ns))
	putRows(t, o)
	_, err := countUp(t, keyCatalog)
	return err
}

// putRows writes the rows of a new object.
func putRows(t *tx, o Object) {
	t.put(nameKey(o.Namespace, o.Name), encodeName(o))
	t.put(objectKey(o.ID), encodeObject(o))
	t.put(headKey(o.ID), encodeHead(headRow{Incarnation: o.Incarnation}))
	for p := range o.Partitions {
		t.put(partKey(o.ID, p), encodePartition(PartitionState{Incarnation: o.Incarnation}))
	}
}

func (s *db) DropObject(ctx context.Context, id uint64) error {
	_, err := s.ChangeCatalog(ctx, CatalogChange{Drop: []uint64{id}})
	return err
}

func (s *db) UpdateObject(ctx context.Context, id, expectSchemaVersion uint64, definition []byte) (Object, error) {
	if err := checkDefinition("object", definition); err != nil {
		return Object{}, err
	}
	var o Object
	err := s.update(ctx, "update_object", func(t *tx) error {
		if err := t.load(objectKey(id), keyCatalog); err != nil {
			return err
		}
		r, ok := t.get(objectKey(id))
		if !ok {
			return errNoObject(id)
		}
		var err error
		if o, err = decodeObject(r); err != nil {
			return err
		}
		if t.maybe && o.SchemaVersion == expectSchemaVersion+1 && bytes.Equal(o.Definition, definition) {
			return nil // our own earlier try, or one that wrote the same
		}
		if o.SchemaVersion != expectSchemaVersion {
			return fail.New(fail.Conflict, "the definition of %q changed: it is at version %d, not %d",
				o.Name, o.SchemaVersion, expectSchemaVersion).WithHint("Read the definition again and repeat the change.")
		}
		o.SchemaVersion++
		o.Definition = bytes.Clone(definition)
		t.put(objectKey(id), encodeObject(o))
		_, err = countUp(t, keyCatalog)
		return err
	})
	if err != nil {
		return Object{}, err
	}
	return o, nil
}

func (s *db) GetObjectByID(ctx context.Context, id uint64) (Object, error) {
	r, ok, err := s.one(ctx, objectKey(id))
	if err != nil {
		return Object{}, err
	}
	if !ok {
		return Object{}, errNoObject(id)
	}
	return decodeObject(r)
}

func (s *db) GetObject(ctx context.Context, namespace, name string) (Object, error) {
	for {
		rows, _, err := s.read(ctx, keySpan(nsKey(namespace)), keySpan(nameKey(namespace, name)))
		if err != nil {
			return Object{}, err
		}
		if len(rows[0]) == 0 {
			return Object{}, errNoNamespace(namespace)
		}
		if len(rows[1]) == 0 {
			return Object{}, fail.New(fail.UndefinedTable, "%q does not exist in namespace %q", name, namespace)
		}
		id, _, err := decodeName(rows[1][0])
		if err != nil {
			return Object{}, err
		}
		o, err := s.GetObjectByID(ctx, id)
		if err == nil && fold(o.Name) == fold(name) || err != nil && !fail.Is(err, fail.UndefinedTable) {
			return o, err
		}
		// Dropped or renamed between the two reads: the name row tells what is there now.
	}
}

func (s *db) ListObjects(ctx context.Context, namespace string) ([]Object, error) {
	if namespace != "" {
		if _, ok, err := s.one(ctx, nsKey(namespace)); err != nil {
			return nil, err
		} else if !ok {
			return nil, errNoNamespace(namespace)
		}
	}
	var out []Object
	err := s.pages(ctx, prefixObject, func(r row) error {
		o, err := decodeObject(r)
		if err == nil && (namespace == "" || fold(o.Namespace) == fold(namespace)) {
			out = append(out, o)
		}
		return err
	}, func() { out = nil })
	return out, err
}
