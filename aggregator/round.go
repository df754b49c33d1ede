package aggregator

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"choir/protocol"
)

// advance does what the session is ready for.
func (a *Aggregator) advance() {
	if a.at.round == 0 {
		if a.ready() {
			a.check(a.openAttempt(1, 1))
		}
		return
	}
	if a.over {
		if a.allConfirmed() {
			a.check(a.complete())
		}
		return
	}
	if len(a.at.agrees) < a.nodes || !a.allConfirmed() {
		return
	}
	if why := a.voided(); why != nil {
		a.check(a.void(why))
		return
	}
	if len(a.at.holds) < a.nodes {
		return
	}
	if err := a.checkPartials(); err != nil {
		a.finish(err)
		return
	}
	a.countManifests()
	if a.summed() {
		a.check(a.settle())
	}
}

// openAttempt opens an attempt on the current model, unless the plan has expired.
func (a *Aggregator) openAttempt(round, number uint32) error {
	if a.s.Plan.Expired(a.now) {
		a.at = attempt{round: a.at.round, number: a.at.number} // it is over and on record
		return protocol.Fail(protocol.ClassIntegrity, "%w: round %d does not begin", protocol.ErrExpired, round)
	}
	if err := a.charge(round, number); err != nil {
		return err
	}
	b, err := a.sign(&protocol.Round{Round: round, Attempt: number, Model: a.modelDigest, Last: a.settled})
	if err != nil {
		return err
	}
	a.begin(round, number, b)
	a.eff.Put("round", b)
	a.record(b)
	a.eff.Emit(a.s.SubjectControl(), b)
	a.eff.Note(protocol.Notice{
		Code:    protocol.NoteRound,
		Round:   round,
		Attempt: number,
		Total:   int(a.s.Plan.Rounds),
	})
	a.seen = a.now
	return nil
}

// charge records the attempt in the plan's ledger, durable with its opening.
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
	a.at = attempt{
		round:     round,
		number:    number,
		open:      open,
		holds:     map[uint32]*protocol.Hold{},
		agrees:    map[uint32]*protocol.Agree{},
		manifests: map[uint32]manifest{},
		partials:  map[uint32]*partial{},
	}
}

// forget deletes the attempt's records, those of the step under way included.
func (a *Aggregator) forget() {
	view := protocol.StepView{View: a.view, Step: a.eff}
	for _, kind := range []string{"commit", "hold", "agree", "psum"} {
		for _, key := range view.Keys(fmt.Sprintf("%s/%d/%d/", kind, a.at.round, a.at.number)) {
			a.eff.Delete(key)
		}
	}
}

// checkAttempt refuses a message that is not for the open attempt.
func (a *Aggregator) checkAttempt(round, number uint32) error {
	switch {
	case a.over:
		return protocol.ErrDuplicate
	case round == a.at.round && number == a.at.number:
		return nil
	case round < a.at.round || (round == a.at.round && number < a.at.number):
		return protocol.ErrDuplicate // of a settled attempt
	}
	return fmt.Errorf("%w: round %d attempt %d", protocol.ErrEarly, round, number)
}

func (a *Aggregator) key(kind string, member uint32, rest ...any) string {
	key := fmt.Sprintf("%s/%d/%d/%d", kind, a.at.round, a.at.number, member)
	for _, r := range rest {
		key += fmt.Sprintf("/%v", r)
	}
	return key
}

// accept stores a member's message of a kind for the attempt, once; another one of the same
// kind is equivocation.
func (a *Aggregator) accept(kind string, from uint32, data []byte) error {
	key := a.key(kind, from)
	if have := (protocol.StepView{View: a.view, Step: a.eff}).Get(key); have != nil {
		if !bytes.Equal(have, data) {
			return fmt.Errorf("%w: %s by %s", protocol.ErrEquivocate, kind, a.s.Name(from))
		}
		return protocol.ErrDuplicate
	}
	a.eff.Put(key, data)
	a.seen = a.now
	return nil
}

