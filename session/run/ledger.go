package run

import (
	"fmt"

	"choir/party"
	"choir/privacy"
	"choir/privacy/ledger"
	"choir/protocol"
)

// Ledger charges one plan to a party's chain of charges. It implements party.Ledger:
// the machine persists what Charge returns together with the contribution.
type Ledger struct {
	plan  *protocol.Plan
	id    protocol.PlanID
	chain *ledger.Ledger
	own   *ledger.Budget

	// others is the number of charges of other plans when all attempts of this plan
	// were found to be within the budgets; -1: they were not, or not yet.
	others int
}

// NewLedger charges a plan to a chain, which may have charges of other plans on the
// same data. The plan's charges stay within the plan's budget, and all charges of the
// chain within the party's own; if that is nil, the plan's budget bounds all charges.
func NewLedger(s protocol.BoundPlan, chain *ledger.Ledger, own *ledger.Budget) *Ledger {
	if own == nil {
		own = &ledger.Budget{Epsilon: s.Plan.Epsilon, Delta: s.Plan.Delta}
	}
	return &Ledger{plan: s.Plan, id: s.ID, chain: chain, own: own, others: -1}
}

// Charge implements party.Ledger. A plan without an epsilon charges nothing, and its
// releases are not bounded.
func (a *Ledger) Charge(round, attempt uint32) (entry []byte, seq uint64, err error) {
	one, ok := a.plan.Charge(1)
	if !ok {
		return nil, 0, nil
	}
	c := ledger.Charge{Plan: a.id, Round: round, Attempt: attempt, FracBits: a.plan.FracBits,
		Release:  one.Release,
		Relation: privacy.Relation(a.plan.Relation), Sampling: one.Sampling, Rate: one.Rate,
		Count: uint32(one.Count), Shuffled: one.Shuffled}
	if a.chain.Charged(c) {
		return nil, 0, protocol.Fail(protocol.ClassBudget, "round %d attempt %d: %w", round, attempt,
			ledger.ErrCharged)
	}
	if err := a.afford(c); err != nil {
		return nil, 0, protocol.Fail(protocol.ClassBudget, "round %d attempt %d: %w", round, attempt, err)
	}
	e := a.chain.Next(c)
	return e.Marshal(), e.Seq, nil
}

// AffordRest checks before the first round that the party's own budget covers all attempts of the
// plan that are not charged yet, after all other charges of the chain. The error is of
// protocol.ClassBudget.
func (a *Ledger) AffordRest() error {
	rest := a.rest()
	if len(rest) == 0 {
		return nil
	}
	if _, err := a.chain.CanAfford(*a.own, rest...); err != nil {
		mine, _ := a.counts()
		return protocol.Fail(protocol.ClassBudget,
			"the plan's %d attempts that are left do not fit in this party's budget, which [budget] in its file sets "+
				"for all plans together (default: the plan's): %w", a.plan.Releases()-mine, err)
	}
	return nil
}

// Forecast returns what the chain has spent, what it will have with all attempts of the plan, and the
// budget of both. The error wraps [ledger.ErrOverspend] if the budget does not cover that; the bounds
// are then valid too.
func (a *Ledger) Forecast() (spent, after privacy.Bound, of ledger.Budget, err error) {
	if spent, err = a.chain.Spent(a.own.Delta); err == nil {
		after, err = a.chain.CanAfford(*a.own, a.rest()...)
	}
	return spent, after, *a.own, err
}

// rest is a charge for all attempts of the plan that are not charged yet; none if there are none, or
// if the plan claims no epsilon.
func (a *Ledger) rest() []ledger.Charge {
	mine, _ := a.counts()
	left := a.plan.Releases() - mine
	all, ok := a.plan.Charge(left)
	if !ok || left <= 0 {
		return nil
	}
	return []ledger.Charge{{Plan: a.id, FracBits: a.plan.FracBits, Release: all.Release,
		Relation: privacy.Relation(a.plan.Relation), Sampling: all.Sampling, Rate: all.Rate,
		Count: uint32(all.Count), Shuffled: all.Shuffled}}
}

// afford checks that the plan's charges are within the plan's budget and all charges
// within the party's own. Once all attempts that the plan allows are known to be
// within both, single ones are not computed again: with thousands of rounds, or with
// sampling, the accountant would be slower than the rounds.
func (a *Ledger) afford(next ledger.Charge) error {
	mine, others := a.counts()
	within := mine < a.plan.Releases() // CheckPrivacy has checked all of them
	if within && a.others == others {
		return nil
	}
	if !within {
		if err := a.withinPlan(mine + 1); err != nil {
			return fmt.Errorf("the plan's budget: %w", err)
		}
	}
	if within && a.reserve(next, a.plan.Releases()-mine) {
		a.others = others
		return nil
	}
	_, err := a.chain.CanAfford(*a.own, next)
	return err
}

// counts returns the numbers of this plan's charges and of other plans' since the last reset.
func (a *Ledger) counts() (mine, others int) {
	for c := range a.chain.Charges() {
		if c.Plan != a.id {
			others++
		}
	}
	return a.chain.Of(a.id), others
}

// reserve reports whether all remaining attempts of the plan fit in the party's own
// budget, after all charges of the chain.
func (a *Ledger) reserve(next ledger.Charge, attempts int) bool {
	next.Count *= uint32(attempts)
	_, err := a.chain.CanAfford(*a.own, next)
	return err == nil
}

// withinPlan checks a number of attempts against the plan's budget alone.
func (a *Ledger) withinPlan(attempts int) error {
	spent, _, err := a.plan.Spends(attempts)
	if err != nil {
		return err
	}
	if !(spent.Epsilon <= a.plan.Epsilon) {
		return fmt.Errorf("%w: it would bring epsilon to %.6g of %.6g at delta %g", ledger.ErrOverspend,
			spent.Epsilon, a.plan.Epsilon, a.plan.Delta)
	}
	return nil
}

// Append implements party.Ledger.
func (a *Ledger) Append(entry []byte) error {
	if entry == nil { // nothing was charged
		return nil
	}
	var e ledger.Entry
	if err := e.Unmarshal(entry); err != nil {
		return err
	}
	return a.chain.Append(e)
}

var _ party.Ledger = (*Ledger)(nil)
