package verify

import (
	"fmt"

	"choir/protocol"
)

// unfinished reports whether the rest of the transcript is an attempt without a result and the
// abort that ended it.
func (r *reader) unfinished() bool {
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

// evidence reads what was signed in an attempt that the aggregator ended early, and the abort.
// Each entry is checked without the others, since there may be a contradiction between them.
func (r *reader) evidence(a *Attempt) error {
	if err := r.someConfirms(); err != nil {
		return err
	}
	trial, attempt := *r, *a
	attempt.holds = map[uint32]*protocol.Hold{}
	why := trial.attempt(&attempt) // never nil: an attempt has no abort
	if last := len(r.entries) - 1; trial.blame() < last && r.report.Fault == "" {
		r.report.Fault = fmt.Sprintf("entry %d: %v", trial.blame(), why)
	}
	before := uint64(0)
	for r.peek() != protocol.KindAbort {
		if err := r.evidenceEntry(a, &before); err != nil {
			return err
		}
	}
	return r.abort()
}

// evidenceEntry reads one signed message of the attempt. before is the order of the last one, by
// kind and member. A vector may follow the partial sum that signs it.
func (r *reader) evidenceEntry(a *Attempt, before *uint64) error {
	e, m, err := r.read()
	if err != nil {
		return err
	}
	if at := uint64(e.Kind)<<32 | uint64(e.From); at > *before {
		*before = at
	} else {
		return mismatch("out of order")
	}
	switch m := m.(type) {
	case *protocol.Contribution:
		return inAttempt(a, m.Round, m.Attempt)
	case *protocol.Hold:
		a.holds[e.From] = m
		return inAttempt(a, m.Round, m.Attempt)
	case *protocol.Agree:
		return inAttempt(a, m.Round, m.Attempt)
	case *protocol.Partial:
		if err := inAttempt(a, m.Round, m.Attempt); err != nil {
			return err
		}
		return r.vectorOf(m)
	}
	return mismatch("a %s by %s", e.Kind, r.bound.Name(e.From))
}

// vectorOf reads the vector of a partial sum, if there is one.
func (r *reader) vectorOf(m *protocol.Partial) error {
	v, o, ok := protocol.ParseTranscriptVector(r.entries[r.next], r.bound.Plan.Elements())
	if !ok {
		return nil
	}
	r.next++
	if protocol.VectorDigest(v, o) != m.Vector {
		return mismatch("the vector is not the one that was signed")
	}
	return nil
}
