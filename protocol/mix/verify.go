package mix

import (
	"errors"
	"fmt"
	"slices"

	"choir/protocol"
)

// openedEntry is the first byte of a transcript's entry with the opened reports of an attempt.
const openedEntry = 67

// Attempt is an attempt on a verified transcript.
type Attempt struct {
	Round, Attempt uint32
	Outcome        protocol.Outcome
	Parties        []uint32 // the senders of the onions that the first node accepted
	Reports        []int64  // of an accepted attempt: the plan's Dim numbers of each, in the list's order
}

// Verify checks the transcript of a session with a mix-net. It has, for each attempt, the messages that the
// aggregator accepted, in order, from the MixRound on, without pieces; once all nodes have agreed also those
// of the list, and for an accepted one an entry of u8 67 and the opened reports, each after its nonce. The
// MixResult ends the attempt. An Abort may end the transcript.
//
// It checks that every message is signed by its sender under the plan, that no member contradicts itself,
// that attempts are in order and as many as the plan allows, and of an accepted attempt that all nodes
// signed the list, that each report is what its sender sealed for the list, and that the result counts them.
// A result without reports suspects the member that the record does: see checkSuspect.
// at is the entry, from 0, that an error is about.
func Verify(s protocol.BoundPlan, entries [][]byte) (all []Attempt, aborted error, at int, err error) {
	r := &replay{s: s}
	for i, entry := range entries {
		if r.aborted != nil {
			return nil, nil, i, fmt.Errorf("%w: the session was over", protocol.ErrMismatch)
		}
		if err := r.read(entry); err != nil {
			return nil, nil, i, err
		}
	}
	if r.at != nil {
		return nil, nil, len(entries), errors.New("the transcript breaks off before the result of an attempt")
	}
	return r.all, r.aborted, 0, nil
}

// replay follows a transcript.
type replay struct {
	s       protocol.BoundPlan
	at      *attempt // the open one
	opened  [][]byte // its reports
	all     []Attempt
	aborted error
}

func (r *replay) read(entry []byte) error {
	if len(entry) > 0 && entry[0] == openedEntry {
		return r.open(entry[1:])
	}
	e, msg, err := r.s.Receive(entry)
	if err != nil {
		return err
	}
	switch m := msg.(type) {
	case *protocol.Abort:
		r.aborted = m.Cause()
		if r.at != nil {
			return fmt.Errorf("%w: an abort within an attempt", protocol.ErrMismatch)
		}
		return nil
	case *protocol.MixRound:
		return r.begin(m)
	}
	round, number, _, ok := place(e.From, msg)
	if !ok || r.at == nil || round != r.at.round || number != r.at.attempt {
		return fmt.Errorf("%w: a %s by %s that belongs to no open attempt", protocol.ErrMismatch, e.Kind,
			r.s.Name(e.From))
	}
	m, isResult := msg.(*protocol.MixResult)
	if isResult && m.Outcome == protocol.OutcomeAccepted && r.opened == nil {
		return fmt.Errorf("%w: an accepted attempt without its reports", protocol.ErrMismatch)
	}
	known := r.at.fault
	if err := r.at.accept(e.From, msg, entry, 0); err != nil && (known != nil || r.at.fault == nil) {
		return err // not what shows the fault
	}
	if isResult {
		return r.end(m)
	}
	return nil
}

// begin opens the attempt that is due: the next round's first, or one more of a round whose last is void.
func (r *replay) begin(m *protocol.MixRound) error {
	round, number := uint32(1), uint32(1)
	if n := len(r.all); n > 0 {
		last := r.all[n-1]
		round = last.Round + 1
		if last.Outcome == protocol.OutcomeVoid {
			round, number = last.Round, last.Attempt+1
		}
	}
	switch {
	case r.at != nil:
		return fmt.Errorf("%w: round %d is opened before the result of the attempt before", protocol.ErrMismatch,
			m.Round)
	case m.Round != round || m.Attempt != number || round > r.s.Plan.Rounds:
		return fmt.Errorf("%w: round %d attempt %d where round %d attempt %d is due", protocol.ErrMismatch, m.Round,
			m.Attempt, round, number)
	case len(r.all) >= r.s.Plan.Attempts():
		return fmt.Errorf("%w: one attempt more than the plan's %d", protocol.ErrMismatch, r.s.Plan.Attempts())
	}
	r.at = newAttempt(r.s, m, 0)
	r.opened = nil
	return nil
}

// open checks the reports against the list and what the last node signed.
func (r *replay) open(reports []byte) error {
	if r.at == nil || r.at.batches[2*r.at.nodes] == nil || r.opened != nil {
		return fmt.Errorf("%w: reports that no node has opened", protocol.ErrMismatch)
	}
	a := r.at
	last := 2 * a.nodes
	if len(reports) != a.count(last)*a.size(last) {
		return fmt.Errorf("%w: reports of %d bytes, not %d", protocol.ErrMismatch, len(reports),
			a.count(last)*a.size(last))
	}
	list, err := a.entries(a.nodes)
	if err == nil && list == nil {
		err = errors.New("pieces of the list are missing")
	}
	if err == nil {
		entries := slices.Collect(slices.Chunk(reports, a.size(last)))
		r.opened, err = a.split(last, a.divide(last, entries))
	}
	if err != nil {
		return fmt.Errorf("%w: %w", protocol.ErrMismatch, err)
	}
	return nil
}

// checkSuspect rejects the result of an attempt without reports that suspects another member than the record
// does: the one whose fault it shows or, without one, the one whose message it lacks. Of reports that are
// sealed wrongly, and of a list whose pieces are not the described ones, the record shows nothing: both are
// the last node's.
func (a *attempt) checkSuspect(m *protocol.MixResult) error {
	if m.Outcome == protocol.OutcomeAccepted {
		return nil
	}
	want := a.fault
	if want == nil {
		lacks := a.awaited()
		last := a.owner(2 * a.nodes)
		if m.Suspect == protocol.Everyone || m.Suspect == last && a.batches[2*a.nodes] != nil {
			return nil
		}
		want = &lacks
	}
	if m.Suspect != want.suspect {
		return fmt.Errorf("%w: the result suspects %s, the record %s: %s", protocol.ErrMismatch,
			a.name(m.Suspect), a.name(want.suspect), want.reason)
	}
	return nil
}

func (r *replay) end(m *protocol.MixResult) error {
	done := Attempt{Round: m.Round, Attempt: m.Attempt, Outcome: m.Outcome}
	if first := r.at.batches[0]; first != nil {
		done.Parties = first.Parties
	}
	if err := r.at.checkSuspect(m); err != nil {
		return err
	}
	switch {
	case m.Outcome == protocol.OutcomeVoid && r.at.batches[r.at.nodes+1] != nil:
		return fmt.Errorf("%w: a void attempt whose list was opened", protocol.ErrMismatch)
	case m.Outcome == protocol.OutcomeRejected && !r.at.agreed():
		return fmt.Errorf("%w: a round that is lost before the nodes agreed", protocol.ErrMismatch)
	case m.Outcome == protocol.OutcomeAccepted:
		for _, o := range r.opened {
			report, _ := protocol.Ints(o[nonceSize:])
			done.Reports = append(done.Reports, report...)
		}
	}
	r.all = append(r.all, done)
	r.at = nil
	return nil
}
