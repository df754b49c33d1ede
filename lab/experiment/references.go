package experiment

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"

	"choir/crypto/noise"
	"choir/learn/bayes"
	"choir/learn/centre"
	"choir/learn/global"
	"choir/learn/mcmc"
	"choir/learn/pvi"
	"choir/learn/stats"
	"choir/privacy"
	"choir/protocol"
	"choir/session/app"
)

// References are the results that a session is compared with, computed on the same data. Those with noise are
// zero where it is too much for a plan of theirs.
type References struct {
	// NonPrivate has all rows in one place, without clipping and noise.
	NonPrivate Scores `json:"non_private"`
	// TrustedAggregator has the same noise, added once by a trusted party.
	TrustedAggregator Scores `json:"trusted_aggregator,omitzero"`
	// LocalNoise: every party adds all of the noise, as without a secure sum.
	LocalNoise Scores `json:"local_noise,omitzero"`
	// BestSingleParty is a party alone, without noise: the one that does best on rows that the parties hold out
	// of their training rows. It then learns from all of its own, and may be below the median on the test rows.
	BestSingleParty   Scores `json:"best_single_party"`
	MedianSingleParty Scores `json:"median_single_party"` // by log-likelihood on the test rows
	// BestSingleParty and MedianSingleParty with the same privacy: what a party could publish
	// alone under the session's epsilon and delta.
	BestSinglePartyPrivate Scores `json:"best_single_party_private,omitzero"`
	MedianSinglePrivate    Scores `json:"median_single_party_private,omitzero"`
	Majority               Scores `json:"majority"` // the training rows' share of ones, or mean, for every row
}

// reference runs everything that needs no protocol.
type reference struct {
	data    *Data
	app     app.Spec // the plan's
	plan    *protocol.Plan
	linear  bool
	epsilon float64
}

// all computes the references, as many at a time as there are processors, and tells of each that
// is done. One whose noise has no plan is missing, with a warning why: the session keeps its own result.
func (r reference) all(ctx context.Context, done func(string)) (refs References, missing []string,
	err error) {
	full, variance, fullErr := r.fullNoise()
	noised := func(adding int) (Scores, error) {
		if fullErr != nil {
			return Scores{}, fullErr
		}
		return r.noised(ctx, full, variance, adding)
	}
	trusted := func() (Scores, error) { return noised(1) }
	local := func() (Scores, error) { return noised(r.plan.Parties()) }
	if r.plan.Noise == protocol.NoiseLocal {
		trusted = func() (Scores, error) { return r.localNoise(ctx, true) }
		local = func() (Scores, error) { return r.localNoise(ctx, false) }
	}
	singles := func() error {
		return r.singles(ctx, &refs.BestSingleParty, &refs.MedianSingleParty, r.fit)
	}
	refs.Majority = r.data.Majority(r.linear)
	one := func(to *Scores, run func() (Scores, error)) func() error {
		return func() (err error) {
			*to, err = run()
			return err
		}
	}
	runs := []computation{
		{"single parties", singles},
		{"no privacy", one(&refs.NonPrivate, func() (Scores, error) { return r.nonPrivate(ctx) })},
		{"trusted aggregator", one(&refs.TrustedAggregator, trusted)},
		{"local noise", one(&refs.LocalNoise, local)},
		{"single parties with privacy", func() error {
			fit, err := r.alonePrivate()
			if err != nil {
				return err
			}
			return r.singles(ctx, &refs.BestSinglePartyPrivate, &refs.MedianSinglePrivate, fit)
		}},
	}
	missing, err = together(runs, done)
	return refs, missing, err
}

// computation is that of one or several references.
type computation struct {
	name string
	run  func() error
}

// together runs all at a time.
func together(runs []computation, done func(string)) (missing []string, err error) {
	errs := make([]error, len(runs))
	var group sync.WaitGroup
	for i, ref := range runs {
		group.Go(func() {
			errs[i] = ref.run()
			done(ref.name)
		})
	}
	group.Wait()
	for i, ref := range runs {
		switch {
		case errs[i] == nil:
		case tooMuch(errs[i]):
			missing = append(missing, fmt.Sprintf("no reference of %s: %v", ref.name, errs[i]))
		default:
			err = errors.Join(err, fmt.Errorf("%s reference: %w", ref.name, errs[i]))
		}
	}
	return missing, err
}

// tooMuch reports noise that no plan can have, or that a state can't.
func tooMuch(err error) bool {
	for _, limit := range []error{privacy.ErrUnreachable, pvi.ErrOverflow, stats.ErrOverflow, global.ErrOverflow,
		mcmc.ErrOverflow} {
		if errors.Is(err, limit) {
			return true
		}
	}
	return false
}

// mostDraws is the largest number of draws that the noise of one contributor is the sum of.
const mostDraws = 1 << 12

