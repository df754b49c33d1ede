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

// Stager is a Store that can begin with a long value before the transaction that
// stores it.
type Stager interface {
	// Stage announces a value that a transaction to come may store, the same bytes at the
	// same place in memory. The function that it returns writes it and may run beside
	// everything but Close; nil: there is nothing to do ahead.
	Stage(value []byte) (write func())
}

// ErrLocked says that another process has the store open.
var ErrLocked = errors.New("the store is in use by another process")
