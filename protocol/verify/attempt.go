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

// contribution is one party's contribution on record.
type contribution struct {
	m      *protocol.Contribution
	bundle protocol.Digest
}

// attempt takes everything from the contributions to the result.
func (r *reader) attempt(a *Attempt) error {
	accounts, err := r.contributions(a)
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
	if err := r.agreedSet(a, agrees[0], accounts); err != nil {
		return err
	}
	return r.revealed(a, agrees[0], accounts)
}

// timely refuses what isn't of the attempt.
func timely(a *Attempt, round, attempt uint32) error {
	if round != a.Round || attempt != a.Attempt {
		return fmt.Errorf("%w: it is for round %d attempt %d, in round %d attempt %d", protocol.ErrMismatch, round, attempt, a.Round, a.Attempt)
	}
	return nil
}

// after refuses a sender out of roster order, which a second one is too.
func after(from uint32, last *int64) error {
	if int64(from) <= *last {
		return fmt.Errorf("%w: out of roster order", protocol.ErrMismatch)
	}
	*last = int64(from)
	return nil
}

func (r *reader) contributions(a *Attempt) (map[uint32]contribution, error) {
	accounts, last, model := map[uint32]contribution{}, int64(-1), protocol.IntDigest(r.now)
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
		bundle, err := m.BundleDigest(r.s, from)
		if err != nil {
			return nil, err
		}
		accounts[from] = contribution{m, bundle}
	}
	return accounts, nil
}

func (r *reader) checkContribution(a *Attempt, from uint32, m *protocol.Contribution, model protocol.Digest) error {
	if err := timely(a, m.Round, m.Attempt); err != nil {
		return err
	}
	switch {
	case m.Model != model:
		return fmt.Errorf("%w: %s contributed to another model", protocol.ErrMismatch, r.s.Name(from))
	case int(m.Explicit) != share.ExplicitIndex(int(from), int(a.Round), r.m) || len(m.Confirm) != r.m:
		return fmt.Errorf("%w: %s sent its explicit share to another node than its turn", protocol.ErrMismatch, r.s.Name(from))
	}
	return r.s.CheckAudit(m)
}

// lists takes the nodes' holds. A void attempt may lack some.
func (r *reader) lists(a *Attempt) error {
	last := int64(-1)
	for r.peek() == protocol.KindHold {
		from, m, err := expect[*protocol.Hold](r)
		if err != nil {
			return err
		}
		if err := timely(a, m.Round, m.Attempt); err != nil {
			return err
		}
		if err := after(from, &last); err != nil {
			return err
		}
		if err := r.s.CheckSet(m.Entries); err != nil {
			return err
		}
		a.holds[from] = m
	}
	return nil
}

// agrees takes all M nodes' signatures on the set.
func (r *reader) agrees(a *Attempt) ([]*protocol.Agree, error) {
	agrees := make([]*protocol.Agree, r.m)
	for k := range agrees {
		from, m, err := expect[*protocol.Agree](r)
		if err != nil {
			return nil, err
		}
		if want := r.s.Plan.Compute(k); from != want {
			return nil, fmt.Errorf("%w: the agree of %s where that of %s is due", protocol.ErrMismatch, r.s.Name(from), r.s.Name(want))
		}
		if err := timely(a, m.Round, m.Attempt); err != nil {
			return nil, err
		}
		agrees[k] = m
	}
	return agrees, nil
}

// noReveal says why the signed sets allow no reveal, nil when they do.
func (r *reader) noReveal(agrees []*protocol.Agree) error {
	for k, g := range agrees {
		if g.Set != agrees[0].Set || g.Count != agrees[0].Count {
			return fmt.Errorf("%w: %s and %s signed different sets", protocol.ErrMismatch, r.s.Name(r.s.Plan.Compute(0)), r.s.Name(r.s.Plan.Compute(k)))
		}
	}
	if agrees[0].Count < r.s.Plan.MinParties {
		return fmt.Errorf("%w: %d of %d", protocol.ErrSmallSet, agrees[0].Count, r.s.Plan.MinParties)
	}
	return nil
}

// void takes the result of an attempt in which nothing may be revealed.
func (r *reader) void(a *Attempt, why error) error {
	_, m, err := expect[*protocol.Result](r)
	if err != nil {
		return err
	}
	if err := timely(a, m.Round, m.Attempt); err != nil {
		return err
	}
	switch {
	case m.Outcome != protocol.OutcomeVoid:
		return fmt.Errorf("%w: %s without partial sums", protocol.ErrMismatch, m.Outcome)
	case why == nil:
		return fmt.Errorf("%w: void although all nodes signed one set of enough parties", protocol.ErrMismatch)
	}
	a.Outcome = m.Outcome
	return nil
}

