package ledger

import (
	"errors"
	"fmt"
)

// Errors that callers distinguish.
var (
	// ErrOverspend reports that a charge would exceed the budget. Nothing was appended.
	ErrOverspend = errors.New("ledger: privacy budget refused")
	// ErrChain reports that a chain was altered: a link or a sequence number is wrong.
	ErrChain = errors.New("ledger: broken chain")
	// ErrCharged reports that the attempt was charged before: retransmit its bytes instead.
	ErrCharged = errors.New("ledger: attempt already charged")
)

// key identifies an attempt.
type key struct {
	plan           [32]byte
	round, attempt uint32
}

func (c Charge) key() key { return key{c.Plan, c.Round, c.Attempt} }

// Ledger is a verified chain in memory. The zero value is an empty ledger, ready to
// use. It is not safe for concurrent use.
type Ledger struct {
	entries []Entry
	charged map[key]bool
	of      map[[32]byte]int // charges by plan
	since   int              // entries up to the last reset
}

// Open decodes stored entries, oldest first, and verifies the chain: each entry is valid, has the
// next sequence number and the hash of the one before it, and no attempt is charged twice. The
// error names the first entry that is wrong.
func Open(stored [][]byte) (*Ledger, error) {
	l := &Ledger{}
	for i, b := range stored {
		var e Entry
		if err := e.Unmarshal(b); err != nil {
			return nil, fmt.Errorf("entry %d: %w", i, err)
		}
		if err := l.Append(e); err != nil {
			return nil, err
		}
	}
	return l, nil
}

// Append verifies and appends the next entry of the chain. On failure the ledger is unchanged.
func (l *Ledger) Append(e Entry) error {
	if err := e.Validate(); err != nil {
		return fmt.Errorf("entry %d: %w", len(l.entries), err)
	}
	if want := uint64(len(l.entries)); e.Seq != want {
		return fmt.Errorf("%w: entry %d has number %d", ErrChain, want, e.Seq)
	}
	if e.Prev != l.Head() {
		return fmt.Errorf("%w: entry %d does not follow the one before it", ErrChain, e.Seq)
	}
	if e.Kind == KindCharge {
		if l.Charged(e.Charge) {
			return fmt.Errorf("%w: entry %d, round %d, attempt %d",
				ErrCharged, e.Seq, e.Charge.Round, e.Charge.Attempt)
		}
		if l.charged == nil {
			l.charged, l.of = map[key]bool{}, map[[32]byte]int{}
		}
		l.charged[e.Charge.key()] = true
		l.of[e.Charge.Plan]++
	}
	l.entries = append(l.entries, e)
	if e.Kind == KindReset {
		l.since = len(l.entries)
	}
	return nil
}

// Head returns the hash of the newest entry, or Genesis() if the ledger is empty.
func (l *Ledger) Head() Hash {
	if len(l.entries) == 0 {
		return genesis()
	}
	return l.entries[len(l.entries)-1].hash()
}

// Len returns the number of entries.
func (l *Ledger) Len() int { return len(l.entries) }

// Entries returns a copy of the chain, oldest first.
func (l *Ledger) Entries() []Entry { return append([]Entry(nil), l.entries...) }

// Charged reports whether the same plan, round and attempt was ever charged, before or after a
// reset.
func (l *Ledger) Charged(c Charge) bool { return l.charged[c.key()] }

// Of returns the number of charges of a plan, before and after a reset: a plan, and what goes on from it, is
// about one data set, so that a reset is never about some of its attempts alone.
func (l *Ledger) Of(plan [32]byte) int { return l.of[plan] }

// Next returns the entry that charges c. The caller stores its bytes durably, then
// appends it, then contributes.
func (l *Ledger) Next(c Charge) Entry {
	return Entry{Seq: uint64(len(l.entries)), Prev: l.Head(), Kind: KindCharge, Charge: c.filled()}
}

// NextReset returns the entry that records a reset with the given reason.
func (l *Ledger) NextReset(reason string) Entry {
	return Entry{Seq: uint64(len(l.entries)), Prev: l.Head(), Kind: KindReset, Note: reason}
}
