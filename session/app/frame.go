package app

import (
	"slices"

	"choir/crypto/fixedpoint"
	"choir/learn/bayes"
	"choir/learn/centre"
	"choir/learn/noiseaware/newton"
	"choir/protocol"
)

// columns are those that are centred.
func (c centring) columns() (centre.Columns, error) {
	schema, err := c.schema()
	if err != nil {
		return centre.Columns{}, err
	}
	return centre.Of(schema), nil
}

// seen returns what a public state has of the columns; nil for a plan that measures none.
func (c centring) seen(state []int64) (columns centre.Columns, measured []int64, err error) {
	if _, measured, err = c.split(state); err != nil || measured == nil {
		return columns, nil, err
	}
	columns, err = c.columns()
	return columns, measured, err
}

// frame returns where a public state's columns lie within their ranges, for those that are
// encoded by their range; nil for a plan that measures none.
func (c centring) frame(p *protocol.Plan, state []int64) (*centre.Frame, error) {
	columns, measured, err := c.seen(state)
	if err != nil || measured == nil {
		return nil, err
	}
	f := columns.Frame(measured, c.variance(p))
	return &f, nil
}

// variance is that of all noise on a measuring round's sum at full attendance, in units of the grid squared.
func (c centring) variance(p *protocol.Plan) float64 {
	p = first(p)
	return float64(c.releases) * noiseOn(p, p.Parties())
}

// after returns the posterior of centred columns for records as they are encoded, with the
// frame of a public state.
func (c centring) after(p *protocol.Plan, state []int64, q *bayes.Posterior) (*bayes.Posterior, error) {
	frame, err := c.frame(p, state)
	if err != nil || frame == nil {
		return q, err
	}
	columns, err := c.columns()
	if err != nil {
		return nil, err
	}
	return q.After(func(x []float64) []float64 { return columns.Recode(x, *frame) }), nil
}

// aware is the noise-aware posterior of centred columns, of a method whose prior has this variance: single
// weights don't lean on the prior's mean, nor on its length where noise hides how narrow a column is, and
// have the prior's law along what no record tells.
func (c centring) aware(p *protocol.Plan, state []int64, q *bayes.Posterior,
	prior float64) (*bayes.Posterior, error) {
	if p.Noise == protocol.NoiseNone {
		return c.after(p, state, q)
	}
	schema, err := c.schema()
	if err != nil {
		return nil, err
	}
	columns, measured, err := c.seen(state)
	if err != nil {
		return nil, err
	}
	priors := slices.Repeat([]float64{prior}, len(q.Mean()))
	q = q.Told(schema.Levels()).Unshrunk(priors)
	if measured != nil {
		q = q.Longer(priors, columns.Longer(measured, c.variance(p)))
	}
	return c.after(p, state, q.Untold(prior))
}

// centringOf returns how an application measures; one without rounds for applications that don't.
func centringOf(a Spec) centring {
	switch a := a.(type) {
	case *PVI:
		return a.centring()
	case *GlobalVI:
		return a.centring()
	case *MCMC:
		return a.centring(nil)
	}
	return centring{}
}

// Frame returns where the columns that are encoded by their range lie within it, by a public state; nil
// for a plan that measures none.
func Frame(p *protocol.Plan, a Spec, state []int64) (*centre.Frame, error) {
	return centringOf(a).frame(p, state)
}

// Hidden returns the names of the columns that are narrow in their range by an amount that noise hides, by a
// public state; nil for a plan that measures none.
func Hidden(p *protocol.Plan, a Spec, state []int64) ([]string, error) {
	c := centringOf(a)
	columns, measured, err := c.seen(state)
	if err != nil || measured == nil {
		return nil, err
	}
	return columns.Hidden(measured, c.variance(p)), nil
}

// Finest approximates the least standard deviation of a column, in halves of its range, that the measuring
// rounds can tell from their noise. records is the number of all parties' records. It is 0 for a plan that
// measures none.
func Finest(p *protocol.Plan, a Spec, records float64) (float64, error) {
	c := centringOf(a)
	if c.rounds == 0 {
		return 0, nil
	}
	columns, err := c.columns()
	if err != nil {
		return 0, err
	}
	bound, err := fixedpoint.Grid{FracBits: c.bits}.IntBound(c.clip)
	if err != nil {
		return 0, err
	}
	vectors := records * c.rate * float64(c.releases)
	if p.SampleRate > 0 {
		vectors = records * p.SampleRate * float64(c.releases)
	}
	if c.groups > 0 {
		vectors = min(records, float64(c.groups*p.Parties()))
	}
	return columns.Finest(vectors, float64(bound), c.variance(p), c.rounds), nil
}

// CentreRounds is how many of an application's rounds, the first ones, measure where columns lie.
func CentreRounds(a Spec) int { return centringOf(a).rounds }

// doubts are those of the columns in a public state's frame; nil for a plan that measures none.
func (c centring) doubts(p *protocol.Plan, state []int64) ([]newton.Doubt, error) {
	columns, measured, err := c.seen(state)
	if err != nil || measured == nil {
		return nil, err
	}
	return columns.Doubts(measured, c.variance(p)), nil
}