// contribution keeps a party's manifest for the transcript. When the set is agreed, the
// manifest that it counts replaces another one: a party that signs two, one for the nodes and
// one for the aggregator, must not stop the round.
func (a *Aggregator) contribution(from uint32, m *protocol.Contribution, data []byte) error {
	if err := a.checkAttempt(m.Round, m.Attempt); err != nil {
		return err
	}
	bundle, err := m.BundleDigest(a.s, from)
	if err != nil {
		return err
	}
	if have, ok := a.at.manifests[from]; ok && have.bundle != bundle && a.counts(from, bundle) {
		a.eff.Put(a.key("commit", from), data)
		a.seen = a.now
	} else if err := a.accept("commit", from, data); err != nil {
		return err
	}
	a.at.manifests[from] = manifest{bundle}
	return nil
}

// counts reports whether all lists have arrived and have the contribution in common.
func (a *Aggregator) counts(party uint32, bundle protocol.Digest) bool {
	if len(a.at.holds) < a.nodes {
		return false
	}
	e, ok := protocol.Find(a.set(), party)
	return ok && e.Bundle == bundle
}

func (a *Aggregator) hold(from uint32, m *protocol.Hold, data []byte) error {
	if err := a.checkAttempt(m.Round, m.Attempt); err != nil {
		return err
	}
	if err := a.s.CheckSet(m.Entries); err != nil {
		return err
	}
	if err := a.accept("hold", from, data); err != nil {
		return err
	}
	a.at.holds[from] = m
	return nil
}

func (a *Aggregator) agree(from uint32, m *protocol.Agree, data []byte) error {
	if err := a.checkAttempt(m.Round, m.Attempt); err != nil {
		return err
	}
	if err := a.accept("agree", from, data); err != nil {
		return err
	}
	a.at.agrees[from] = m
	return nil
}

// voided returns the reason for which the agreed sets allow no reveal, nil if they do allow
// it. No honest node reveals then, so a new attempt is safe.
func (a *Aggregator) voided() error {
	first := a.at.agrees[a.node(0)]
	for k := range a.nodes {
		if g := a.at.agrees[a.node(k)]; !g.Equal(first) {
			return fmt.Errorf("%w: %s and %s signed different sets",
				protocol.ErrMismatch, a.s.Name(a.node(0)), a.s.Name(a.node(k)))
		}
	}
	if first.Count < a.s.Plan.MinParties {
		return fmt.Errorf("%w: %d of %d", protocol.ErrSmallSet, first.Count, a.s.Plan.MinParties)
	}
	return nil
}

// void ends an attempt in which nothing is revealed and opens another, if the plan has a spare
// one left.
func (a *Aggregator) void(why error) error {
	r := &protocol.Result{Round: a.at.round, Attempt: a.at.number, Outcome: protocol.OutcomeVoid}
	a.noteResult(r, 0, why)
	a.recordAttempt()
	if err := a.publish(r, nil, nil); err != nil {
		return err
	}
	if err := a.expect(r, nil); err != nil {
		return err
	}
	a.forget()
	if a.spares >= a.s.Plan.SpareAttempts {
		return protocol.Fail(protocol.ClassQuorum, "no spare attempt is left: %w", why)
	}
	a.spares++
	a.eff.Put("attempts", binary.BigEndian.AppendUint32(nil, a.spares))
	return a.openAttempt(r.Round, r.Attempt+1)
}

func (a *Aggregator) noteResult(r *protocol.Result, total int, why error) {
	a.eff.Note(protocol.Notice{
		Code:    protocol.NoteResult,
		Round:   r.Round,
		Attempt: r.Attempt,
		Count:   len(r.Set),
		Total:   total,
		Detail:  r.Outcome.String(),
		Err:     why,
	})
}

// settle moves the model by the sum of the partial sums, publishes the result and opens the
// next round.
func (a *Aggregator) settle() error {
	r := &protocol.Result{Round: a.at.round, Attempt: a.at.number, Set: a.set()}
	for k := range a.nodes {
		r.Partials = append(r.Partials, a.at.partials[a.node(k)].head.Vector)
	}
	ints, digest, packed := a.at.total.end(a.digestKey(r.Round))
	r.Aggregate = digest
	r.Commitments = a.at.agrees[a.node(0)].Commitments
	if err := a.audit(r, ints); err != nil {
		return err
	}
	openings := make([]protocol.Opening, a.nodes)
	for k := range openings {
		openings[k] = *a.at.partials[a.node(k)].opening
	}
	group := a.groupOf(r.Round)
	var err error
	if r.Trace, err = a.s.SealTrace(group, a.s.ResultContext(group, r), openings); err != nil {
		return err
	}
	next, model, why := a.decide(r, ints)
	if model == nil { // the sum is the model: one record has both
		model, packed = packed, nil
	}
	a.noteResult(r, a.parties, why)
	a.recordAttempt()
	a.recordPartials()
	if err := a.publish(r, ints, packed); err != nil {
		return err
	}
	if err := a.expect(r, openings); err != nil {
		return err
	}
	a.model = next
	a.modelDigest = r.Next
	a.eff.Put("model", model)
	a.forget()
	if r.Round == a.s.Plan.Rounds {
		a.over = true
		a.seen = a.now
		a.at = attempt{round: a.at.round, number: a.at.number}
		return nil
	}
	return a.openAttempt(r.Round+1, 1)
}

