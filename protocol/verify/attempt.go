package verify

import (
	"fmt"
	"slices"

	"choir/crypto/commit"
	"choir/crypto/field"
	"choir/crypto/fixedpoint"
	"choir/crypto/share"
	"choir/protocol"
)

// contribution is a party's manifest on record.
type contribution struct {
	m      *protocol.Contribution
	bundle protocol.Digest
}

// attempt reads an attempt from the contributions to the result.
func (r *reader) attempt(a *Attempt) error {
	contributions, err := r.contributions(a)
	if err != nil {
		return err
	}
	if err := r.lists(a); err != nil {
		return err
	}
	agrees, err := r.agrees(a)
	if err != nil {
		return err
	}
	why := r.noReveal(agrees)
	if r.peek() == protocol.KindResult {
		return r.void(a, why)
	}
	if why != nil {
		r.next++
		return fmt.Errorf("a reveal although %w", why)
	}
	if err := r.agreedSet(a, agrees[0], contributions); err != nil {
		return err
	}
	return r.revealed(a, agrees, contributions)
}

// node returns the name of the k-th compute node.
func (r *reader) node(k int) string { return r.bound.Name(r.bound.Plan.Compute(k)) }

// inAttempt rejects a message of another attempt.
func inAttempt(a *Attempt, round, attempt uint32) error {
	if round != a.Round || attempt != a.Attempt {
		return mismatch("it is for round %d attempt %d, in round %d attempt %d", round, attempt, a.Round, a.Attempt)
	}
	return nil
}

// after rejects a sender out of roster order, and therefore also a second message of a sender.
func after(from uint32, last *int64) error {
	if int64(from) <= *last {
		return mismatch("out of roster order")
	}
	*last = int64(from)
	return nil
}

func (r *reader) contributions(a *Attempt) (map[uint32]contribution, error) {
	contributions := map[uint32]contribution{}
	last, model := int64(-1), r.modelDigest()
	for r.peek() == protocol.KindContribution {
		from, m, err := expect[*protocol.Contribution](r)
		if err != nil {
			return nil, err
		}
		if err := r.checkContribution(a, from, m, model); err != nil {
			return nil, err
		}
		if err := after(from, &last); err != nil {
			return nil, err
		}
		bundle, err := m.BundleDigest(r.bound, from)
		if err != nil {
			return nil, err
		}
		contributions[from] = contribution{m, bundle}
	}
	return contributions, nil
}

func (r *reader) checkContribution(
	a *Attempt, from uint32, m *protocol.Contribution, model protocol.Digest,
) error {
	if err := inAttempt(a, m.Round, m.Attempt); err != nil {
		return err
	}
	switch {
	case m.Last != r.last:
		return mismatch("%s contributed after another result", r.bound.Name(from))
	case m.Model != model:
		return mismatch("%s contributed to another model", r.bound.Name(from))
	case len(m.Confirm) != r.computes,
		int(m.Explicit) != share.ExplicitIndex(int(from), int(a.Round), r.computes):
		return mismatch("%s sent its explicit share to another node than its turn", r.bound.Name(from))
	}
	return r.bound.CheckAudit(m)
}

// lists reads the nodes' held lists. A void attempt may lack some.
func (r *reader) lists(a *Attempt) error {
	last := int64(-1)
	for r.peek() == protocol.KindHold {
		from, m, err := expect[*protocol.Hold](r)
		if err != nil {
			return err
		}
		if err := inAttempt(a, m.Round, m.Attempt); err != nil {
			return err
		}
		if err := after(from, &last); err != nil {
			return err
		}
		if err := r.bound.CheckSet(m.Entries); err != nil {
			return err
		}
		if m.Last != r.last {
			return mismatch("the list of %s follows another result", r.bound.Name(from))
		}
		a.holds[from] = m
	}
	return nil
}

// agrees reads the signatures of all M nodes on the set.
func (r *reader) agrees(a *Attempt) ([]*protocol.Agree, error) {
	agrees := make([]*protocol.Agree, r.computes)
	for k := range agrees {
		from, m, err := expect[*protocol.Agree](r)
		if err != nil {
			return nil, err
		}
		if want := r.bound.Plan.Compute(k); from != want {
			return nil, mismatch("the agree of %s where that of %s is due", r.bound.Name(from), r.bound.Name(want))
		}
		if err := inAttempt(a, m.Round, m.Attempt); err != nil {
			return nil, err
		}
		agrees[k] = m
	}
	return agrees, nil
}