// fullNoise is the noise that one trusted contributor would have to add for the plan's budget, and its
// variance. It is a single draw, or the sum of as many as keep each within the range of the sampler.
func (r reference) fullNoise() (full added, variance float64, err error) {
	t := privacy.Target{
		Epsilon:     r.plan.Epsilon,
		Delta:       r.plan.Delta,
		Sensitivity: r.plan.Sensitivity,
		Dim:         r.plan.Dim,
		Releases:    uint32(r.plan.Releases()),
		Parts:       1,
		Sampling:    privacy.Sampling(r.plan.Sampling),
		Rate:        r.plan.SampleRate,
		Relation:    privacy.Relation(r.plan.Relation),
	}
	n, err := privacy.Calibrate(t)
	for errors.Is(err, privacy.ErrUnreachable) && t.Parts < mostDraws {
		t.Parts *= 2
		n, err = privacy.Calibrate(t)
	}
	if err != nil {
		return added{}, 0, err
	}
	full.draws = int(t.Parts)
	full.full, err = noise.NewGaussian(n.PartVariance)
	return full, float64(t.Parts) * float64(n.PartVariance), err
}

// noised is the plan's own learning with the sum in the clear and the full
// noise, of the given variance, added by the first adding parties. The plan has that noise
// in the parties' shares, for methods that know how much there is.
func (r reference) noised(ctx context.Context, full added, variance float64, adding int) (Scores, error) {
	p := *r.plan
	p.Variance = max(1, uint64(min(1<<63, float64(adding)*variance/float64(p.Parties()))))
	full.adds = func(i int) bool { return i < adding }
	q, err := learnt(ctx, r.app, &p, r.data.Parts, p.Parties(), full)
	if err != nil {
		return Scores{}, err
	}
	return r.data.evaluate(q, r.linear)
}

// nonPrivate is the model's fit to all rows in one place, or the plan's own method without noise and the
// bounds that limit it.
func (r reference) nonPrivate(ctx context.Context) (Scores, error) {
	q, err := r.fit(ctx, r.data.Train)
	if err != nil {
		return Scores{}, err
	}
	return r.data.evaluate(q, r.linear)
}

// fit is the model's posterior on rows in one place, without privacy. Where the plan measures in which frame
// it learns, rows are in their own.
func (r reference) fit(ctx context.Context, rows bayes.Data) (*bayes.Posterior, error) {
	like, ok := r.like()
	if !ok {
		p := *r.plan
		p.Noise = protocol.NoiseNone
		p.Variance = 0
		return posterior(ctx, whole(r.app, rows.Rows()), &p, []bayes.Data{rows})
	}
	if app.CentreRounds(r.app) == 0 || rows.Rows() == 0 {
		return measured(ctx, like, rows)
	}
	schema, err := r.app.Encoding()
	if err != nil {
		return nil, err
	}
	columns := centre.Of(schema)
	frame := columns.Exact(rows.X)
	q, err := measured(ctx, like, bayes.Data{X: columns.Recode(rows.X, frame), Y: rows.Y})
	if err != nil {
		return nil, err
	}
	return q.After(func(x []float64) []float64 { return columns.Recode(x, frame) }), nil
}

// measured is settled, with the noise of an observation that the rows' own residuals tell where a session has
// rounds that measure it: log-likelihoods of both are of what was learnt, not of the plan's assumption.
func measured(ctx context.Context, like pvi.Config, rows bayes.Data) (*bayes.Posterior, error) {
	q, err := settled(ctx, like, rows)
	if err != nil || like.ResidualFrom == 0 || rows.Rows() < 2 {
		return q, err
	}
	n, assumed := rows.Rows(), like.NoiseSD
	free := float64(max(n-like.Features, n/2)) // of the residuals, after the weights' fit
	for range 2 {                              // the weights' prior counts a little for it
		s, err := q.Evaluate(rows)
		if err != nil {
			return nil, err
		}
		like.NoiseSD = max(s.RMSE*math.Sqrt(float64(n)/free), leastNoise*assumed)
		if q, err = settled(ctx, like, rows); err != nil {
			return nil, err
		}
	}
	return q, nil
}

// leastNoise is the least noise that residuals tell, in the assumed one's.
const leastNoise = 1e-3

// whole is an application without the bounds that limit the noise, for that many rows in one place.
func whole(a app.Spec, rows int) app.Spec {
	s, ok := a.(*app.Statistics)
	if !ok {
		return a
	}
	own := *s
	own.Statistics = s.Statistics.Whole(rows)
	return &own
}

// like has the model that the plan learns; false: its own method without noise fits it.
func (r reference) like() (pvi.Config, bool) {
	switch a := r.app.(type) {
	case *app.PVI:
		return a.PVI, true
	case *app.MCMC:
		return pvi.Config{Model: bayes.Logistic, Features: a.MCMC.Features, PriorPrecision: a.MCMC.PriorPrecision},
			true
	case *app.GlobalVI:
		return pvi.Config{
			Model:          a.Global.Model,
			Features:       a.Global.Features,
			Hidden:         a.Global.Hidden,
			Samples:        a.Global.Samples,
			PriorPrecision: a.Global.PriorPrecision,
			StartSpread:    a.Global.InitialSpread,
		}, true
	}
	return pvi.Config{}, false
}

func (r reference) score(raw []int64) (Scores, error) {
	p, err := r.app.Posterior(r.plan, raw)
	if err != nil {
		return Scores{}, err
	}
	return r.data.evaluate(p, r.linear)
}
