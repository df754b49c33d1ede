package aggregator

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"choir/crypto/commit"
	"choir/protocol"
)

// advance does whatever the session is ready for.
func (a *Aggregator) advance() {
	switch {
	case a.at.round == 0:
		if a.gathered() {
			a.must(a.open(1, 1))
		}
	case a.summed():
		a.must(a.settle())
	case len(a.at.agrees) == a.m:
		if why := a.voided(); why != nil {
			a.must(a.void(why))
		}
	}
}

func (a *Aggregator) must(err error) {
	if err != nil && !a.ended {
		a.finish(fmt.Errorf("aggregator: round %d: %w", a.at.round, err))
	}
}

// open starts an attempt on the current model. Under a plan that has expired none starts.
func (a *Aggregator) open(round, number uint32) error {
	if a.now/1000 > a.s.Plan.NotAfter {
		a.at = attempt{round: a.at.round, attempt: a.at.attempt} // it is over, and on record
		return protocol.Fail(protocol.ClassIntegrity, "%w: round %d doesn't begin", protocol.ErrExpired, round)
	}
	if err := a.charge(round, number); err != nil {
		return err
	}
	b, err := a.sign(&protocol.Round{Round: round, Attempt: number, Model: a.modelDigest})
	if err != nil {
		return err
	}
	a.begin(round, number, b)
	a.eff.Put("round", b)
	a.record(b)
	a.eff.Emit(a.s.SubjectControl(), b)
	a.eff.Note(protocol.Notice{Code: protocol.NoteRound, Round: round, Attempt: number, Total: int(a.s.Plan.Rounds)})
	a.seen = a.now
	return nil
}

// charge puts the attempt on the plan's ledger, durable with its opening.
func (a *Aggregator) charge(round, number uint32) error {
	if a.cfg.Ledger == nil {
		return nil
	}
	entry, seq, err := a.cfg.Ledger.Charge(round, number)
	if err != nil || entry == nil {
		return err
	}
	a.eff.Put(fmt.Sprintf("spent/%08d", seq), entry)
	return a.cfg.Ledger.Append(entry)
}

func (a *Aggregator) begin(round, number uint32, open []byte) {
	a.at = attempt{round: round, attempt: number, open: open, holds: map[uint32]*protocol.Hold{},
		agrees: map[uint32]*protocol.Agree{}, commits: map[uint32]account{}, partials: map[uint32]*partial{}}
}

// forget deletes what only the open attempt needed.
func (a *Aggregator) forget() {
	memory := protocol.StepView{View: a.view, Step: a.eff} // what this step took in goes as well
	for _, kind := range []string{"commit", "hold", "agree", "psum"} {
		for _, key := range memory.Keys(fmt.Sprintf("%s/%d/%d/", kind, a.at.round, a.at.attempt)) {
			a.eff.Delete(key)
		}
	}
}

// when refuses what isn't for the open attempt.
func (a *Aggregator) when(round, number uint32) error {
	switch {
	case round == a.at.round && number == a.at.attempt:
		return nil
	case round < a.at.round || (round == a.at.round && number < a.at.attempt):
		return errDuplicate // of an attempt that is settled
	}
	return fmt.Errorf("%w: round %d attempt %d", protocol.ErrEarly, round, number)
}

func (a *Aggregator) key(kind string, member uint32, rest ...any) string {
	key := fmt.Sprintf("%s/%d/%d/%d", kind, a.at.round, a.at.attempt, member)
	for _, r := range rest {
		key += fmt.Sprintf("/%v", r)
	}
	return key
}

// keep takes in a member's message for the attempt, once; another one for the
// same purpose is equivocation.
func (a *Aggregator) keep(kind string, from uint32, data []byte) error {
	key := a.key(kind, from)
	if have := (protocol.StepView{View: a.view, Step: a.eff}).Get(key); have != nil {
		if !bytes.Equal(have, data) {
			return fmt.Errorf("%w: %s by %s", protocol.ErrEquivocate, kind, a.s.Name(from))
		}
		return errDuplicate
	}
	a.eff.Put(key, data)
	a.seen = a.now
	return nil
}