// noReveal returns why the signed sets allow no reveal, nil if they allow one.
func (r *reader) noReveal(agrees []*protocol.Agree) error {
	for k, g := range agrees {
		if !g.Equal(agrees[0]) {
			return mismatch("%s and %s signed different sets", r.node(0), r.node(k))
		}
	}
	if agrees[0].Count < r.bound.Plan.MinParties {
		return fmt.Errorf("%w: %d of %d", protocol.ErrSmallSet, agrees[0].Count, r.bound.Plan.MinParties)
	}
	return nil
}

// void reads the result of an attempt in which nothing may be revealed.
func (r *reader) void(a *Attempt, why error) error {
	_, m, err := expect[*protocol.Result](r)
	if err != nil {
		return err
	}
	if err := inAttempt(a, m.Round, m.Attempt); err != nil {
		return err
	}
	switch {
	case m.Outcome != protocol.OutcomeVoid:
		return mismatch("%s without partial sums", m.Outcome)
	case why == nil:
		return mismatch("void although all nodes signed one set of enough parties")
	}
	a.Outcome = m.Outcome
	return r.settle(a, nil, nil)
}

// settle keeps what the nodes must confirm of the result that was just read.
func (r *reader) settle(a *Attempt, vectors []field.Vector, openings []protocol.Opening) (err error) {
	if a.result, err = protocol.NewResultProof(r.entries[r.next-1]); err != nil {
		return err
	}
	r.due = newConfirms(r.bound, a.result, vectors, openings)
	if a.Outcome != protocol.OutcomeVoid {
		r.last = a.result.Digest
	}
	return nil
}

// agreedSet recomputes the set and finds the contribution of each of its entries.
func (r *reader) agreedSet(a *Attempt, agree *protocol.Agree, contributions map[uint32]contribution) error {
	holds := make([]*protocol.Hold, r.computes)
	for k := range holds {
		if holds[k] = a.holds[r.bound.Plan.Compute(k)]; holds[k] == nil {
			return mismatch("the list of %s is not on record", r.bound.Name(r.bound.Plan.Compute(k)))
		}
	}
	a.set = protocol.Intersect(holds)
	if int(agree.Count) != len(a.set) || agree.Set != protocol.SetDigest(r.bound, a.Round, a.Attempt, a.set) {
		return mismatch("the nodes signed another set than their lists have in common")
	}
	for _, e := range a.set {
		if c, ok := contributions[e.Party]; !ok || c.bundle != e.Bundle {
			return mismatch("the set counts a contribution of %s that is not on record", r.bound.Name(e.Party))
		}
		a.Set = append(a.Set, r.bound.Name(e.Party))
	}
	for party := range contributions {
		if _, in := protocol.Find(a.set, party); !in {
			a.Uncounted = append(a.Uncounted, r.bound.Name(party))
		}
	}
	slices.Sort(a.Uncounted)
	return nil
}

// revealed reads the partial sums and the result that follows from them.
func (r *reader) revealed(a *Attempt, agrees []*protocol.Agree, contributions map[uint32]contribution) error {
	sum := make(field.Vector, r.bound.Plan.Elements())
	partials := make([]protocol.Digest, r.computes)
	blindings := make([][32]byte, r.computes)
	vectors, openings := make([]field.Vector, r.computes), make([]protocol.Opening, r.computes)
	for k := range r.computes {
		m, v, o, err := r.partial(a, k, agrees[k])
		if err != nil {
			return err
		}
		sum.Add(v)
		partials[k], blindings[k] = m.Vector, o.Blinding
		vectors[k], openings[k] = v, o
	}
	ints := make([]int64, len(sum))
	fixedpoint.FromField(ints, sum)
	if err := r.audit(a, agrees[0], contributions, blindings, ints); err != nil {
		return err
	}
	if err := r.result(a, agrees[0], partials, ints); err != nil {
		return err
	}
	return r.settle(a, vectors, openings)
}

