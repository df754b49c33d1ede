package session

import (
	"choir/host"
	"choir/protocol"
)

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
