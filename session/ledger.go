package session

import (
	"errors"

	"choir/party"
	"choir/privacy"
	"choir/privacy/ledger"
	"choir/protocol"
)

// Account is a party's ledger under one plan, as its machine asks for it. The
// machine persists what Charge returns with the contribution it pays for.
type Account struct {
	plan   *protocol.Plan
	id     protocol.PlanID
	chain  *ledger.Ledger
	budget ledger.Budget
}

// NewAccount charges a plan to a chain, within the plan's budget. The chain may
// hold charges of other plans on the same data: they count.
func NewAccount(s protocol.Session, chain *ledger.Ledger) *Account {
	return &Account{plan: s.Plan, id: s.ID, chain: chain, budget: ledger.Budget{Epsilon: s.Plan.Epsilon, Delta: s.Plan.Delta}}
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
	if _, err := a.chain.CanAfford(a.budget, c); err != nil {
		return nil, 0, protocol.Fail(protocol.ClassBudget, "round %d attempt %d: %w", round, attempt, err)
	}
	e := a.chain.Next(c)
	return e.Marshal(), e.Seq, nil
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
