package metastore

import "context"

// StoreAddress implements [Store].
func (s *db) StoreAddress(ctx context.Context) (string, error) {
	r, ok, err := s.one(ctx, keyStore)
	if err != nil || !ok {
		return "", err
	}
	return decodeText(r)
}

// SetStoreAddress implements [Store].
func (s *db) SetStoreAddress(ctx context.Context, address string) error {
	return s.update(ctx, "set_store", func(t *tx) error {
		if err := t.load(keyStore); err != nil {
			return err
		}
		t.get(keyStore)
		t.put(keyStore, encodeText(address))
		return nil
	})
}
