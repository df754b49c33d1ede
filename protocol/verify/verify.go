package verify

import (
	"errors"
	"fmt"
	"slices"

	"choir/crypto/commit"
	"choir/protocol"
)

// Transcript checks a session's transcript against its plan; see the package comment. The model
// must be that of the plan's application (session.NewModel). A transcript may end between two
// attempts or in an open one, as that of a session that was stopped does: Report.Stopped. One that
// breaks off anywhere else is rejected.
func Transcript(signed *protocol.SignedPlan, entries [][]byte, model protocol.Model) (*Report, error) {
	if err := checkPlan(signed); err != nil {
		return nil, err
	}
	if signed.Plan.Mixes() {
		return mixed(signed.Plan, entries, model)
	}
	r, err := newReader(signed.Plan, entries, model)
	if err != nil {
		return nil, err
	}
	if err := r.session(); err != nil {
		return nil, protocol.Fail(protocol.ClassIntegrity, "transcript: entry %d: %w", r.blame(), err)
	}
	r.report.Unconfirmed = r.due != nil && r.due.sum && r.due.given < r.computes
	return r.report, r.report.spend(signed.Plan, len(r.report.Attempts))
}

// checkPlan repeats the checks of reading a plan file, since a SignedPlan can have another
// source. It ignores the current time: the session is over.
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
			return protocol.Fail(protocol.ClassIntegrity, "plan: a %s among the signatures", e.Kind)
		}
	}
	return nil
}

// reader reads a transcript entry by entry.
type reader struct {
	bound    protocol.BoundPlan
	computes int // number of compute nodes
	entries  [][]byte
	next     int // index of the next entry
	model    protocol.Model
	current  []int64 // the public model; nil: the initial one, which begin makes
	zeros    int     // the length of an initial model of zeros
	maxSum   protocol.SumLimit
	bases    *commit.Generators // nil without audit, or before the first sum
	report   *Report

	key   protocol.Digest      // of the aggregator's key
	keys  *protocol.DigestKeys // of the digests of models and aggregates
	opens map[uint32]bool      // members with a channel to the aggregator
	last  protocol.Digest      // ResultDigest of the last result of a sum
	due   *confirms            // of the last result; nil before the first
}

func newReader(p *protocol.Plan, entries [][]byte, model protocol.Model) (*reader, error) {
	r := &reader{
		bound:    protocol.Bind(p),
		computes: p.Computes(),
		entries:  entries,
		model:    model,
		opens:    map[uint32]bool{},
	}
	// What a plan alone asks for is not made: a model of zeros, of up to 2^28 numbers, is made when a sum is
	// on record.
	if m, ok := model.(interface{ Zeros() int }); ok {
		r.zeros = m.Zeros()
	} else if err := checkSize(p, entries); err != nil {
		return nil, err
	} else {
		r.current = model.Initial()
	}
	var err error
	if r.maxSum, err = p.MaxSum(); err != nil {
		return nil, err
	}
	r.report = &Report{Plan: r.bound.ID, Models: [][]int64{r.current}, Audited: p.Audit, session: r.bound,
		initial: model.Initial}
	return r, nil
}

// mostUnseen is the number of coordinates of a sum up to which a verifier makes a model though the record has
// no sum, as by a plan file alone.
const mostUnseen = 1 << 24

// checkSize refuses a plan of long models if the record has no vector of such a length.
func checkSize(p *protocol.Plan, entries [][]byte) error {
	long := func(entry []byte) bool { return len(entry) > 8*p.Elements() }
	if p.Dim <= mostUnseen || slices.ContainsFunc(entries, long) {
		return nil
	}
	return protocol.Fail(protocol.ClassInput, "plan: a sum has %d coordinates, and the record has no sum: more "+
		"than %d are not computed for that; verify a later record", p.Dim, mostUnseen)
}

// begin makes the initial model, before the first sum is folded into it.
func (r *reader) begin() {
	if r.current == nil {
		r.current = r.model.Initial()
		r.report.Models[0] = r.current
	}
}

// modelDigest is the digest of the model after the rounds so far.
func (r *reader) modelDigest() protocol.Digest {
	key := r.keys.Key(uint32(r.report.Rounds()))
	if r.current == nil {
		return protocol.ZerosDigest(key, r.zeros)
	}
	return protocol.IntDigest(key, r.current)
}

// mismatch returns an ErrMismatch with a message.
func mismatch(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{protocol.ErrMismatch}, args...)...)
}

// blame is the entry that an error is about: the last one read.
func (r *reader) blame() int { return max(0, r.next-1) }

// read reads the next entry as a signed message.
func (r *reader) read() (*protocol.Envelope, protocol.Message, error) {
	if r.next >= len(r.entries) {
		r.next = len(r.entries) + 1 // the missing entry
		return nil, nil, errors.New("the transcript breaks off before the session's end")
	}
	r.next++
	return r.bound.Receive(r.entries[r.next-1])
}

// peek returns the next entry's kind, unchecked; 0 at the end.
func (r *reader) peek() protocol.Kind {
	if r.next >= len(r.entries) || len(r.entries[r.next]) == 0 {
		return 0
	}
	return protocol.Kind(r.entries[r.next][0])
}

