package member_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"choir/host"
	"choir/party"
	"choir/privacy/ledger"
	"choir/protocol"
	"choir/session/internal/rig"
	"choir/session/member"
	"choir/session/run"
)

// spend runs one whole plan with the parties' stores in dir and returns its error.
func spend(t *testing.T, dir string, epsilon float64, own *ledger.Budget) error {
	t.Helper()
	c := rig.LearningCases()["logistic"]
	c.Config.Clip = 0.1
	l, _ := rig.LearningPlanAt(t, c, epsilon)
	l.Store = func(i uint32) (host.Store, error) {
		return member.OpenStore(filepath.Join(dir, fmt.Sprintf("%d.db", i)), l.Session)
	}
	l.Ledger = func(uint32) party.Ledger { return run.NewLedger(l.Session, new(ledger.Ledger), own) }
	_, err := l.Run(t.Context())
	return err
}

// TestLedgerSpansPlans: a party's store serves plan after plan, the ledger goes
// on over all of them, and a plan that would overspend the party's own budget is
// refused with the budget's class before a byte leaves.
func TestLedgerSpansPlans(t *testing.T) {
	dir := t.TempDir()
	own := &ledger.Budget{Epsilon: 1.35, Delta: 1e-5}
	if err := spend(t, dir, 0.9, own); err != nil {
		t.Fatalf("the first plan: %v", err)
	}
	first, err := member.ReadSpending(filepath.Join(dir, "0.db"), 1e-5)
	if err != nil {
		t.Fatal(err)
	}
	if len(first.Entries) != 3 || first.Epsilon > 0.9 || first.Epsilon < 0.89 {
		t.Errorf("after the first plan: %d charges, epsilon %v", len(first.Entries), first.Epsilon)
	}
	if err := spend(t, dir, 0.9, own); err != nil {
		t.Fatalf("the second plan fits beside the first: two at 0.9 compose to less than 1.35: %v", err)
	}
	if err := spend(t, dir, 0.9, own); protocol.ClassOf(err) != protocol.ClassBudget {
		t.Fatalf("the third plan wasn't refused by the budget: %v", err)
	}
	last, err := member.ReadSpending(filepath.Join(dir, "0.db"), 1e-5)
	if err != nil {
		t.Fatal(err)
	}
	if len(last.Entries) < 6 || last.Epsilon > own.Epsilon {
		t.Errorf("at the end: %d charges, epsilon %v", len(last.Entries), last.Epsilon)
	}
	for i, c := range first.Entries {
		if last.Entries[i] != c {
			t.Errorf("entry %d changed", i)
		}
	}
	if err := spend(t, dir, 0.9, nil); protocol.ClassOf(err) != protocol.ClassBudget {
		t.Errorf("without a budget of its own a party lets earlier plans go uncounted: %v", err)
	}
}

// TestLedgerReset: what was spent stays in the chain, and counts no more.
func TestLedgerReset(t *testing.T) {
	dir := t.TempDir()
	if err := spend(t, dir, 0.9, nil); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "1.db")
	if err := member.ResetSpending(path, "the ward's data of 2025 was destroyed"); err != nil {
		t.Fatal(err)
	}
	s, err := member.ReadSpending(path, 1e-5)
	if err != nil {
		t.Fatal(err)
	}
	if s.Epsilon != 0 || len(s.Entries) != 4 || s.Entries[3].Kind != "reset" {
		t.Errorf("after the reset: epsilon %v, entries %+v", s.Epsilon, s.Entries)
	}
	f, err := host.OpenFile(path)
	if err != nil {
		t.Fatal(err)
	}
	b := f.Get("ledger/00000001")
	b[50] ^= 1
	if err := f.Apply([]protocol.Record{{Key: "ledger/00000001", Value: b}}); err != nil {
		t.Fatal(err)
	}
	f.Close()
	if _, err := member.ReadSpending(path, 1e-5); protocol.ClassOf(err) != protocol.ClassIntegrity {
		t.Errorf("an altered chain: %v", err)
	}
}

// TestAggregatorKeepsALedger: the aggregator's own chain holds one charge for
// each attempt of the plan, and verifies.
func TestAggregatorKeepsALedger(t *testing.T) {
	c := rig.LearningCases()["logistic"]
	c.Config.Clip = 0.1
	l, _ := rig.LearningPlanAt(t, c, 0.9)
	var kept host.Store
	l.Store = func(i uint32) (host.Store, error) {
		s := host.NewRam()
		if i == l.Session.Plan.Aggregator() {
			kept = s
		}
		return s, nil
	}
	if _, err := l.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	var stored [][]byte
	for _, key := range kept.Keys("spent/") {
		stored = append(stored, kept.Get(key))
	}
	chain, err := ledger.Open(stored)
	if err != nil {
		t.Fatal(err)
	}
	spent, err := chain.Spent(1e-5)
	if err != nil || chain.Len() != 3 || spent.Epsilon > 0.9 || spent.Epsilon < 0.89 {
		t.Errorf("%d charges, epsilon %v (%v)", chain.Len(), spent.Epsilon, err)
	}
}
