package app

import (
	"context"
	"encoding/json"
	"fmt"

	"choir/learn/bayes"
	"choir/learn/dataset"
	"choir/learn/gauss"
	"choir/learn/mcmc"
	"choir/learn/pvi"
	"choir/protocol"
)

// MCMC has the parameters of the application "mcmc": draws from the posterior of logistic
// regression by noisy sums of log-likelihood ratios and gradients.
type MCMC struct {
	Version int             `json:"version"` // 1
	MCMC    mcmc.Config     `json:"mcmc"`
	Schema  json.RawMessage `json:"schema"` // how columns are encoded
	// CentreRounds is that of PVI. The sampler's rounds are the others.
	CentreRounds int `json:"centre_rounds,omitempty"`
}

// Name is "mcmc".
func (m *MCMC) Name() string { return NameMCMC }

// Marshal implements Spec.
func (m *MCMC) Marshal() ([]byte, error) { return Canonical(m) }

func (m *MCMC) validate() error {
	if err := checkVersion(m.Version); err != nil {
		return err
	}
	if err := m.MCMC.Validate(); err != nil {
		return fmt.Errorf("parameters: %w", err)
	}
	return nil
}

// Encoding implements Spec.
func (m *MCMC) Encoding() (*dataset.Schema, error) { return dataset.ParseSchema(m.Schema) }

// Size implements Spec.
func (m *MCMC) Size() (dim int, fracBits uint8) { return m.MCMC.Dim(), mcmc.FracBits }

// Mechanism implements Spec.
func (m *MCMC) Mechanism() (pvi.Mechanism, error) { return m.MCMC.Mechanism() }

// Check implements Spec: every round needs all parties, because a missing one takes its
// records out of the likelihood and its noise out of the test.
func (m *MCMC) Check(p *protocol.Plan) error {
	if m.MCMC.Rounds+m.CentreRounds != int(p.Rounds) {
		return fmt.Errorf("the sampler takes %d rounds after %d that measure centres, the plan has %d",
			m.MCMC.Rounds, m.CentreRounds, p.Rounds)
	}
	if err := m.centring(nil).check(int(p.Rounds)); err != nil {
		return err
	}
	if int(p.MinParties) != p.Parties() {
		return fmt.Errorf("%d of %d parties may be missing, but a sampler needs all in every round: without "+
			"a party's records it draws from another posterior, and without its noise the acceptance test is "+
			"wrong; leave dropouts out", p.Parties()-int(p.MinParties), p.Parties())
	}
	if p.Noise != protocol.NoiseLocal {
		if _, err := m.sampler(p); err != nil {
			return err
		}
	}
	return checkSchema(m.Schema, m.MCMC.Features)
}

// Outlook warns of what the plan's noise will do to the posterior; empty is nothing to warn of.
func (m *MCMC) Outlook(p *protocol.Plan) string { return mcmc.Outlook(m.MCMC, m.public(p)) }

// public is what the plan fixes besides the configuration: the identity, from which public
// draws are expanded together with the sums, and the noise, which is part of the test.
func (m *MCMC) public(p *protocol.Plan) mcmc.Public {
	return mcmc.Public{Seed: p.ID(), Variance: SumVariance(p)}
}

func (m *MCMC) sampler(p *protocol.Plan) (mcmc.Sampler, error) { return mcmc.New(m.MCMC, m.public(p)) }

// Model implements Spec.
func (m *MCMC) Model(p *protocol.Plan) protocol.Model {
	s, err := m.sampler(p)
	if err != nil {
		return refused{err}
	}
	return model{m.centring(s)}
}

// centring is how the first rounds measure: by records, at most as long as a query's answer.
func (m *MCMC) centring(s mcmc.Sampler) centring {
	return centring{folder: s, rounds: m.CentreRounds, dim: m.MCMC.Dim(), schema: once(m.Schema), clip: 1,
		bits: mcmc.FracBits, rate: m.MCMC.SampleRate, releases: 1}
}

// refused is the model of a plan that Check refuses.
type refused struct{ err error }

// Initial implements protocol.Model.
func (refused) Initial() []int64 { return nil }

// Fold implements protocol.Model.
func (r refused) Fold(uint32, []int64, []int64) ([]int64, error) { return nil, r.err }

// Draws are the sampler's draws and its estimates of the posterior.
func (m *MCMC) Draws(p *protocol.Plan, state []int64) (*mcmc.Posterior, error) {
	s, err := m.sampler(p)
	if err != nil {
		return nil, err
	}
	raw, _, err := m.centring(s).split(state)
	if err != nil {
		return nil, err
	}
	return s.Posterior(raw)
}

// Posterior implements Spec: the Gaussian of the draws' mean and covariance, which predicts by
// the draws.
func (m *MCMC) Posterior(p *protocol.Plan, state []int64) (*bayes.Posterior, error) {
	q, err := m.posterior(p, state)
	if err != nil {
		return nil, err
	}
	return m.centring(nil).after(p, state, q)
}

// posterior is that of centred columns.
func (m *MCMC) posterior(p *protocol.Plan, state []int64) (*bayes.Posterior, error) {
	d, err := m.Draws(p, state)
	if err != nil {
		return nil, err
	}
	natural, err := gauss.Space{Family: gauss.Full, Features: m.MCMC.Features}.Natural(
		&gauss.Moments{Mean: d.Mean, Covariance: d.Covariance})
	if err != nil {
		return nil, fmt.Errorf("posterior: %w", err)
	}
	like := bayes.Likelihood{Model: bayes.Logistic, Family: gauss.Full, Features: m.MCMC.Features}
	q, err := like.Posterior(natural)
	if err != nil {
		return nil, err
	}
	mean := q.Mean()
	if d.Weights != nil {
		mean = d.Weights
	}
	return q.WithDraws(d.Draws).WithWeights(mean, d.SD()), nil
}

// NoiseAware implements Spec. The tests and the trace posterior count the noise already.
func (m *MCMC) NoiseAware(p *protocol.Plan, trace []Revealed) (*bayes.Posterior, error) {
	if len(trace) == 0 {
		return nil, fmt.Errorf("no rounds: %w", bayes.ErrShape)
	}
	last := trace[len(trace)-1]
	state, err := m.Model(p).Fold(last.Round, last.Before, last.Sum)
	if err != nil {
		return nil, err
	}
	q, err := m.posterior(p, state)
	if err != nil {
		return nil, err
	}
	if m.MCMC.Method == mcmc.Trace {
		return m.centring(nil).aware(p, state, q, 1/m.MCMC.PriorPrecision)
	}
	return m.centring(nil).after(p, state, q)
}

// Join implements Spec. With sampling every contribution is over a new sample.
func (m *MCMC) Join(c PartyConfig) (Party, error) {
	s, err := m.sampler(c.Plan)
	if err != nil {
		return nil, err
	}
	return m.centring(s).join(c, m.join)
}

func (m *MCMC) join(c PartyConfig) (Party, error) {
	l, err := mcmc.NewLearner(m.MCMC, m.public(c.Plan), c.Data)
	if err != nil {
		return nil, err
	}
	if c.Rand == nil && m.MCMC.SampleRate < 1 {
		return nil, fmt.Errorf("mcmc: no source of randomness for the samples")
	}
	s, err := m.sampler(c.Plan)
	if err != nil {
		return nil, err
	}
	propose := func(ctx context.Context, w protocol.Work) ([]int64, float64, error) {
		p, err := l.Propose(ctx, w.Model, c.Rand)
		return p.Update, p.ClippedFraction, err
	}
	return stateless{model{s}, c, propose}, nil
}
