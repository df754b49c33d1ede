package verify

import (
	"errors"
	"fmt"

	"choir/crypto/commit"
	"choir/protocol"
)

// Transcript checks a session's record against its plan; see the package
// comment. The model is that of the plan's application (session.NewModel). A
// transcript that breaks off before the session's end is refused too.
func Transcript(signed *protocol.SignedPlan, entries [][]byte, model protocol.Model) (*Report, error) {
	if err := checkPlan(signed); err != nil {
		return nil, err
	}
	r, err := newReader(signed.Plan, entries, model)
	if err != nil {
		return nil, err
	}
	if err := r.session(); err != nil {
		return nil, protocol.Fail(protocol.ClassIntegrity, "transcript: entry %d: %w", r.blame(), err)
	}
	return r.report, r.report.spend(signed.Plan)
}

// checkPlan repeats what reading the plan file checks: a SignedPlan may have
// come here another way. The time of day doesn't matter for a session that is over.
func checkPlan(signed *protocol.SignedPlan) error {
	if err := signed.Plan.Validate(); err != nil {
		return protocol.Fail(protocol.ClassIntegrity, "%w", err)
	}
	if err := signed.Plan.CheckPrivacy(); err != nil {
		return protocol.Fail(protocol.ClassIntegrity, "%w", err)
	}
	if m := signed.Missing(); len(m) > 0 {
		return protocol.Fail(protocol.ClassIntegrity, "plan: not signed by %v", m)
	}
	s := protocol.Bind(signed.Plan)
	for _, e := range signed.Accepts {
		if err := s.Check(e); err != nil {
			return protocol.Fail(protocol.ClassIntegrity, "plan: %w", err)
		}
		if m, err := protocol.Decode(e); err != nil {
			return protocol.Fail(protocol.ClassIntegrity, "plan: %w", err)
		} else if _, ok := m.(*protocol.Accept); !ok {
			return protocol.Fail(protocol.ClassIntegrity, "plan: a %s stands among the signatures", e.Kind)
		}
	}
	return nil
}

// reader walks through a transcript.
type reader struct {
	s       protocol.BoundPlan
	n, m    int
	entries [][]byte
	next    int // entries taken
	model   protocol.Model
	now     []int64 // the public model
	maxSum  uint64
	bases   *commit.Generators // nil without audit
	report  *Report

	key   protocol.Digest // of the aggregator's key
	opens map[uint32]bool
}

func newReader(p *protocol.Plan, entries [][]byte, model protocol.Model) (*reader, error) {
	r := &reader{s: protocol.Bind(p), n: p.Parties(), m: p.Computes(), entries: entries, model: model, now: model.Initial(), opens: map[uint32]bool{}}
	var err error
	if r.maxSum, err = p.MaxSum(); err != nil {
		return nil, err
	}
	if r.bases, err = p.Generators(); err != nil {
		return nil, err
	}
	r.report = &Report{Plan: r.s.ID, Models: [][]int64{r.now}, Audited: p.Audit, session: r.s}
	return r, nil
}

// blame is the entry that an error is about: the last one taken.
func (r *reader) blame() int { return max(0, r.next-1) }

// take reads the next entry as a signed message.
func (r *reader) take() (*protocol.Envelope, protocol.Message, error) {
	if r.next >= len(r.entries) {
		r.next = len(r.entries) + 1 // the entry that is missing
		return nil, nil, errors.New("the transcript breaks off before the session's end")
	}
	r.next++
	return r.s.Receive(r.entries[r.next-1])
}

// peek is the next entry's kind, unchecked; 0 at the end.
func (r *reader) peek() protocol.Kind {
	if r.next >= len(r.entries) || len(r.entries[r.next]) == 0 {
		return 0
	}
	return protocol.Kind(r.entries[r.next][0])
}