// complete ends the session, once every node has confirmed the last result.
func (a *Aggregator) complete() error {
	a.recordConfirms()
	for _, o := range a.last {
		if protocol.IsChunk(o.Data) {
			a.eff.Send = append(a.eff.Send, o)
		}
	}
	a.eff.Note(protocol.Notice{Code: protocol.NoteCompleted, Round: a.at.round})
	if err := a.keepGroupKeys(); err != nil {
		return err
	}
	a.finish(nil)
	return nil
}

// decide moves the model by the sum and sets the result's outcome and next model. why is the
// reason for which the sum is rejected; the model stays then. packed is the next model's
// packed form, nil when the model is the sum.
func (a *Aggregator) decide(r *protocol.Result, sum []int64) (next []int64, packed []byte, why error) {
	r.Outcome = protocol.OutcomeAccepted
	if next, why = a.fold(sum); why != nil {
		r.Outcome = protocol.OutcomeRejected
		next = a.model
	}
	if r.Next = protocol.ReuseIntDigest(a.digestKey(r.Round), r.Aggregate, sum, next); r.Next != r.Aggregate {
		packed = protocol.PackInts(next)
	}
	return next, packed, why
}

// audit checks that the set's commitments open to the sum. If they do not, a node summed
// something else or a party committed to something else. It is not known which, and the
// session cannot continue. It adds to the result what the parties need to check the same.
func (a *Aggregator) audit(r *protocol.Result, sum []int64) error {
	if !a.s.Plan.Audit {
		return nil
	}
	blindings := make([][32]byte, a.nodes)
	for k := range blindings {
		blindings[k] = a.at.partials[a.node(k)].opening.Blinding
	}
	blinding, err := protocol.SumBlindings(blindings)
	if err == nil {
		err = protocol.CheckTotal(a.cfg.Bases, a.at.agrees[a.node(0)].Commitments, blinding, sum)
	}
	if err != nil {
		return protocol.Fail(protocol.ClassIntegrity, "audit: %w", err)
	}
	group := a.groupOf(r.Round)
	r.Blinding, err = a.s.SealBlinding(group, a.s.ResultContext(group, r), blinding)
	return err
}

// fold applies the sum to the model. The error is the reason for which the plan does not allow
// the sum: an overflow, or a node that summed something else.
func (a *Aggregator) fold(sum []int64) ([]int64, error) {
	coordinates, err := a.s.Plan.OpenSum(sum, a.maxSum)
	if err != nil {
		return nil, err
	}
	return a.cfg.Model.Fold(a.at.round, a.model, coordinates)
}

// set returns the agreed set: the intersection of the nodes' lists, which their agrees signed.
// All lists must have arrived. Each node's first list counts, so the set is computed once.
func (a *Aggregator) set() []protocol.Entry {
	if a.at.agreed == nil {
		holds := make([]*protocol.Hold, a.nodes)
		for k := range holds {
			holds[k] = a.at.holds[a.node(k)]
		}
		a.at.agreed = protocol.Intersect(holds)
	}
	return a.at.agreed
}

// setDigest returns the agreed set's digest.
func (a *Aggregator) setDigest() protocol.Digest {
	if a.at.digest == nil {
		d := protocol.SetDigest(a.s, a.at.round, a.at.number, a.set())
		a.at.digest = &d
	}
	return *a.at.digest
}

// node returns the member index of the k-th compute node.
func (a *Aggregator) node(k int) uint32 { return uint32(a.parties + k) }
