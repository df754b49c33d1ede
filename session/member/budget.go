package member

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"

	"choir/crypto/identity"
	"choir/privacy"
	"choir/privacy/ledger"
	"choir/protocol"
	"choir/session/run"
)

// readLedger reads a party's chain over all plans. The error for a chain that was
// altered is of protocol.ClassIntegrity.
func readLedger(v protocol.View) (*ledger.Ledger, error) {
	var stored [][]byte
	for _, key := range v.Keys(ledgerPrefix) {
		stored = append(stored, v.Get(key))
	}
	l, err := ledger.Open(stored)
	if err != nil {
		return nil, protocol.Fail(protocol.ClassIntegrity, "%w", err)
	}
	return l, nil
}

// Spending is a summary of a party's ledger.
type Spending struct {
	SchemaVersion int `json:"schema_version"`
	// Head is the hash of the newest entry. A copy kept elsewhere shows whether
	// entries were removed.
	Head    string   `json:"head"`
	Entries []Charge `json:"entries"`
	Delta   float64  `json:"delta"`
	Epsilon float64  `json:"epsilon"` // of everything since the last reset, over all plans
	Method  string   `json:"method"`
}

// Charge is an entry of a ledger in readable form.
type Charge struct {
	Seq     uint64 `json:"seq"`
	Kind    string `json:"kind"` // charge or reset
	Plan    string `json:"plan,omitempty"`
	Round   uint32 `json:"round,omitempty"`
	Attempt uint32 `json:"attempt,omitempty"`
	// Sensitivity and NoiseStd are in units of 2^-FracBits. NoiseStd is the standard
	// deviation of the noise hidden from the worst adversary that the plan tolerates.
	Sensitivity uint64  `json:"sensitivity,omitempty"`
	NoiseStd    float64 `json:"hidden_noise_std,omitempty"`
	FracBits    uint8   `json:"frac_bits,omitempty"`
	// Reports is the number of reports that hide those of a record, Categories the number of values or levels of
	// each, and Gamma the probability that it is random. Reports with noise have Keep in its place: how the
	// probability falls from one level to the next.
	Reports    uint64  `json:"shuffled_reports,omitempty"`
	Categories uint32  `json:"categories,omitempty"`
	Gamma      float64 `json:"gamma,omitempty"`
	Keep       float64 `json:"keep,omitempty"`
	Note       string  `json:"note,omitempty"`
}

// ReadSpending verifies the ledger in a member's store and composes it at
// delta. The member must not be running.
func ReadSpending(path string, delta float64) (*Spending, error) {
	f, err := openExisting(path)
	if err != nil {
		return nil, err
	}
	defer f.Close() // it was only read
	l, err := readLedger(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return spending(l, delta)
}

// spending summarises a ledger at delta.
func spending(l *ledger.Ledger, delta float64) (*Spending, error) {
	spent, err := l.Spent(delta)
	if err != nil {
		return nil, protocol.Fail(protocol.ClassInput, "delta: %w", err)
	}
	s := &Spending{SchemaVersion: 1, Head: l.Head().String(), Entries: []Charge{}, Delta: delta,
		Epsilon: spent.Epsilon, Method: spent.Method}
	for _, e := range l.Entries() {
		s.Entries = append(s.Entries, chargeOf(e))
	}
	return s, nil
}

func chargeOf(e ledger.Entry) Charge {
	if e.Kind == ledger.KindReset {
		return Charge{Seq: e.Seq, Kind: "reset", Note: e.Note}
	}
	c := e.Charge
	variance, _ := c.Release.HiddenVariance().Float64()
	return Charge{Seq: e.Seq, Kind: "charge", Plan: protocol.PlanID(c.Plan).String(), Round: c.Round,
		Attempt:     c.Attempt,
		Sensitivity: c.Release.Sensitivity, NoiseStd: math.Sqrt(variance), FracBits: c.FracBits,
		Reports: c.Shuffled.Reports, Categories: c.Shuffled.Categories,
		Gamma: float64(c.Shuffled.Gamma) / privacy.GammaUnit,
		Keep:  float64(c.Shuffled.Keep) / privacy.GammaUnit}
}

// ResetSpending appends a reset to the chain: earlier charges no longer concern the
// data that the ledger protects. A reset cannot be undone.
func ResetSpending(path, reason string) error {
	f, err := openExisting(path)
	if err != nil {
		return err
	}
	l, err := readLedger(f)
	if err == nil {
		e := l.NextReset(reason)
		if err = e.Validate(); err == nil {
			err = f.Apply([]protocol.Record{{Key: fmt.Sprintf("%s%08d", ledgerPrefix, e.Seq), Value: e.Marshal()}})
		} else {
			err = protocol.Fail(protocol.ClassInput, "reason: %w", err)
		}
	}
	return errors.Join(err, f.Close())
}

// CheckBudget returns why a party must not sign a plan: the ledger in its store leaves too little for all of
// the plan's attempts, by c's budget or else by the plan's. The error is of protocol.ClassBudget then. There
// is none for other members. Without a store the ledger is empty.
func CheckBudget(p *protocol.Plan, own identity.PublicKey, c *Config) error {
	chain := new(ledger.Ledger)
	if i, ok := p.Index(own); ok && p.Is(i, protocol.RoleParty) && c.StoreFile != "" {
		var err error
		if chain, err = ledgerAt(c.StoreFile); err != nil {
			return err
		}
	}
	return checkBudget(p, own, chain, c.Budget)
}

func checkBudget(p *protocol.Plan, own identity.PublicKey, chain *ledger.Ledger, b BudgetConfig) error {
	i, ok := p.Index(own)
	if !ok || !p.Is(i, protocol.RoleParty) || !p.Claims() {
		return nil
	}
	limit, err := b.budget()
	if err != nil {
		return err
	}
	return run.NewLedger(protocol.Bind(p), chain, limit).AffordRest()
}

// ledgerAt reads the ledger in a store. The member must not be running.
func ledgerAt(store string) (*ledger.Ledger, error) {
	if _, err := os.Stat(store); errors.Is(err, fs.ErrNotExist) {
		return nil, protocol.Fail(protocol.ClassInput, "--store: %s isn't there: name the store that has the "+
			"ledger, or none if this data took part in no plan before", store)
	}
	f, err := openExisting(store)
	if err != nil {
		return nil, err
	}
	defer f.Close() // it was only read
	l, err := readLedger(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", store, err)
	}
	return l, nil
}

// BudgetConfig is a party's limit over all charges of its ledger, of all plans.
// Without one, the budget of each plan applies to all charges.
type BudgetConfig struct {
	Epsilon float64 `toml:"epsilon"`
	Delta   float64 `toml:"delta"`
}

// budget returns the limit, nil if none is configured.
func (c BudgetConfig) budget() (*ledger.Budget, error) {
	if c == (BudgetConfig{}) {
		return nil, nil
	}
	if !(c.Epsilon > 0) || !(c.Delta >= privacy.MinDelta && c.Delta < 1) {
		return nil, protocol.Fail(protocol.ClassInput,
			"budget: epsilon %v must be positive and delta %v in [%g, 1)", c.Epsilon, c.Delta, privacy.MinDelta)
	}
	return &ledger.Budget{Epsilon: c.Epsilon, Delta: c.Delta}, nil
}
