package member

import (
	"errors"
	"os"
	"path/filepath"

	"choir/host"
	"choir/protocol"
)

// openStore opens the durable state of this member under this plan.
func (m *Member) openStore() (host.Store, error) {
	path := m.Config.StoreFile
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, protocol.Fail(protocol.ClassInput, "store: %w", err)
	}
	store, err := OpenStore(path, m.Session)
	if err != nil {
		return nil, err
	}
	if err := claim(store, m.Session.Name(m.Index)); err != nil {
		return nil, errors.Join(err, store.Close())
	}
	return store, nil
}

// OpenStore opens a member's store for one plan. The same file may serve plan
// after plan: each has its own state, and a party's ledger goes on over all of
// them.
func OpenStore(path string, s protocol.BoundPlan) (host.Store, error) {
	f, err := host.OpenFile(path)
	if err != nil {
		return nil, err
	}
	return host.Scope(f, "plan/"+s.ID.String()+"/", LedgerPrefix), nil
}

// LedgerPrefix is where a store keeps a party's ledger.
const LedgerPrefix = "ledger/"

// openThere opens a store that is there: to look at one mustn't make it.
func openThere(path string) (*host.File, error) {
	if _, err := os.Stat(path); err != nil {
		return nil, protocol.Fail(protocol.ClassInput, "store: %w", err)
	}
	return host.OpenFile(path)
}

// ownerKey is where a store keeps, for each plan, whose it is.
const ownerKey = "owner"

// claim makes a store a member's under its plan, once and for all. Another member of
// the plan would otherwise go on with the state that it finds: send again what it
// didn't say, and pay from a ledger that isn't its own. A store of another member is of
// protocol.ClassInput.
func claim(store host.Store, name string) error {
	switch owner := string(store.Get(ownerKey)); owner {
	case name:
		return nil
	case "":
		return store.Apply([]protocol.Record{{Key: ownerKey, Value: []byte(name)}})
	default:
		return protocol.Fail(protocol.ClassInput, "store: it is %s's under this plan, not %s's; every member has a store of its own", owner, name)
	}
}