// expect reads the next entry as a message of one type.
func expect[M protocol.Message](r *reader) (uint32, M, error) {
	var zero M
	e, m, err := r.read()
	if err != nil {
		return 0, zero, err
	}
	want, ok := m.(M)
	if !ok {
		return 0, zero, mismatch("a %s by %s", e.Kind, r.bound.Name(e.From))
	}
	return e.From, want, nil
}

// session reads the whole transcript.
func (r *reader) session() error {
	from, key, err := expect[*protocol.Key](r)
	if err != nil {
		return err
	}
	if from != r.bound.Plan.Aggregator() {
		return mismatch("%s's key, not the aggregator's", r.bound.Name(from))
	}
	r.key = protocol.KeyDigest(r.bound, from, key.Public)
	secret, ok := r.digestSecret()
	if !ok {
		return mismatch("the secret of the digests is missing")
	}
	r.keys = protocol.NewDigestKeys(secret)
	if err := r.origin(); err != nil {
		return err
	}
	if err := r.members(); err != nil {
		return err
	}
	for over := false; !over; {
		if r.ends() {
			return nil
		}
		if over, err = r.step(); err != nil {
			return err
		}
	}
	if r.next < len(r.entries) {
		r.next++
		return mismatch("the session was over")
	}
	return nil
}

// digestSecret reads the secret of the digests of models and aggregates.
func (r *reader) digestSecret() (s protocol.DigestSecret, ok bool) {
	if r.next++; r.next > len(r.entries) {
		return s, false
	}
	return protocol.ParseTranscriptSecret(r.entries[r.next-1])
}

// origin reads the model that a successor plan goes on from.
func (r *reader) origin() error {
	if r.bound.Plan.After == nil {
		return nil
	}
	if r.next++; r.next > len(r.entries) {
		return mismatch("the predecessor's model is missing")
	}
	entry := r.entries[r.next-1]
	if n := protocol.OriginLen(entry); n != len(r.current) {
		return mismatch("the predecessor's model has %d numbers, not %d", n, len(r.current))
	}
	o, err := r.bound.Plan.OpenOrigin(entry)
	if err != nil {
		return err
	}
	r.current = o.Model
	r.report.Models[0] = o.Model
	return nil
}

// digest is that of the aggregate of a round.
func (r *reader) digest(round uint32, v []int64) protocol.Digest {
	return protocol.IntDigest(r.keys.Key(round), v)
}

// step reads an attempt or the abort, and reports whether the session is over.
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
	if r.ends() {
		return true, nil
	}
	if r.unfinished() {
		return true, r.evidence(a)
	}
	if err := r.confirms(); err != nil {
		return false, err
	}
	if r.ends() {
		return true, nil
	}
	if err := r.attempt(a); err != nil {
		return false, err
	}
	if a.Outcome == protocol.OutcomeVoid || a.Round < r.bound.Plan.Rounds {
		return false, nil
	}
	if r.ends() {
		return true, nil
	}
	if r.unfinished() {
		return true, r.endOfConfirms()
	}
	return true, r.confirms()
}

// ends reports whether the record ends here, before the session did.
func (r *reader) ends() bool {
	r.report.Stopped = r.next == len(r.entries)
	return r.report.Stopped
}

// members reads the Opens of channels to the aggregator.
func (r *reader) members() error {
	for r.peek() == protocol.KindOpen {
		from, m, err := expect[*protocol.Open](r)
		switch {
		case err != nil:
			return err
		case m.To != r.bound.Plan.Aggregator() || m.Key != r.key:
			return mismatch("%s opened a channel to another key", r.bound.Name(from))
		case r.opens[from]:
			return fmt.Errorf("%w: %s opened two channels", protocol.ErrEquivocate, r.bound.Name(from))
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

// open reads the Round that opens the next attempt.
func (r *reader) open() (*Attempt, error) {
	_, m, err := expect[*protocol.Round](r)
	if err != nil {
		return nil, err
	}
	round, attempt := r.expected()
	spares := len(r.report.Attempts) - r.report.Rounds()
	switch {
	case m.Round != round || m.Attempt != attempt:
		return nil, mismatch("round %d attempt %d where round %d attempt %d is due",
			m.Round, m.Attempt, round, attempt)
	case spares > int(r.bound.Plan.SpareAttempts):
		return nil, mismatch("round %d attempt %d is one more than the plan's %d spare attempts",
			m.Round, m.Attempt, r.bound.Plan.SpareAttempts)
	case m.Last != r.last:
		return nil, mismatch("round %d is opened after another result than the one on record", m.Round)
	case m.Model != r.modelDigest():
		return nil, mismatch("round %d is opened on another model than the results before it lead to", m.Round)
	}
	a := Attempt{Round: round, Attempt: attempt, holds: map[uint32]*protocol.Hold{}}
	r.report.Attempts = append(r.report.Attempts, a)
	return &r.report.Attempts[len(r.report.Attempts)-1], nil
}

// expected returns the attempt that must come next.
func (r *reader) expected() (round, attempt uint32) {
	if n := len(r.report.Attempts); n > 0 {
		if last := r.report.Attempts[n-1]; last.Outcome == protocol.OutcomeVoid {
			return last.Round, last.Attempt + 1
		}
	}
	return uint32(r.report.Rounds()) + 1, 1
}
