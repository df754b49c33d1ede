package terms

import (
	"path/filepath"
	"reflect"
	"slices"
	"time"

	"choir/protocol"
	"choir/session/app"
)

// NewSuccessor reads a PlanConfig and the cards that it names, and returns the plan that goes on from
// another, unsigned. The application and its parameters are the predecessor's, so that the file has no
// section for them; [learning] may have weights. Rounds default to those that the predecessor did
// not run, and the budget, which covers the predecessors too, to the predecessor's.
func NewSuccessor(path string, now time.Time, after *protocol.Predecessor) (*protocol.Plan, error) {
	c, err := readConfig(path)
	if err != nil {
		return nil, err
	}
	p, err := c.successor(filepath.Dir(path), now, after)
	if err != nil {
		return nil, &fileError{path, c, err}
	}
	return p, nil
}

func (c *PlanConfig) successor(dir string, now time.Time, after *protocol.Predecessor) (*protocol.Plan,
	error) {
	if err := app.GoesOn(after.Plan); err != nil {
		return nil, protocol.Fail(protocol.ClassInput, "config: %w", err)
	}
	if err := c.inheritFrom(after); err != nil {
		return nil, err
	}
	t, err := c.terms(now)
	if err != nil {
		return nil, err
	}
	if t.Members, err = c.members(dir, now); err != nil {
		return nil, err
	}
	q := after.Plan
	if c.Colluders == nil {
		t.Colluders = int(q.Colluders)
	}
	if n := t.parties(); c.Colluders == nil && t.Colluders > max(0, n-t.Dropouts-2) {
		return nil, protocol.Fail(protocol.ClassInput, "config: colluders is missing: the predecessor has %d, and "+
			"of %d parties, %d of which may be missing, they leave no honest one; name fewer, which plan show tells "+
			"everybody", t.Colluders, n, t.Dropouts)
	}
	p, err := t.base()
	if err != nil {
		return nil, err
	}
	p.After = after
	p.Dim, p.FracBits, p.Application = q.Dim, q.FracBits, q.Application
	a, err := c.inherited(p)
	if err != nil {
		return nil, protocol.Fail(protocol.ClassInput, "config: %w", err)
	}
	if p.Parameters, err = a.Marshal(); err != nil {
		return nil, err
	}
	if err := app.Cover(p, a); err != nil {
		return nil, protocol.Fail(protocol.ClassInput, "config: %w", err)
	}
	if err := t.calibrateAfter(p); err != nil {
		return nil, err
	}
	if err := app.CheckClaim(p, a); err != nil {
		return nil, protocol.Fail(protocol.ClassInput, "config: %w", err)
	}
	return finished(p)
}

// inheritFrom fills in what the file leaves out from the predecessor.
func (c *PlanConfig) inheritFrom(after *protocol.Predecessor) error {
	q := after.Plan
	weights := &LearningConfig{}
	if c.Learning != nil {
		weights.Weights = c.Learning.Weights
		if !reflect.DeepEqual(c.Learning, weights) {
			return protocol.Fail(protocol.ClassInput,
				"config: learning: a successor goes on with its predecessor's settings; only weights may be there")
		}
	}
	switch {
	case c.Global != nil || c.Statistics != nil || c.MCMC != nil || c.Table != nil || c.Shuffle != nil ||
		c.Sum != nil ||
		c.Evaluation != nil:
		return protocol.Fail(protocol.ClassInput,
			"config: a successor goes on with its predecessor's application: leave its section out")
	case c.Privacy.NoisePerClip != 0:
		return protocol.Fail(protocol.ClassInput, "config: privacy.noise_per_clip: a successor's rounds are named")
	case c.Privacy.Noise != "" && c.Privacy.Noise != q.Noise.String():
		return protocol.Fail(protocol.ClassInput,
			"config: privacy.noise: the predecessor's is %s, and a successor's "+
				"is the same", q.Noise)
	case c.Rounds == 0 && after.Round == q.Rounds:
		return protocol.Fail(protocol.ClassInput,
			"config: rounds is missing: the predecessor has run all of its own")
	}
	c.Privacy.Noise = q.Noise.String()
	c.Privacy.Epsilon = orElse(c.Privacy.Epsilon, q.Epsilon)
	c.Privacy.Delta = orElse(c.Privacy.Delta, q.Delta)
	c.Rounds = orElse(c.Rounds, int(q.Rounds-after.Round))
	c.Deadline.Duration = orElse(c.Deadline.Duration, time.Duration(q.DeadlineMS)*time.Millisecond)
	c.Grace.Duration = orElse(c.Grace.Duration, time.Duration(q.GraceMS)*time.Millisecond)
	c.Suite = orElse(c.Suite, suiteName(q.Suite))
	c.Paired = c.Paired || q.Paired
	if c.Audit == nil {
		c.Audit = &q.Audit
	}
	return nil
}

