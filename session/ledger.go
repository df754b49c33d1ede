package session

import (
	"errors"
	"fmt"

	"choir/party"
	"choir/privacy"
	"choir/privacy/ledger"
	"choir/protocol"
)

// Account is a party's ledger under one plan, as its machine asks for it. The
// machine persists what Charge returns with the contribution it pays for.
type Account struct {
	plan  *protocol.Plan
	id    protocol.PlanID
	chain *ledger.Ledger
	own   *ledger.Budget
}

// NewAccount charges a plan to a chain, which may hold charges of other plans
// on the same data. The plan's charges stay within the plan's budget, and
// everything in the chain within the party's own; without one of its own (nil)
// the plan's holds for everything.
func NewAccount(s protocol.Session, chain *ledger.Ledger, own *ledger.Budget) *Account {
	if own == nil {
		own = &ledger.Budget{Epsilon: s.Plan.Epsilon, Delta: s.Plan.Delta}
	}
	return &Account{plan: s.Plan, id: s.ID, chain: chain, own: own}
}

// Charge implements party.Ledger. A plan that claims no epsilon charges
// nothing, and a ledger can promise nothing for it.
func (a *Account) Charge(round, attempt uint32) (entry []byte, seq uint64, err error) {
	release, ok := a.plan.Release()
	if !ok {
		return nil, 0, nil
	}
	c := ledger.Charge{Plan: a.id, Round: round, Attempt: attempt, FracBits: a.plan.FracBits, Release: release}
	if a.chain.Charged(c) {
		return nil, 0, protocol.Fail(protocol.ClassBudget, "round %d attempt %d: %w", round, attempt, ledger.ErrCharged)
	}
	if err := a.withinPlan(c); err != nil {
		return nil, 0, protocol.Fail(protocol.ClassBudget, "round %d attempt %d: the plan's budget: %w", round, attempt, err)
	}
	if _, err := a.chain.CanAfford(*a.own, c); err != nil {
		return nil, 0, protocol.Fail(protocol.ClassBudget, "round %d attempt %d: %w", round, attempt, err)
	}
	e := a.chain.Next(c)
	return e.Marshal(), e.Seq, nil
}

// withinPlan holds this plan's charges alone to this plan's budget.
func (a *Account) withinPlan(next ledger.Charge) error {
	releases := []privacy.Release{next.Release}
	for _, c := range a.chain.Charges() {
		if c.Plan == next.Plan {
			releases = append(releases, c.Release)
		}
	}
	spent, err := privacy.Epsilon(releases, a.plan.Delta)
	if err != nil {
		return err
	}
	if !(spent.Epsilon <= a.plan.Epsilon) {
		return fmt.Errorf("%w: it would bring epsilon to %.6g of %.6g at delta %g", ledger.ErrOverspend, spent.Epsilon, a.plan.Epsilon, a.plan.Delta)
	}
	return nil
}

// Commit implements party.Ledger.
func (a *Account) Commit(entry []byte) error {
	if entry == nil { // nothing was charged
		return nil
	}
	var e ledger.Entry
	if err := e.Unmarshal(entry); err != nil {
		return err
	}
	return a.chain.Append(e)
}

// Spent is what the chain has spent at the plan's delta.
func (a *Account) Spent() (privacy.Bound, error) {
	if _, ok := a.plan.Release(); !ok {
		return privacy.Bound{}, errors.New("the plan claims no epsilon")
	}
	return a.chain.Spent(a.plan.Delta)
}

var _ party.Ledger = (*Account)(nil)
