package result

import (
	"fmt"

	"choir/learn/bayes"
	"choir/learn/centre"
	"choir/learn/dataset"
	"choir/learn/gauss"
	"choir/learn/mcmc"
	"choir/protocol"
	"choir/session/app"
)

// posterior returns the posterior, or ErrNoPredictions.
func (f *ModelFile) posterior() (*bayes.Posterior, error) {
	p := f.Predictive
	if p == nil {
		return nil, ErrNoPredictions
	}
	q, err := p.Likelihood.Posterior(p.Natural)
	if err != nil {
		return nil, err
	}
	if f.Draws != nil {
		if err := f.Draws.check(len(q.Mean())); err != nil {
			return nil, err
		}
		q = q.WithDraws(f.Draws.Values)
	}
	if n := len(q.Mean()); f.NoiseIncluded && len(f.Mean) == n && len(f.SD) == n {
		mean := q.Mean()
		if f.ownMeans() {
			mean = f.Mean
		}
		q = q.WithWeights(mean, f.SD)
	}
	schema, err := dataset.ParseSchema(f.Schema)
	if err != nil {
		return nil, err
	}
	c, err := f.covariance(schema)
	if err != nil {
		return nil, err
	}
	if c != nil {
		q = q.WithCovariance(c)
	}
	if f.Centres == nil {
		if f.Missing != nil && len(f.Missing) != schema.Dim() {
			return nil, fmt.Errorf("missing has %d numbers of %d columns", len(f.Missing), schema.Dim())
		}
		return q.Filled(f.Missing), nil
	}
	columns := centre.Of(schema)
	if len(f.Centres) != columns.Len() || len(f.Units) != columns.Len() {
		return nil, fmt.Errorf("%d centres and %d units of %d columns", len(f.Centres), len(f.Units), columns.Len())
	}
	return q.After(func(x []float64) []float64 { return columns.Recode(x, *f.frame()) }), nil
}

// ownMeans reports whether single weights of a posterior that counts the noise may have other means than
// those that predict.
func (f *ModelFile) ownMeans() bool {
	if f.Draws != nil {
		return f.Draws.Method == mcmc.Trace
	}
	return f.Covariance != nil || f.Predictive.Model == bayes.Logistic || f.Predictive.Family == gauss.MeanField
}

// setFrame sets where columns lie by a public state, which predictions need.
func (f *ModelFile) setFrame(p *protocol.Plan, a app.Spec, state []int64) error {
	if s, ok := a.(*app.Statistics); ok {
		var err error
		f.Missing, err = s.Statistics.Centres(state)
		return err
	}
	of, err := app.Frame(p, a, state)
	if of != nil {
		f.Centres = of.Centres
		f.Units = of.Units
	}
	return err
}

// frame is that of the centred columns, nil if there are none.
func (f *ModelFile) frame() *centre.Frame {
	if f.Centres == nil {
		return nil
	}
	return &centre.Frame{Centres: f.Centres, Units: f.Units}
}