// inherited is the predecessor's application for the successor's roster.
func (c *PlanConfig) inherited(p *protocol.Plan) (app.Spec, error) {
	q := p.After.Plan
	a, err := app.Of(q)
	if err != nil {
		return nil, err
	}
	l, ok := a.(*app.PVI)
	if !ok {
		if c.Learning != nil {
			return nil, protocol.Fail(protocol.ClassInput, "learning.weights: the predecessor's method has none")
		}
		return a, nil
	}
	own := *l
	if own.Weights, err = c.weightsAfter(p, l.Weights); err != nil {
		return nil, err
	}
	if !p.SameParties(q) {
		own.Records = 0 // of other parties
	}
	return &own, nil
}

// weightsAfter are the parties' weights: those of the file, the predecessor's if the parties are the
// same, or equal ones if those were equal.
func (c *PlanConfig) weightsAfter(p *protocol.Plan, before []float64) ([]float64, error) {
	if c.Learning != nil && c.Learning.Weights != nil {
		return c.Learning.Weights, nil
	}
	q := p.After.Plan
	same := p.SameParties(q)
	if !same && slices.ContainsFunc(before, func(w float64) bool { return w != before[0] }) {
		return nil, protocol.Fail(protocol.ClassInput, "learning.weights is missing: the predecessor's parties "+
			"have different weights, and the parties have changed")
	}
	weights := make([]float64, p.Parties())
	for i := range weights {
		weights[i] = 1 / float64(p.Parties())
		if j, ok := q.Index(p.Members[i].Key); same && ok {
			weights[i] = before[j]
		}
	}
	return weights, nil
}

// calibrateAfter computes the noise at which the releases of the plan and of its predecessors are within
// the budget, to 1/512 of the variance.
func (t Terms) calibrateAfter(p *protocol.Plan) error {
	q := p.After.Plan
	if err := t.calibrate(p); err != nil || t.Noise == protocol.NoiseNone {
		return err
	}
	spent, ok, err := p.Spends(0)
	if err != nil {
		return protocol.Fail(protocol.ClassInput, "config: %w", err)
	}
	if !ok {
		return nil
	}
	if !(spent.Epsilon < t.Epsilon) {
		return protocol.Fail(protocol.ClassInput, "config: privacy.epsilon: the predecessor's attempts have spent "+
			"%.6g of %.6g: nothing is left; a larger epsilon covers both plans", spent.Epsilon, t.Epsilon)
	}
	if p.Application == app.NameStatistics { // its rounds are averaged
		p.Variance = q.Variance
		if all, _, err := p.Spends(p.Releases()); err == nil && all.Epsilon > p.Epsilon {
			return protocol.Fail(protocol.ClassInput, "config: rounds, privacy.epsilon: %d rounds with the "+
				"predecessor's noise bring epsilon to %.6g of %.6g: name fewer rounds, or a larger epsilon",
				p.Rounds, all.Epsilon, p.Epsilon)
		}
		return nil
	}
	return searchVariance(p)
}

// searchVariance raises the variance, which suffices for the plan alone, until it does for the chain.
func searchVariance(p *protocol.Plan) error {
	fits := func(v uint64) (bool, error) {
		p.Variance = v
		b, _, err := p.Spends(p.Releases())
		return b.Epsilon <= p.Epsilon, err
	}
	lo, hi := p.Variance, p.Variance
	for {
		ok, err := fits(hi)
		if err != nil {
			return protocol.Fail(protocol.ClassInput, "config: privacy: %w", err)
		}
		if ok {
			break
		}
		if hi > 1<<61 {
			return protocol.Fail(protocol.ClassInput,
				"config: privacy.epsilon: after what the predecessors have spent, "+
					"no noise that the grid can carry makes %d rounds fit: take fewer rounds or a larger epsilon", p.Rounds)
		}
		lo, hi = hi, 2*hi
	}
	for hi-lo > hi/512+1 {
		mid := lo + (hi-lo)/2
		if ok, err := fits(mid); err != nil {
			return err
		} else if ok {
			hi = mid
		} else {
			lo = mid
		}
	}
	p.Variance = hi
	return nil
}
