package experiment

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"choir/crypto/noise"
	"choir/learn/pvi"
	"choir/privacy"
	"choir/protocol"
	"choir/session/app"
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
	app    app.Spec // the plan's
	plan   *protocol.Plan
	linear bool
}

// all computes the references, side by side.
func (r reference) all(ctx context.Context) (refs References, err error) {
	full, err := r.fullNoise()
	if err != nil {
		return refs, err
	}
	trusted := func() (Scores, error) { return r.noised(ctx, full, func(party int) bool { return party == 0 }) }
	local := func() (Scores, error) { return r.noised(ctx, full, func(int) bool { return true }) }
	if r.plan.Noise == protocol.NoiseLocal {
		trusted = func() (Scores, error) { return r.localNoise(ctx, true) }
		local = func() (Scores, error) { return r.localNoise(ctx, false) }
	}
	runs := []struct {
		name string
		to   *Scores
		run  func() (Scores, error)
	}{
		{"best single party", &refs.BestSingleParty, func() (Scores, error) { return r.single(ctx) }},
		{"non-private", &refs.NonPrivate, func() (Scores, error) { return r.nonPrivate(ctx, r.data.Parts) }},
		{"trusted aggregator", &refs.TrustedAggregator, trusted},
		{"local noise", &refs.LocalNoise, local},
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
		Dim: r.plan.Dim, Releases: uint32(r.plan.Releases()), Parts: 1,
		Sampling: privacy.Sampling(r.plan.Sampling), Rate: r.plan.SampleRate, Relation: privacy.Relation(r.plan.Relation)})
	if err != nil {
		return nil, err
	}
	return noise.NewGaussian(n.PartVariance)
}

// noised is the plan's own learning with the sum in the clear and the full
// noise added by the parties that adds names.
func (r reference) noised(ctx context.Context, full *noise.Gaussian, adds func(party int) bool) (Scores, error) {
	state, err := plainly(ctx, r.app, r.plan, r.data.Parts, full, adds)
	if err != nil {
		return Scores{}, err
	}
	return r.score(state)
}

// nonPrivate is the learning without noise: PVI with one factor a party and no clip, run
// until it has settled, or the plan's own method with its noise left out.
func (r reference) nonPrivate(ctx context.Context, parts []pvi.Data) (Scores, error) {
	if l, ok := r.app.(*app.PVI); ok && l.PVI.Strategy.Name().Local() {
		return r.withoutNoise(ctx, l, parts)
	} else if ok {
		return r.settled(ctx, l.PVI, parts)
	}
	p := *r.plan
	p.Noise, p.Variance = protocol.NoiseNone, 0
	state, err := plainly(ctx, r.app, &p, parts, nil, func(int) bool { return false })
	if err != nil {
		return Scores{}, err
	}
	q, err := r.app.Posterior(&p, state)
	if err != nil {
		return Scores{}, err
	}
	return r.data.evaluate(q, r.linear)
}

// settled is non-private PVI.
func (r reference) settled(ctx context.Context, cfg pvi.Config, parts []pvi.Data) (Scores, error) {
	cfg.Clip, cfg.Beta = 0, 0
	cfg.Damping, cfg.DampingDecay = 1, 0
	var fit pvi.Fit
	rounds := 1
	switch {
	case cfg.Model == pvi.Linear: // conjugate: one exact round
	case len(parts) == 1:
		fit = pvi.Fit{Steps: 200, LearningRate: 0.05}
	default:
		fit = pvi.Fit{Steps: 40, LearningRate: 0.05}
		cfg.Damping = 0.25
		rounds = 15
	}
	cfg.Strategy = pvi.Dataset{Fit: fit}
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
	p, err := r.app.Posterior(r.plan, raw)
	if err != nil {
		return Scores{}, err
	}
	return r.data.evaluate(p, r.linear)
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
