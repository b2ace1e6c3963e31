package metastore

import (
	"bytes"
	"context"

	"github.com/loamdb/loam/internal/fail"
)

// catalogChange is a CatalogChange on its way: the objects that it names as they
// were read before, because the keys of a transaction follow from their names.
type catalogChange struct {
	CatalogChange
	known map[uint64]Object
	// moved is set when an object has another name than before: it must be read again.
	moved bool
}

// ChangeCatalog implements Store.
func (s *db) ChangeCatalog(ctx context.Context, c CatalogChange) (Object, error) {
	if err := c.check(); err != nil {
		return Object{}, err
	}
	var made Object
	if c.Create != nil {
		o := *c.Create
		o.Incarnation, o.SchemaVersion = s.ids.ULID(), 1
		c.Create = &o
	}
	for {
		ch := &catalogChange{CatalogChange: c}
		if err := ch.read(ctx, s); err != nil {
			return Object{}, err
		}
		err := s.update(ctx, "change_catalog", func(t *tx) error { return ch.try(s, t) })
		if ch.moved {
			continue
		}
		if err == nil && c.Create != nil {
			made = *c.Create
		}
		return made, err
	}
}

func (c *CatalogChange) check() error {
	for _, u := range c.Update {
		if err := checkDefinition("object", u.Definition); err != nil {
			return err
		}
		if u.Name != "" {
			if err := checkName("object", u.Name); err != nil {
				return err
			}
		}
	}
	if c.Create != nil {
		return checkObject(*c.Create)
	}
	return nil
}

// read finds the names of the objects.
func (c *catalogChange) read(ctx context.Context, s *db) error {
	c.known = map[uint64]Object{}
	ids := append([]uint64(nil), c.Drop...)
	for _, u := range c.Update {
		ids = append(ids, u.ID)
	}
	for _, id := range ids {
		o, err := s.GetObjectByID(ctx, id)
		if err != nil {
			return err
		}
		c.known[id] = o
	}
	return nil
}

// keys are all rows that the change reads or writes.
func (c *catalogChange) keys() []string {
	keys := []string{keyCatalog, keyClock, keyID}
	seen := map[string]bool{}
	add := func(k string) {
		if !seen[k] {
			seen[k] = true
			keys = append(keys, k)
		}
	}
	for id, o := range c.known {
		add(objectKey(id))
		add(nsKey(o.Namespace))
		add(nameKey(o.Namespace, o.Name))
	}
	for _, id := range c.Drop {
		add(tagsKey(id))
	}
	for _, u := range c.Update {
		if u.Name != "" {
			add(nameKey(c.known[u.ID].Namespace, u.Name))
		}
	}
	if c.Create != nil {
		add(nsKey(c.Create.Namespace))
		add(nameKey(c.Create.Namespace, c.Create.Name))
	}
	if c.DropNamespace != "" {
		add(nsKey(c.DropNamespace))
	}
	return keys
}

// changing is one try of a change: the namespaces and names as they will be.
type changing struct {
	*catalogChange
	s      *db
	t      *tx
	spaces map[string]Namespace
	// names says which name rows this try has freed (false) or taken (true).
	names map[string]bool
}

func (c *catalogChange) try(s *db, t *tx) error {
	c.moved = false
	keys := c.keys()
	if len(keys) > maxOps {
		return fail.New(fail.TooLarge, "a change of the catalog touches %d rows at once, the limit is %d", len(keys), maxOps).
			WithHint("Drop some of the objects by themselves first.")
	}
	if err := t.load(keys...); err != nil {
		return err
	}
	if done, err := c.done(t); done || err != nil {
		return err
	}
	rev, err := counter(t, keyCatalog)
	if err != nil {
		return err
	}
	if c.IfRevision != nil && rev != *c.IfRevision {
		return fail.New(fail.Conflict, "the catalog changed meanwhile").WithHint("Repeat the statement.")
	}
	k := &changing{catalogChange: c, s: s, t: t, spaces: map[string]Namespace{}, names: map[string]bool{}}
	for _, step := range []func() error{k.drop, k.update, k.create, k.closeSpaces} {
		if err := step(); err != nil {
			return err
		}
	}
	_, err = countUp(t, keyCatalog)
	return err
}

