package ledger

import (
	"errors"
	"fmt"
)

// Errors on which callers decide.
var (
	// ErrOverspend says that a charge would exceed the budget. Nothing was appended.
	ErrOverspend = errors.New("ledger: privacy budget refused")
	// ErrChain says that a chain was altered: a link, a sequence number or a head is wrong.
	ErrChain = errors.New("ledger: broken chain")
	// ErrCharged says that this attempt has been charged before: resend its bytes instead.
	ErrCharged = errors.New("ledger: attempt already charged")
)

// key names an attempt.
type key struct {
	plan           [32]byte
	round, attempt uint32
}

func (c Charge) key() key { return key{c.Plan, c.Round, c.Attempt} }

// Ledger is a verified chain in memory. The zero value is an empty ledger, ready to
// use. Not safe for concurrent use.
type Ledger struct {
	entries []Entry
	charged map[key]bool
}

// Verify checks a whole chain: every entry valid, numbered, linked to the one
// before it, and no attempt charged twice. It says which entry is wrong.
func Verify(chain []Entry) error {
	var l Ledger
	for _, e := range chain {
		if err := l.Append(e); err != nil {
			return err
		}
	}
	return nil
}

// VerifyHead is Verify and that the chain ends in the head kept elsewhere, so that
// nothing was cut off its end.
func VerifyHead(chain []Entry, head Hash) error {
	var l Ledger
	for _, e := range chain {
		if err := l.Append(e); err != nil {
			return err
		}
	}
	if l.Head() != head {
		return fmt.Errorf("%w: it ends in %v, not in %v", ErrChain, l.Head(), head)
	}
	return nil
}

// Open decodes and verifies stored entries, oldest first.
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

// Append takes in the next entry of the chain, or leaves the ledger as it was.
func (l *Ledger) Append(e Entry) error {
	if err := e.Validate(); err != nil {
		return fmt.Errorf("entry %d: %w", len(l.entries), err)
	}
	if want := uint64(len(l.entries)); e.Seq != want {
		return fmt.Errorf("%w: entry %d is numbered %d", ErrChain, want, e.Seq)
	}
	if e.Prev != l.Head() {
		return fmt.Errorf("%w: entry %d doesn't follow the one before it", ErrChain, e.Seq)
	}
	if e.Kind == KindCharge {
		if l.Charged(e.Charge) {
			return fmt.Errorf("%w: entry %d, round %d, attempt %d", ErrCharged, e.Seq, e.Charge.Round, e.Charge.Attempt)
		}
		if l.charged == nil {
			l.charged = map[key]bool{}
		}
		l.charged[e.Charge.key()] = true
	}
	l.entries = append(l.entries, e)
	return nil
}

// Head is the hash of the newest entry, Genesis() for an empty ledger.
func (l *Ledger) Head() Hash {
	if len(l.entries) == 0 {
		return Genesis()
	}
	return l.entries[len(l.entries)-1].Hash()
}

// Len is the number of entries.
func (l *Ledger) Len() int { return len(l.entries) }

// Entries is a copy of the chain, oldest first.
func (l *Ledger) Entries() []Entry { return append([]Entry(nil), l.entries...) }

// Charged says whether the same plan, round and attempt has been charged, ever:
// a reset doesn't make an attempt new.
func (l *Ledger) Charged(c Charge) bool { return l.charged[c.key()] }

// Next is the entry that would charge c. The caller stores its bytes durably, then
// appends it, then contributes.
func (l *Ledger) Next(c Charge) Entry {
	return Entry{Seq: uint64(len(l.entries)), Prev: l.Head(), Kind: KindCharge, Charge: c.filled()}
}

// NextReset is the entry that would record a reset for the given reason.
func (l *Ledger) NextReset(reason string) Entry {
	return Entry{Seq: uint64(len(l.entries)), Prev: l.Head(), Kind: KindReset, Note: reason}
}
