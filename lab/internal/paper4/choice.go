package paper4

import (
	"context"
	"fmt"
	"math"
	"slices"

	"choir/crypto/fixedpoint"
	"choir/lab/bed"
	"choir/lab/experiment"
	"choir/lab/internal/quality"
	"choir/lab/study"
	"choir/learn/bayes"
	"choir/learn/pvi"
)

// choice is a method whose setting is chosen in private among a few (docs/methods.md,
// section 13). Every candidate learns from the learning rows, all of them within one
// budget. Then a secure sum over the validation rows selects one, within a budget of the
// same size. A row is in one part by its public place, so that replacing it changes the learning
// or the sum, and the larger of the two epsilons protects it.
type choice struct {
	name       string
	candidates []method
	labels     []string
	settings   string
}

// Validation rows count by how much better than the candidates' mean each predicts them:
// log-likelihoods in nats, less their mean, clipped to a norm. A short norm would favour
// candidates that are right a little more often and confident where they are wrong.
const (
	voteBound = 2
	voteBits  = 22
)

// every is the share of a client's rows that are held back from learning: every eighth.
const every = 8

// holdBack divides each client's rows by their public places.
func holdBack(d *experiment.Data) (learn *experiment.Data, votes []bayes.Data) {
	features := d.Schema.Dim()
	learn = &experiment.Data{Name: d.Name, Schema: d.Schema, Columns: d.Columns, Test: d.Test}
	for _, p := range d.Parts {
		var l, v bayes.Data
		for i, y := range p.Y {
			to := &l
			if i%every == every-1 {
				to = &v
			}
			to.X, to.Y = append(to.X, p.X[i*features:(i+1)*features]...), append(to.Y, y)
		}
		learn.Parts, votes = append(learn.Parts, l), append(votes, v)
		learn.Train.X, learn.Train.Y = append(learn.Train.X, l.X...), append(learn.Train.Y, l.Y...)
	}
	return learn, votes
}

// chosen is what a choice gave.
type chosen struct {
	*trace        // of the winner
	winner    int // which candidate
	best      int // which one the test rows would have taken: for the page alone
	learning  study.Spent
	selection study.Spent
}

// run learns with every candidate and chooses.
func (c choice) run(ctx context.Context, o study.Options, data *experiment.Data, against quality.Reference,
	epsilon float64, seed uint64) (*chosen, error) {
	learn, votes := holdBack(data)
	found, outcomes := make([]*trace, len(c.candidates)), make([]*bed.Outcome, len(c.candidates))
	posteriors := make([]*bayes.Posterior, len(c.candidates))
	for k, m := range c.candidates {
		m.of, m.name = len(c.candidates), fmt.Sprintf("%s %s", c.name, c.labels[k])
		t, out, err := m.learn(ctx, o, learn, against, epsilon, seed)
		if err != nil {
			return nil, err
		}
		found[k] = t
		outcomes[k] = out
		posteriors[k] = out.Last
	}
	r := new(chosen)
	var err error
	if r.learning, err = bed.Together(c.name+", learning", outcomes); err != nil {
		return nil, err
	}
	sum, err := c.vote(ctx, o, posteriors, votes, epsilon, seed, r)
	if err != nil {
		return nil, err
	}
	r.winner = slices.Index(sum, slices.Max(sum))
	r.trace = found[r.winner]
	for k, t := range found {
		if t.last()[1] > found[r.best].last()[1] {
			r.best = k
		}
	}
	return r, nil
}

// vote is the noisy sum of the validation rows' terms.
func (c choice) vote(ctx context.Context, o study.Options, posteriors []*bayes.Posterior, votes []bayes.Data,
	epsilon float64, seed uint64, r *chosen) ([]int64, error) {
	bound, err := (fixedpoint.Grid{FracBits: voteBits}).IntBound(voteBound)
	if err != nil {
		return nil, err
	}
	t := bed.Tally{Name: c.name + ", choice", Seed: seed, Bound: bound, Epsilon: epsilon, Delta: 1e-5,
		Transport: o.Transport, Dir: o.Dir}
	for i, v := range votes {
		sum, err := terms(posteriors, v, bound)
		if err != nil {
			return nil, fmt.Errorf("party %d: %w", i, err)
		}
		t.Sums, t.PerParty = append(t.Sums, sum), max(t.PerParty, bound*uint64(v.Rows()))
	}
	sum, spent, err := t.Do(ctx)
	r.selection = spent
	return sum, err
}

// terms adds up a party's validation rows' scores of the candidates. A row's prediction
// of 0 or 1 that is wrong counts as one of e^-30.
func terms(posteriors []*bayes.Posterior, rows bayes.Data, bound uint64) ([]int64, error) {
	sum, add := make([]int64, len(posteriors)),
		pvi.NewTerms(fixedpoint.Grid{FracBits: voteBits}, voteBound, bound)
	v := make([]float64, len(posteriors))
	features := len(rows.X) / max(1, rows.Rows())
	for i, y := range rows.Y {
		mean := 0.0
		for k, p := range posteriors {
			q, err := p.Predict(rows.X[i*features : (i+1)*features])
			if err != nil {
				return nil, err
			}
			v[k] = math.Log(max(math.Exp(-30), 1-math.Abs(y-q.Mean)))
			mean += v[k] / float64(len(v))
		}
		for k := range v {
			v[k] -= mean
		}
		if _, err := add.Add(sum, v); err != nil {
			return nil, err
		}
	}
	return sum, nil
}
