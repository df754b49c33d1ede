package host

import (
	"errors"

	"choir/protocol"
)

// Store is a role's durable memory: a map from keys to values, changed by whole transactions.
// It may be read during a transaction.
type Store interface {
	protocol.View
	// Apply makes all records durable, or none, before it returns. If a key has several
	// records, the last counts.
	Apply(records []protocol.Record) error
	Close() error
}

// stager is a Store that can write a long value before the transaction that stores it.
type stager interface {
	// Stage announces a value that a later transaction may store, with the same bytes at the
	// same address. The returned function writes it and may run concurrently with everything
	// but Close; nil means that there is nothing to write.
	Stage(value []byte) (write func())
}

// ErrLocked means that another process has the store open, or works with it.
var ErrLocked = errors.New("the store is in use by another process")
