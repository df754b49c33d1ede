package experiment

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"

	"choir/crypto/noise"
	"choir/privacy"
	"choir/protocol"
	"choir/pvi"
)

// References are what a secure run is to be judged by, computed on the same
// data.
type References struct {
	NonPrivate        Scores `json:"non_private"`        // PVI without clipping and noise
	TrustedAggregator Scores `json:"trusted_aggregator"` // the same noise, added once by somebody whom all trust
	LocalNoise        Scores `json:"local_noise"`        // every party adds all of the noise: no secure sum
	BestSingleParty   Scores `json:"best_single_party"`  // the best of the parties on its own data alone, without noise
}

// reference runs everything that needs no protocol.
type reference struct {
	data   *Data
	cfg    pvi.Config // the plan's
	plan   *protocol.Plan
	rounds int
}

// all computes the references, side by side.
func (r reference) all(ctx context.Context) (refs References, err error) {
	full, err := r.fullNoise()
	if err != nil {
		return refs, err
	}
	once := func(party int) bool { return party == 0 }
	everybody := func(int) bool { return true }
	runs := []struct {
		name string
		to   *Scores
		run  func() (Scores, error)
	}{
		{"best single party", &refs.BestSingleParty, func() (Scores, error) { return r.single(ctx) }},
		{"non-private", &refs.NonPrivate, func() (Scores, error) { return r.nonPrivate(ctx, r.data.Parts) }},
		{"trusted aggregator", &refs.TrustedAggregator, func() (Scores, error) { return r.noised(ctx, full, once) }},
		{"local noise", &refs.LocalNoise, func() (Scores, error) { return r.noised(ctx, full, everybody) }},
	}
	errs := make([]error, len(runs))
	var group sync.WaitGroup
	for i, ref := range runs {
		group.Go(func() {
			s, err := ref.run()
			if *ref.to = s; err != nil {
				errs[i] = fmt.Errorf("%s reference: %w", ref.name, err)
			}
		})
	}
	group.Wait()
	return refs, errors.Join(errs...)
}

// fullNoise is the noise that one trusted contributor would have to add for the
// plan's budget.
func (r reference) fullNoise() (*noise.Gaussian, error) {
	n, err := privacy.Calibrate(privacy.Target{Epsilon: r.plan.Epsilon, Delta: r.plan.Delta, Sensitivity: r.plan.Sensitivity,
		Dim: r.plan.Dim, Releases: uint32(r.plan.Releases()), Parts: 1})
	if err != nil {
		return nil, err
	}
	return noise.NewGaussian(n.PartVariance)
}

// noised is the plan's own learning with the sum in the clear and the full
// noise added by the parties that adds names.
func (r reference) noised(ctx context.Context, full *noise.Gaussian, adds func(party int) bool) (Scores, error) {
	learners, err := learners(r.cfg, r.data.Parts, r.data.Weights())
	if err != nil {
		return Scores{}, err
	}
	var drawErr error
	draw := func(_, party int) []int64 {
		if !adds(party) || drawErr != nil {
			return nil
		}
		x := make([]int64, r.cfg.Dim())
		drawErr = full.Fill(x, rand.Reader)
		return x
	}
	h, err := pvi.Run(ctx, r.cfg, learners, draw, r.rounds)
	if err != nil || drawErr != nil {
		return Scores{}, errors.Join(err, drawErr)
	}
	return r.score(h.Final())
}

// nonPrivate is PVI with one factor a party, no clip and no noise, run until it
// has settled.
func (r reference) nonPrivate(ctx context.Context, parts []pvi.Data) (Scores, error) {
	cfg := r.cfg
	cfg.Strategy, cfg.Shards, cfg.Clip, cfg.Beta, cfg.DampingDecay = pvi.Dataset, 1, 0, 0, 0
	rounds := 1
	switch {
	case cfg.Model == pvi.Linear:
		cfg.Damping = 1 // conjugate: one exact round
	case len(parts) == 1:
		cfg.Damping, cfg.Steps, cfg.LearningRate = 1, 200, 0.05
	default:
		cfg.Damping, cfg.Steps, cfg.LearningRate = 0.25, 40, 0.05
		rounds = 15
	}
	w := make([]float64, len(parts))
	ls, err := learners(cfg, parts, w)
	if err != nil {
		return Scores{}, err
	}
	h, err := pvi.Run(ctx, cfg, ls, nil, rounds)
	if err != nil {
		return Scores{}, err
	}
	p, err := cfg.Posterior(h.Final())
	if err != nil {
		return Scores{}, err
	}
	return r.data.evaluate(p, cfg.Model == pvi.Linear)
}

// single is the best that any party reaches alone; the choice is made on the
// test rows, in the single party's favour.
func (r reference) single(ctx context.Context) (best Scores, err error) {
	for i, part := range r.data.Parts {
		s, err := r.nonPrivate(ctx, []pvi.Data{part})
		if err != nil {
			return Scores{}, fmt.Errorf("party %d: %w", i, err)
		}
		if i == 0 || s.LogLikelihood > best.LogLikelihood {
			best = s
		}
	}
	return best, nil
}

func (r reference) score(raw []int64) (Scores, error) {
	p, err := r.cfg.Posterior(raw)
	if err != nil {
		return Scores{}, err
	}
	return r.data.evaluate(p, r.cfg.Model == pvi.Linear)
}

func learners(cfg pvi.Config, parts []pvi.Data, weights []float64) ([]*pvi.Learner, error) {
	ls := make([]*pvi.Learner, len(parts))
	for i, part := range parts {
		var err error
		if ls[i], err = pvi.NewLearner(cfg, part, weights[i]); err != nil {
			return nil, fmt.Errorf("party %d: %w", i, err)
		}
	}
	return ls, nil
}