// commit keeps a party's account for the transcript. Once the set is agreed, an
// account that it doesn't count makes way for the one that it does: a party that
// signed two, one for the nodes and one for the aggregator, must not stop the round.
func (a *Aggregator) commit(from uint32, m *protocol.Contribution, data []byte) error {
	if err := a.when(m.Round, m.Attempt); err != nil {
		return err
	}
	bundle, err := m.BundleDigest(a.s, from)
	if err != nil {
		return err
	}
	if have, ok := a.at.commits[from]; ok && have.bundle != bundle && a.counts(from, bundle) {
		a.eff.Put(a.key("commit", from), data)
		a.seen = a.now
	} else if err := a.keep("commit", from, data); err != nil {
		return err
	}
	a.at.commits[from] = account{bundle, m.Commitment}
	return nil
}

// counts reports that all lists are here and have the contribution in common.
func (a *Aggregator) counts(party uint32, bundle protocol.Digest) bool {
	e, ok := protocol.Find(a.agreedSet(), party)
	return ok && e.Bundle == bundle
}

// agreedSet is the set when all lists are here, nil before.
func (a *Aggregator) agreedSet() []protocol.Entry {
	if len(a.at.holds) < a.m {
		return nil
	}
	return a.set()
}

func (a *Aggregator) hold(from uint32, m *protocol.Hold, data []byte) error {
	if err := a.when(m.Round, m.Attempt); err != nil {
		return err
	}
	if err := a.s.CheckSet(m.Entries); err != nil {
		return err
	}
	if err := a.keep("hold", from, data); err != nil {
		return err
	}
	a.at.holds[from] = m
	return nil
}

func (a *Aggregator) agree(from uint32, m *protocol.Agree, data []byte) error {
	if err := a.when(m.Round, m.Attempt); err != nil {
		return err
	}
	if err := a.keep("agree", from, data); err != nil {
		return err
	}
	a.at.agrees[from] = m
	return nil
}

// voided says why the agreed sets allow no reveal, nil when they do. No honest
// node reveals then, so a new attempt is safe.
func (a *Aggregator) voided() error {
	first := a.at.agrees[a.node(0)]
	for k := range a.m {
		if g := a.at.agrees[a.node(k)]; g.Set != first.Set || g.Count != first.Count {
			return fmt.Errorf("%w: %s and %s signed different sets", protocol.ErrMismatch, a.s.Name(a.node(0)), a.s.Name(a.node(k)))
		}
	}
	if first.Count < a.s.Plan.MinParties {
		return fmt.Errorf("%w: %d of %d", protocol.ErrSmallSet, first.Count, a.s.Plan.MinParties)
	}
	return nil
}

// void ends an attempt in which nothing is revealed and opens another, as long
// as the budget pays for one.
func (a *Aggregator) void(why error) error {
	r := &protocol.Result{Round: a.at.round, Attempt: a.at.attempt, Outcome: protocol.OutcomeVoid}
	a.eff.Note(protocol.Notice{Code: protocol.NoteResult, Round: r.Round, Attempt: r.Attempt, Detail: r.Outcome.String(), Err: why})
	a.recordAttempt()
	if err := a.publish(r, nil, nil); err != nil {
		return err
	}
	a.forget()
	if a.spares >= a.s.Plan.SpareAttempts {
		return protocol.Fail(protocol.ClassQuorum, "no spare attempt is left: %w", why)
	}
	a.spares++
	a.eff.Put("attempts", binary.BigEndian.AppendUint32(nil, a.spares))
	return a.open(r.Round, r.Attempt+1)
}