// expect reads the next entry as a message of one type.
func expect[M protocol.Message](r *reader) (uint32, M, error) {
	var none M
	e, m, err := r.take()
	if err != nil {
		return 0, none, err
	}
	want, ok := m.(M)
	if !ok {
		return 0, none, fmt.Errorf("%w: a %s by %s stands here", protocol.ErrMismatch, e.Kind, r.s.Name(e.From))
	}
	return e.From, want, nil
}

// session is the whole grammar.
func (r *reader) session() error {
	from, key, err := expect[*protocol.Key](r)
	if err != nil {
		return err
	}
	if from != r.s.Plan.Aggregator() {
		return fmt.Errorf("%w: %s's key, not the aggregator's", protocol.ErrMismatch, r.s.Name(from))
	}
	r.key = protocol.KeyDigest(r.s, from, key.Public)
	if err := r.members(); err != nil {
		return err
	}
	for over := false; !over; {
		if over, err = r.step(); err != nil {
			return err
		}
	}
	if r.next < len(r.entries) {
		r.next++
		return fmt.Errorf("%w: the session was over", protocol.ErrMismatch)
	}
	return nil
}

// step takes an attempt, or the abort, and reports whether the session is over.
func (r *reader) step() (over bool, err error) {
	if r.peek() == protocol.KindAbort {
		return true, r.abort()
	}
	a, err := r.open()
	if err != nil {
		return false, err
	}
	if err := r.members(); err != nil {
		return false, err
	}
	if r.peek() == protocol.KindAbort {
		return true, r.abort()
	}
	if r.broken() {
		return true, r.testimonies(a)
	}
	if err := r.attempt(a); err != nil {
		return false, err
	}
	return a.Outcome != protocol.OutcomeVoid && a.Round == r.s.Plan.Rounds, nil
}

// members takes the channels that members opened to the aggregator.
func (r *reader) members() error {
	for r.peek() == protocol.KindOpen {
		from, m, err := expect[*protocol.Open](r)
		switch {
		case err != nil:
			return err
		case m.To != r.s.Plan.Aggregator() || m.Key != r.key:
			return fmt.Errorf("%w: %s opened a channel to another key", protocol.ErrMismatch, r.s.Name(from))
		case r.opens[from]:
			return fmt.Errorf("%w: %s opened two channels", protocol.ErrEquivocate, r.s.Name(from))
		}
		r.opens[from] = true
	}
	return nil
}

func (r *reader) abort() error {
	_, m, err := expect[*protocol.Abort](r)
	if err != nil {
		return err
	}
	r.report.Aborted = m.Cause().Error()
	return nil
}

// open takes the Round that opens the next attempt.
func (r *reader) open() (*Attempt, error) {
	_, m, err := expect[*protocol.Round](r)
	if err != nil {
		return nil, err
	}
	round, number := r.expected()
	spares := len(r.report.Attempts) - r.report.Rounds()
	switch {
	case m.Round != round || m.Attempt != number:
		return nil, fmt.Errorf("%w: round %d attempt %d where round %d attempt %d is due", protocol.ErrMismatch, m.Round, m.Attempt, round, number)
	case spares > int(r.s.Plan.SpareAttempts):
		return nil, fmt.Errorf("%w: round %d attempt %d is one more than the plan's %d spare attempts", protocol.ErrMismatch, m.Round, m.Attempt, r.s.Plan.SpareAttempts)
	case m.Model != protocol.IntDigest(r.now):
		return nil, fmt.Errorf("%w: round %d is opened on another model than the results before it lead to", protocol.ErrMismatch, m.Round)
	}
	r.report.Attempts = append(r.report.Attempts, Attempt{Round: round, Attempt: number, holds: map[uint32]*protocol.Hold{}})
	return &r.report.Attempts[len(r.report.Attempts)-1], nil
}

// expected is the attempt that must come next.
func (r *reader) expected() (round, attempt uint32) {
	if n := len(r.report.Attempts); n > 0 {
		if last := r.report.Attempts[n-1]; last.Outcome == protocol.OutcomeVoid {
			return last.Round, last.Attempt + 1
		}
	}
	return uint32(r.report.Rounds()) + 1, 1
}
