package verify

import (
	"fmt"

	"choir/protocol"
)

// broken reports that the rest of the transcript is an attempt without a result
// and the abort that ended it.
func (r *reader) broken() bool {
	rest := r.entries[r.next:]
	for i, b := range rest {
		switch {
		case len(b) == 0 || protocol.Kind(b[0]) == protocol.KindResult || protocol.Kind(b[0]) == protocol.KindRound:
			return false
		case protocol.Kind(b[0]) == protocol.KindAbort:
			return i == len(rest)-1
		}
	}
	return false
}

// testimonies takes what was signed in an attempt that the aggregator broke off,
// and the abort. Every entry is checked by itself; that something doesn't hold
// between them is why they are there.
func (r *reader) testimonies(a *Attempt) error {
	trial, attempt := *r, *a
	attempt.holds = map[uint32]*protocol.Hold{}
	why := trial.attempt(&attempt) // never nil: the abort stands where something else is due
	if last := len(r.entries) - 1; trial.blame() < last {
		r.report.Fault = fmt.Sprintf("entry %d: %v", trial.blame(), why)
	}
	before := uint64(0)
	for r.peek() != protocol.KindAbort {
		if err := r.testimony(a, &before); err != nil {
			return err
		}
	}
	return r.abort()
}

// testimony takes one signed message of the attempt; before orders them by kind
// and member. A vector may follow the partial sum that names it.
func (r *reader) testimony(a *Attempt, before *uint64) error {
	e, m, err := r.take()
	if err != nil {
		return err
	}
	if at := uint64(e.Kind)<<32 | uint64(e.From); at > *before {
		*before = at
	} else {
		return fmt.Errorf("%w: out of order", protocol.ErrMismatch)
	}
	switch m := m.(type) {
	case *protocol.Contribution:
		return timely(a, m.Round, m.Attempt)
	case *protocol.Hold:
		a.holds[e.From] = m
		return timely(a, m.Round, m.Attempt)
	case *protocol.Agree:
		return timely(a, m.Round, m.Attempt)
	case *protocol.Partial:
		if err := timely(a, m.Round, m.Attempt); err != nil {
			return err
		}
		return r.vectorOf(m)
	}
	return fmt.Errorf("%w: a %s by %s stands here", protocol.ErrMismatch, e.Kind, r.s.Name(e.From))
}

// vectorOf takes the vector behind a partial sum, if there is one.
func (r *reader) vectorOf(m *protocol.Partial) error {
	v, ok := protocol.ParseTranscriptVector(r.entries[r.next], r.s.Plan.Elements())
	if !ok {
		return nil
	}
	r.next++
	if protocol.VectorDigest(v) != m.Vector {
		return fmt.Errorf("%w: the vector isn't the one that was signed", protocol.ErrMismatch)
	}
	return nil
}
