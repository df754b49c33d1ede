package verify

import (
	"choir/crypto/field"
	"choir/protocol"
)

// confirms is what the nodes must confirm of a result.
type confirms struct {
	round, attempt uint32
	result         protocol.Digest
	values         []protocol.Value // by node
	sum            bool             // the result is of a sum
	given          int              // how many nodes have confirmed it
}

// newConfirms returns the confirms that follow from the revealed vectors; those of a void result
// have none.
func newConfirms(
	s protocol.BoundPlan, r *protocol.ResultProof, vectors []field.Vector, openings []protocol.Opening,
) *confirms {
	c := &confirms{round: r.Round, attempt: r.Attempt, result: r.Digest,
		values: make([]protocol.Value, s.Plan.Computes()), sum: vectors != nil}
	for k, v := range vectors {
		f := s.Fingerprint(r.Digest)
		f.Write(v)
		c.values[k] = openings[k].Value(f)
	}
	return c
}

// confirms reads the nodes' Confirms of the last result, if there is one.
func (r *reader) confirms() error {
	if r.due == nil {
		return nil
	}
	for k := range r.computes {
		from, m, err := expect[*protocol.Confirm](r)
		if err != nil {
			return err
		}
		if want := r.bound.Plan.Compute(k); from != want {
			return mismatch("the confirm of %s where that of %s is due", r.bound.Name(from), r.bound.Name(want))
		}
		if err := r.confirm(from, m); err != nil {
			return err
		}
	}
	return nil
}

// confirm checks a Confirm.
func (r *reader) confirm(from uint32, m *protocol.Confirm) error {
	switch {
	case m.Round != r.due.round || m.Attempt != r.due.attempt:
		return mismatch("it is for round %d attempt %d, after round %d attempt %d", m.Round, m.Attempt, r.due.round,
			r.due.attempt)
	case m.Result != r.due.result:
		return mismatch("%s confirmed another result", r.bound.Name(from))
	case m.Value != r.due.values[int(from)-r.bound.Plan.Parties()]:
		return mismatch("%s confirmed another partial sum than it revealed", r.bound.Name(from))
	}
	r.due.given++
	return nil
}

// someConfirms reads the Confirms before an abort. One that is false is the fault.
func (r *reader) someConfirms() error {
	last := int64(-1)
	for r.peek() == protocol.KindConfirm {
		from, m, err := expect[*protocol.Confirm](r)
		if err != nil {
			return err
		}
		if err := after(from, &last); err != nil {
			return err
		}
		if r.due == nil {
			return mismatch("a confirm by %s before the first result", r.bound.Name(from))
		}
		if err := r.confirm(from, m); err != nil && r.report.Fault == "" {
			r.report.Fault = err.Error()
		}
	}
	return nil
}

// endOfConfirms reads the Confirms of the last result and the abort after them.
func (r *reader) endOfConfirms() error {
	if err := r.someConfirms(); err != nil {
		return err
	}
	return r.abort()
}
