package terms

import (
	"errors"
	"fmt"
	"math"

	"choir/crypto/fixedpoint"
	"choir/learn/dataset"
	"choir/learn/evaluate"
	"choir/learn/pvi"
	"choir/protocol"
	"choir/session/app"
)

// EvaluationConfig describes the rounds that evaluate the model on held-out records; see
// evaluate.Config. What is zero gets a default.
type EvaluationConfig struct {
	Every   int      `toml:"every"`    // default a fifth of the rounds that learn
	HeldOut float64  `toml:"held_out"` // default 0.2
	Bins    int      `toml:"bins"`     // default 5
	Low     *float64 `toml:"low"`      // default -3; for a number -4
	High    *float64 `toml:"high"`     // default 0; for a number 2
	Records int      `toml:"records"`  // default 65536, or what fits
	Seed    uint32   `toml:"seed"`
	// PerParty counts a party's mean score once. Default: where the terms protect all of a party's data.
	PerParty *bool `toml:"per_party"`
}

// evaluations is the default number of evaluations of a plan.
const evaluations = 5

// with returns the application of a section with its evaluation, and the number of all rounds.
func (e *EvaluationConfig) with(s section, t Terms, schema *dataset.Schema) (app.Spec, int, error) {
	if e == nil {
		return s.spec(t, schema)
	}
	c := e.config(schema)
	if t.Rounds == 1 {
		return nil, 0, fmt.Errorf("evaluation: rounds is 1, want 2 or more: one to learn and one to evaluate")
	}
	learning := t
	all := t.Rounds
	if all == 0 {
		// One evaluation more or less changes the default rounds as little as a spare attempt.
		learning.SpareAttempts += evaluations
		_, rounds, err := s.spec(learning, schema)
		if err != nil {
			return nil, 0, err
		}
		c.Every = orElse(e.Every, (rounds+evaluations-1)/evaluations)
		all = c.Total(rounds)
		learning.SpareAttempts = t.SpareAttempts
	} else {
		c.Every = orElse(e.Every, (all+evaluations-1)/evaluations)
	}
	if err := c.Validate(); err != nil {
		return nil, 0, err
	}
	// Evaluations cost what spare attempts do.
	learning.Rounds = c.Learning(all)
	learning.SpareAttempts += all - learning.Rounds
	a, _, err := s.spec(learning, schema)
	if err != nil {
		return nil, 0, err
	}
	c.PerParty = app.ProtectsParties(a)
	if e.PerParty != nil {
		c.PerParty = *e.PerParty
	}
	if e.Records == 0 && !c.PerParty {
		c.Records = e.fitting(t, a, &c)
	}
	if !app.Evaluate(a, &c) {
		return nil, 0, fmt.Errorf("evaluation: a plan of application %q has no model that held-out records could "+
			"score: leave [evaluation] out", a.Name())
	}
	if _, err := a.Mechanism(); err != nil && !errors.Is(err, pvi.ErrUnbounded) {
		return nil, 0, err
	}
	return a, all, nil
}

// config has all but every.
func (e *EvaluationConfig) config(schema *dataset.Schema) evaluate.Config {
	c := evaluate.Config{Every: e.Every, HeldOut: orElse(e.HeldOut, 0.2), Bins: orElse(e.Bins, 5),
		Low: -3, High: 0, Records: orElse(e.Records, evaluate.MaxRecords), Seed: e.Seed}
	if !schema.Classification() {
		c.Low, c.High = -4, 2
	}
	if e.Low != nil {
		c.Low = *e.Low
	}
	if e.High != nil {
		c.High = *e.High
	}
	return c
}

// fitting is the largest number of held-out records of a party for which paired coordinates have
// half of their range left for the noise.
func (e *EvaluationConfig) fitting(t Terms, a app.Spec, c *evaluate.Config) int {
	m, err := a.Mechanism()
	if !t.Paired || err != nil {
		return evaluate.MaxRecords
	}
	each := float64(3 * c.Unit(m.Sensitivity) * int64(max(1, t.parties())))
	return int(max(1, min(evaluate.MaxRecords, math.Floor(fixedpoint.MaxPaired/2/each))))
}

// onlyLearning refuses an evaluation of a plan that learns nothing.
func (e *EvaluationConfig) onlyLearning() error {
	if e == nil {
		return nil
	}
	return protocol.Fail(protocol.ClassInput, "config: evaluation: a plan with [sum] has no model that "+
		"held-out records could score: leave [evaluation] out")
}