// agreedSet recomputes the set and finds each of its contributions.
func (r *reader) agreedSet(a *Attempt, agree *protocol.Agree, accounts map[uint32]contribution) error {
	holds := make([]*protocol.Hold, r.m)
	for k := range holds {
		if holds[k] = a.holds[r.s.Plan.Compute(k)]; holds[k] == nil {
			return fmt.Errorf("%w: the list of %s isn't on record", protocol.ErrMismatch, r.s.Name(r.s.Plan.Compute(k)))
		}
	}
	a.set = protocol.Intersect(holds)
	if int(agree.Count) != len(a.set) || agree.Set != protocol.SetDigest(r.s, a.Round, a.Attempt, a.set) {
		return fmt.Errorf("%w: the nodes signed another set than their lists have in common", protocol.ErrMismatch)
	}
	for _, e := range a.set {
		if c, ok := accounts[e.Party]; !ok || c.bundle != e.Bundle {
			return fmt.Errorf("%w: the set counts a contribution of %s that isn't on record", protocol.ErrMismatch, r.s.Name(e.Party))
		}
		a.Set = append(a.Set, r.s.Name(e.Party))
	}
	for party := range accounts {
		if _, in := protocol.Find(a.set, party); !in {
			a.Uncounted = append(a.Uncounted, r.s.Name(party))
		}
	}
	slices.Sort(a.Uncounted)
	return nil
}

// revealed takes the partial sums and the result that they lead to.
func (r *reader) revealed(a *Attempt, agree *protocol.Agree, accounts map[uint32]contribution) error {
	sum, partials, blindings := make(field.Vector, r.s.Plan.Elements()), make([]protocol.Digest, r.m), make([][32]byte, r.m)
	for k := range r.m {
		m, v, err := r.partial(a, k, agree)
		if err != nil {
			return err
		}
		sum.Add(v)
		partials[k], blindings[k] = m.Vector, m.Blinding
	}
	ints := make([]int64, len(sum))
	fixedpoint.FromField(ints, sum)
	if err := r.audit(a, accounts, blindings, ints); err != nil {
		return err
	}
	return r.result(a, partials, ints)
}

// partial takes node k's signed partial sum and its vector.
func (r *reader) partial(a *Attempt, k int, agree *protocol.Agree) (*protocol.Partial, field.Vector, error) {
	from, m, err := expect[*protocol.Partial](r)
	if err != nil {
		return nil, nil, err
	}
	if err := timely(a, m.Round, m.Attempt); err != nil {
		return nil, nil, err
	}
	switch {
	case from != r.s.Plan.Compute(k):
		return nil, nil, fmt.Errorf("%w: the partial sum of %s where that of %s is due", protocol.ErrMismatch, r.s.Name(from), r.s.Name(r.s.Plan.Compute(k)))
	case m.Set != agree.Set:
		return nil, nil, fmt.Errorf("%w: %s revealed over another set than it agreed to", protocol.ErrMismatch, r.s.Name(from))
	case r.bases == nil && m.Blinding != [32]byte{}:
		return nil, nil, fmt.Errorf("%w: a blinding sum by %s under a plan without audit", protocol.ErrMismatch, r.s.Name(from))
	}
	if r.next++; r.next > len(r.entries) {
		return nil, nil, fmt.Errorf("%w: the vector of %s is missing", protocol.ErrMismatch, r.s.Name(from))
	}
	v, ok := protocol.ParseTranscriptVector(r.entries[r.next-1], r.s.Plan.Elements())
	if !ok || protocol.VectorDigest(v) != m.Vector {
		return nil, nil, fmt.Errorf("%w: the vector isn't the one that %s signed", protocol.ErrMismatch, r.s.Name(from))
	}
	return m, v, nil
}

// audit opens the set's commitments to the aggregate.
func (r *reader) audit(a *Attempt, accounts map[uint32]contribution, blindings [][32]byte, sum []int64) error {
	if r.bases == nil {
		return nil
	}
	set := make([]commit.Commitment, len(a.set))
	for i, e := range a.set {
		set[i] = accounts[e.Party].m.Commitment
	}
	return protocol.CheckOpening(r.bases, set, blindings, sum)
}

// result takes the result and holds it to what the sums lead to.
func (r *reader) result(a *Attempt, partials []protocol.Digest, sum []int64) error {
	_, m, err := expect[*protocol.Result](r)
	if err != nil {
		return err
	}
	if err := timely(a, m.Round, m.Attempt); err != nil {
		return err
	}
	outcome, next, coordinates := r.fold(a.Round, sum)
	switch {
	case !slices.Equal(m.Set, a.set):
		return fmt.Errorf("%w: the result names another set than was agreed", protocol.ErrMismatch)
	case !slices.Equal(m.Partials, partials):
		return fmt.Errorf("%w: the result names other partial sums than the nodes revealed", protocol.ErrMismatch)
	case m.Aggregate != protocol.IntDigest(sum):
		return fmt.Errorf("%w: the result names another aggregate than the partial sums add up to", protocol.ErrMismatch)
	case m.Outcome != outcome:
		return fmt.Errorf("%w: the result says %s, recomputing says %s", protocol.ErrMismatch, m.Outcome, outcome)
	case m.Next != protocol.ReuseIntDigest(m.Aggregate, sum, next):
		return fmt.Errorf("%w: the result names another model than the aggregate leads to", protocol.ErrMismatch)
	}
	a.Outcome, a.Aggregate, r.now = outcome, coordinates, next
	r.report.Models = append(r.report.Models, next)
	r.report.Releases++
	return nil
}

// fold is the model after the round, the old one when the sum can't be folded in, and the
// sum's coordinates.
func (r *reader) fold(round uint32, sum []int64) (outcome protocol.Outcome, next, coordinates []int64) {
	coordinates, err := r.s.Plan.OpenSum(sum, r.maxSum)
	if err == nil {
		next, err = r.model.Fold(round, r.now, coordinates)
	}
	if err != nil {
		return protocol.OutcomeRejected, r.now, coordinates
	}
	return protocol.OutcomeAccepted, next, coordinates
}
