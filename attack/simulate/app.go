package simulate

import (
	"encoding/binary"
	"errors"
	"fmt"

	"choir/protocol"
)

// toy is a small application with the failures of a real one: the model is the sum
// of the accepted rounds, a party's private state is the sum of its own counted
// updates, and some sums are refused.
type toy struct {
	dim    int
	reject bool
	digit  int // bits of a party's digit
	digits int // coordinates that have digits, at least 1
}

// app is the application of a session.
func (s Setup) app() toy { return toy{s.Dim, s.Reject, s.scale().digit, s.digits()} }

// errRefused is toy's refusal of a sum.
var errRefused = errors.New("the toy application refuses this sum")

// Initial implements protocol.Model: a prior that isn't zero.
func (a toy) Initial() []int64 {
	m := make([]int64, a.dim)
	for i := range m {
		m[i] = 1000 + int64(i)
	}
	return m
}

// Fold implements protocol.Model.
func (a toy) Fold(_ uint32, model, sum []int64) ([]int64, error) {
	if len(sum) != a.dim || len(model) != a.dim {
		return nil, fmt.Errorf("%d and %d coordinates, want %d", len(model), len(sum), a.dim)
	}
	if a.reject && sum[0]&3 == 0 {
		return nil, errRefused
	}
	return plus(model, sum), nil
}

// InitialState implements protocol.Application.
func (a toy) InitialState() []byte { return protocol.AppendInts(nil, make([]int64, a.dim)) }

// Settle implements protocol.Application.
func (a toy) Settle(_ uint32, state, memo []byte) ([]byte, error) {
	s, ok := protocol.Ints(state)
	u, fits := protocol.Ints(memo)
	if !ok || !fits || len(s) != a.dim || len(u) != a.dim {
		return nil, fmt.Errorf("state of %d and memo of %d bytes", len(state), len(memo))
	}
	return protocol.AppendInts(nil, plus(s, u)), nil
}

// update is a party's update: in the first coordinates a digit at the party's own
// place, derived from round, attempt and model; a unit vector in the others.
func (a toy) update(party uint32, w protocol.Work) []int64 {
	u := make([]int64, a.dim)
	d := protocol.IntDigest(protocol.DigestKey{}, w.Model)
	digit := 1 + (uint32(d[0])+5*w.Round+w.Attempt)%(1<<a.digit-1)
	u[int(party)/places] = int64(digit) << (a.digit * (int(party) % places))
	if a.dim > a.digits {
		u[a.digits+int(party)%(a.dim-a.digits)] += 1
	}
	if a.dim > 1<<16 {
		u[a.dim-1] += int64(party) + 1 // something in the last chunk
	}
	return u
}

func plus(a, b []int64) []int64 {
	c := make([]int64, len(a))
	for i := range a {
		c[i] = a[i] + b[i]
	}
	return c
}

func minus(a, b []int64) []int64 {
	c := make([]int64, len(a))
	for i := range a {
		c[i] = a[i] - b[i]
	}
	return c
}

// account is a party's ledger: a limited number of charges, one for an attempt.
type account struct {
	free    bool
	limit   int
	charged map[attempt]bool
}

type attempt struct{ round, attempt uint32 }

func (t attempt) String() string { return fmt.Sprintf("%d.%d", t.round, t.attempt) }

// Charge implements party.Ledger.
func (l *account) Charge(round, number uint32) ([]byte, uint64, error) {
	if l.free {
		return nil, 0, nil
	}
	if l.charged[attempt{round, number}] || len(l.charged) >= l.limit {
		return nil, 0, protocol.Fail(protocol.ClassBudget, "round %d attempt %d: the budget refuses", round, number)
	}
	b := binary.BigEndian.AppendUint32(nil, round)
	return binary.BigEndian.AppendUint32(b, number), uint64(len(l.charged)), nil
}

// Append implements party.Ledger.
func (l *account) Append(entry []byte) error {
	if entry == nil {
		return nil
	}
	at, ok := parseCharge(entry)
	if !ok || l.charged[at] {
		return fmt.Errorf("ledger entry %x", entry)
	}
	l.charged[at] = true
	return nil
}

func parseCharge(b []byte) (attempt, bool) {
	if len(b) != 8 {
		return attempt{}, false
	}
	return attempt{binary.BigEndian.Uint32(b), binary.BigEndian.Uint32(b[4:])}, true
}