// settle takes the sum of the partial sums, moves the model, publishes the result and
// opens the next round.
func (a *Aggregator) settle() error {
	r := &protocol.Result{Round: a.at.round, Attempt: a.at.attempt, Set: a.set()}
	for k := range a.m {
		r.Partials = append(r.Partials, a.at.partials[a.node(k)].head.Vector)
	}
	ints, digest, packed := a.at.total.end()
	r.Aggregate = digest
	if err := a.audit(r.Set, ints); err != nil {
		return err
	}
	next, model, why := a.decide(r, ints)
	if model == nil { // the sum is the model: one record has both
		model, packed = packed, nil
	}
	a.eff.Note(protocol.Notice{Code: protocol.NoteResult, Round: r.Round, Attempt: r.Attempt, Count: len(r.Set), Total: a.n, Detail: r.Outcome.String(), Err: why})
	a.recordAttempt()
	a.recordPartials()
	if err := a.publish(r, ints, packed); err != nil {
		return err
	}
	a.model, a.modelDigest = next, r.Next
	a.eff.Put("model", model)
	a.forget()
	if r.Round == a.s.Plan.Rounds {
		a.eff.Note(protocol.Notice{Code: protocol.NoteCompleted, Round: r.Round})
		if err := a.lastWords(); err != nil {
			return err
		}
		a.finish(nil)
		return nil
	}
	return a.open(r.Round+1, 1)
}

// decide moves the model by the sum. why is what the sum is rejected for; the model stays
// then. packed is the next model's packed form, nil when the model is the sum.
func (a *Aggregator) decide(r *protocol.Result, sum []int64) (next []int64, packed []byte, why error) {
	r.Outcome = protocol.OutcomeAccepted
	if next, why = a.fold(sum); why != nil {
		r.Outcome, next = protocol.OutcomeRejected, a.model
	}
	if r.Next = protocol.ReuseIntDigest(r.Aggregate, sum, next); r.Next != r.Aggregate {
		packed = protocol.PackInts(next)
	}
	return next, packed, why
}

// audit opens the set's commitments to the sum. When they don't open, a node
// summed something else, or a party committed to something else: nobody can say
// who, and the session can't go on.
func (a *Aggregator) audit(set []protocol.Entry, sum []int64) error {
	if !a.s.Plan.Audit {
		return nil
	}
	commitments, blindings := make([]commit.Commitment, len(set)), make([][32]byte, a.m)
	for i, e := range set {
		commitments[i] = a.at.commits[e.Party].commitment
	}
	for k := range blindings {
		blindings[k] = a.at.partials[a.node(k)].head.Blinding
	}
	if err := protocol.CheckOpening(a.cfg.Bases, commitments, blindings, sum); err != nil {
		return protocol.Fail(protocol.ClassIntegrity, "audit: %w", err)
	}
	return nil
}

// fold applies the sum, or says why it can't be one that the plan allows: an
// overflow that happened anyway, or a node that summed something else.
func (a *Aggregator) fold(sum []int64) ([]int64, error) {
	coordinates, err := a.s.Plan.OpenSum(sum, a.maxSum)
	if err != nil {
		return nil, err
	}
	return a.cfg.Model.Fold(a.at.round, a.model, coordinates)
}

// set is the agreed set: the intersection of the nodes' lists, which their
// agrees signed. All lists must be here; the first of each node counts, so it is
// worked out once.
func (a *Aggregator) set() []protocol.Entry {
	if a.at.agreed == nil {
		holds := make([]*protocol.Hold, a.m)
		for k := range holds {
			holds[k] = a.at.holds[a.node(k)]
		}
		a.at.agreed = protocol.Intersect(holds)
	}
	return a.at.agreed
}

// setDigest is the agreed set's digest.
func (a *Aggregator) setDigest() protocol.Digest {
	if a.at.digest == nil {
		d := protocol.SetDigest(a.s, a.at.round, a.at.attempt, a.set())
		a.at.digest = &d
	}
	return *a.at.digest
}

// node is the k-th compute node's index.
func (a *Aggregator) node(k int) uint32 { return uint32(a.n + k) }