// done reports whether an earlier try, whose reply was lost, has taken effect.
func (c *catalogChange) done(t *tx) (bool, error) {
	if !t.maybe {
		return false, nil
	}
	switch {
	case c.Create != nil:
		r, ok := t.get(nameKey(c.Create.Namespace, c.Create.Name))
		if !ok {
			return false, nil
		}
		id, incarnation, err := decodeName(r)
		if err != nil || incarnation != c.Create.Incarnation {
			return false, err
		}
		c.Create.ID = id
		return true, nil
	case len(c.Update) > 0:
		u := c.Update[0]
		r, ok := t.get(objectKey(u.ID))
		if !ok {
			return false, nil
		}
		o, err := decodeObject(r)
		return o.SchemaVersion == u.ExpectSchemaVersion+1 && bytes.Equal(o.Definition, u.Definition), err
	case len(c.Drop) > 0:
		_, ok := t.get(objectKey(c.Drop[0]))
		return !ok, nil
	}
	_, ok := t.get(nsKey(c.DropNamespace))
	return !ok, nil
}

// space is a namespace as this try leaves it.
func (k *changing) space(name string) (Namespace, error) {
	if ns, ok := k.spaces[fold(name)]; ok {
		return ns, nil
	}
	ns, err := getNamespace(k.t, name)
	if err == nil {
		k.spaces[fold(name)] = ns
	}
	return ns, err
}

// object is the row of an object, which must bear the name that the keys were made for.
func (k *changing) object(id uint64) (Object, error) {
	r, ok := k.t.get(objectKey(id))
	if !ok {
		return Object{}, errNoObject(id)
	}
	o, err := decodeObject(r)
	if err == nil && o.Name != k.known[id].Name {
		k.moved = true
		return o, fail.New(fail.Conflict, "%q was renamed meanwhile", k.known[id].Name)
	}
	return o, err
}

// free releases a name, take claims one.
func (k *changing) free(ns, name string) { k.names[nameKey(ns, name)] = false }

func (k *changing) take(ns, name string) error {
	key := nameKey(ns, name)
	taken, mine := k.names[key]
	if !mine {
		_, taken = k.t.get(key)
	}
	if taken {
		return fail.New(fail.DuplicateObject, "%q already exists in namespace %q", name, ns)
	}
	k.names[key] = true
	return nil
}

func (k *changing) drop() error {
	for _, id := range k.Drop {
		o, err := k.object(id)
		if err != nil {
			return err
		}
		if err := unprotected(k.t, o); err != nil {
			return err
		}
		ns, err := k.space(o.Namespace)
		if err != nil {
			return err
		}
		ns.Objects--
		k.spaces[fold(o.Namespace)] = ns
		k.free(o.Namespace, o.Name)
		k.t.del(objectKey(id))
		k.t.delPrefix(dataPrefix(id))
		k.t.delPrefix(producerCountKey(id))
	}
	for _, f := range k.Forget {
		k.t.del(progressKey(f.Target, f.Link))
	}
	return nil
}

func (k *changing) update() error {
	for _, u := range k.Update {
		o, err := k.object(u.ID)
		if err != nil {
			return err
		}
		if o.SchemaVersion != u.ExpectSchemaVersion {
			return fail.New(fail.Conflict, "the definition of %q changed: it is at version %d, not %d",
				o.Name, o.SchemaVersion, u.ExpectSchemaVersion).WithHint("Read the definition again and repeat the change.")
		}
		old := o.Name
		o.SchemaVersion++
		o.Definition = bytes.Clone(u.Definition)
		if u.Name != "" {
			o.Name = u.Name
		}
		if fold(o.Name) != fold(old) {
			k.free(o.Namespace, old)
			if err := k.take(o.Namespace, o.Name); err != nil {
				return err
			}
		}
		k.t.put(objectKey(u.ID), encodeObject(o))
		if fold(o.Name) != fold(old) {
			k.t.put(nameKey(o.Namespace, o.Name), encodeName(o))
		}
	}
	return nil
}

func (k *changing) create() error {
	if k.Create == nil {
		return nil
	}
	o := k.Create
	ns, err := k.space(o.Namespace)
	if err != nil {
		return err
	}
	if err := k.take(ns.Name, o.Name); err != nil {
		return err
	}
	if err := k.s.stampObject(k.t, o, ns); err != nil {
		return err
	}
	ns.Objects++
	k.spaces[fold(ns.Name)] = ns
	putRows(k.t, *o)
	return nil
}

// closeSpaces writes the counts of the namespaces and the names that are free now.
func (k *changing) closeSpaces() error {
	if k.DropNamespace != "" {
		ns, err := k.space(k.DropNamespace)
		if err != nil {
			return err
		}
		if ns.Objects > 0 {
			return errNotEmpty(ns)
		}
		k.t.del(nsKey(ns.Name))
		delete(k.spaces, fold(ns.Name))
	}
	for _, ns := range k.spaces {
		k.t.put(nsKey(ns.Name), encodeNamespace(ns))
	}
	for key, taken := range k.names {
		if !taken {
			k.t.get(key)
			k.t.del(key)
		}
	}
	return nil
}
