package member

import (
	"errors"
	"os"
	"path/filepath"

	"choir/host"
	"choir/protocol"
)

// openOwn opens the member's store, and warns of one that it makes: a party's ledger is empty then.
func (m *Member) openOwn() (*host.Scoped, error) {
	_, err := os.Stat(m.Config.StoreFile)
	made := errors.Is(err, os.ErrNotExist)
	store, err := m.openStore()
	if err == nil && made && m.Session.Plan.Is(m.Index, protocol.RoleParty) {
		m.Log.Warn("a new store with an empty ledger at "+m.Config.StoreFile+": if this data took part before, "+
			"stop and name its store", "event", "new-store")
	}
	return store, err
}

// hold lets this process alone work with the member's store until release is called.
func (c *Config) hold() (release func() error, err error) {
	if err := os.MkdirAll(filepath.Dir(c.StoreFile), 0o700); err != nil {
		return nil, protocol.Fail(protocol.ClassInput, "store: %w", err)
	}
	return host.Hold(c.StoreFile)
}

// openStore opens the member's store and claims it.
func (m *Member) openStore() (*host.Scoped, error) {
	store, err := openStoreAt(m.Config.StoreFile, m.Session)
	if err != nil {
		return nil, err
	}
	if err := claim(store, m.Session.Name(m.Index)); err != nil {
		return nil, errors.Join(err, store.Close())
	}
	if err := m.remember(store); err != nil {
		return nil, errors.Join(err, store.Close())
	}
	return store, nil
}

// openStoreAt opens a store, creating it and its folder if need be.
func openStoreAt(path string, s protocol.BoundPlan) (*host.Scoped, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, protocol.Fail(protocol.ClassInput, "store: %w", err)
	}
	return OpenStore(path, s)
}

// OpenStore opens a member's store for one plan. A file may serve several plans:
// each has its own state, and a party's ledger spans all of them.
func OpenStore(path string, s protocol.BoundPlan) (*host.Scoped, error) {
	f, err := host.Open(path)
	if err != nil {
		return nil, err
	}
	return scopeOf(f, s.Plan), nil
}

// ledgerPrefix begins the keys of a party's ledger in a store.
const ledgerPrefix = "ledger/"

// openExisting opens a store that exists, and does not create one.
func openExisting(path string) (host.Store, error) {
	if _, err := os.Stat(path); err != nil {
		return nil, protocol.Fail(protocol.ClassInput, "store: %w", err)
	}
	return host.Open(path)
}

// ownerKey is the key of a store's owner, for each plan.
const ownerKey = "owner"

// claim makes a store a member's under its plan, for good. The error for another
// member's store is of protocol.ClassInput: with its state a member would send
// again what it did not send, and charge a ledger of another.
func claim(store host.Store, name string) error {
	switch owner := string(store.Get(ownerKey)); owner {
	case name:
		return nil
	case "":
		return store.Apply([]protocol.Record{{Key: ownerKey, Value: []byte(name)}})
	default:
		return protocol.Fail(protocol.ClassInput,
			"store: it is %s's under this plan, not %s's; every member needs its own store", owner, name)
	}
}
