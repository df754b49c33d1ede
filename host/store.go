package host

import (
	"errors"

	"choir/protocol"
)

// Store is a role's durable memory: a map from keys to values, changed by
// whole transactions. It may be read while a transaction is under way.
type Store interface {
	protocol.View
	// Apply makes all records durable, or none, before it returns. Of several
	// records of a key the last counts.
	Apply(records []protocol.Record) error
	Close() error
}

// ErrLocked says that another process has the store open.
var ErrLocked = errors.New("the store is in use by another process")