// partial reads node k's signed partial sum and its vector.
func (r *reader) partial(
	a *Attempt, k int, agree *protocol.Agree,
) (m *protocol.Partial, v field.Vector, o protocol.Opening, err error) {
	from, m, err := expect[*protocol.Partial](r)
	if err != nil {
		return nil, nil, o, err
	}
	if err := inAttempt(a, m.Round, m.Attempt); err != nil {
		return nil, nil, o, err
	}
	switch {
	case from != r.bound.Plan.Compute(k):
		return nil, nil, o, mismatch("the partial sum of %s where that of %s is due", r.bound.Name(from), r.node(k))
	case m.Set != agree.Set:
		return nil, nil, o, mismatch("%s revealed over another set than it agreed to", r.bound.Name(from))
	}
	if m.Vector != agree.Partial {
		return nil, nil, o, mismatch("%s revealed another partial sum than it agreed with", r.bound.Name(from))
	}
	if r.next++; r.next > len(r.entries) {
		return nil, nil, o, mismatch("the vector of %s is missing", r.bound.Name(from))
	}
	v, o, ok := protocol.ParseTranscriptVector(r.entries[r.next-1], r.bound.Plan.Elements())
	switch {
	case !ok || protocol.VectorDigest(v, o) != m.Vector:
		return nil, nil, o, mismatch("the vector is not the one that %s signed", r.bound.Name(from))
	case !r.bound.Plan.Audit && o.Blinding != [32]byte{}:
		return nil, nil, o, mismatch("a blinding sum by %s under a plan without audit", r.bound.Name(from))
	}
	return m, v, o, nil
}

// audit checks that the set's commitments open to the aggregate.
func (r *reader) audit(
	a *Attempt, agree *protocol.Agree, contributions map[uint32]contribution, blindings [][32]byte, sum []int64,
) error {
	if !r.bound.Plan.Audit {
		return nil
	}
	if r.bases == nil { // a record without sums must not cost their time and memory
		var err error
		if r.bases, err = r.bound.Plan.Generators(); err != nil {
			return err
		}
	}
	set := make([]commit.Commitment, len(a.set))
	for i, e := range a.set {
		set[i] = contributions[e.Party].m.Commitment
	}
	if total, err := commit.Sum(set); err != nil || total != agree.Commitments {
		return mismatch("the nodes signed another sum of commitments than the set has: %v", err)
	}
	return protocol.CheckOpening(r.bases, set, blindings, sum)
}

// result reads the result and checks it against the sums.
func (r *reader) result(
	a *Attempt, agree *protocol.Agree, partials []protocol.Digest, sum []int64,
) error {
	_, m, err := expect[*protocol.Result](r)
	if err != nil {
		return err
	}
	if err := inAttempt(a, m.Round, m.Attempt); err != nil {
		return err
	}
	outcome, next, coordinates := r.fold(a.Round, sum)
	switch {
	case !slices.Equal(m.Set, a.set):
		return mismatch("the result names another set than was agreed")
	case !slices.Equal(m.Partials, partials):
		return mismatch("the result names other partial sums than the nodes revealed")
	case m.Commitments != agree.Commitments:
		return mismatch("the result names another sum of commitments than the nodes signed")
	case m.Aggregate != r.digest(a.Round, sum):
		return mismatch("the result names another aggregate than the partial sums add up to")
	case m.Outcome != outcome:
		return mismatch("the result's outcome is %s, recomputing gives %s", m.Outcome, outcome)
	case m.Next != protocol.ReuseIntDigest(r.keys.Key(a.Round), m.Aggregate, sum, next):
		return mismatch("the result names another model than the aggregate leads to")
	}
	a.Outcome = outcome
	a.Aggregate = coordinates
	r.current = next
	r.report.Models = append(r.report.Models, next)
	r.report.Releases++
	return nil
}

// fold returns the model after the round, which is the model before it if the sum is rejected,
// and the sum's coordinates.
func (r *reader) fold(round uint32, sum []int64) (outcome protocol.Outcome, next, coordinates []int64) {
	r.begin()
	coordinates, err := r.bound.Plan.OpenSum(sum, r.maxSum)
	if err == nil {
		next, err = r.model.Fold(round, r.current, coordinates)
	}
	if err != nil {
		return protocol.OutcomeRejected, r.current, coordinates
	}
	return protocol.OutcomeAccepted, next, coordinates
}
