package experiment

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"choir/crypto/noise"
	"choir/learn/bayes"
	"choir/learn/dataset"
	"choir/learn/gauss"
	"choir/learn/pvi"
	"choir/privacy"
	"choir/protocol"
	"choir/session/app"
	"choir/session/run"
	"choir/session/terms"
)

// fitting is a way of learning from one party's rows.
type fitting func(ctx context.Context, rows bayes.Data) (*bayes.Posterior, error)

// singles has every party learn alone. The best is chosen without the test rows: every party
// holds out a fifth of its training rows, learns from the others, and is ranked by what
// all parties have held out. Its own fifth alone would be too few rows to tell parties apart.
func (r reference) singles(ctx context.Context, best, median *Scores, fit fitting) error {
	rest, held := r.holdOut()
	most := math.Inf(-1)
	all := make([]Scores, len(r.data.Parts))
	for i, part := range r.data.Parts {
		rank, err := fit(ctx, rest[i])
		if err != nil {
			return fmt.Errorf("party %d: %w", i, err)
		}
		s, err := rank.Evaluate(held)
		if err != nil {
			return err
		}
		q, err := fit(ctx, part)
		if err != nil {
			return fmt.Errorf("party %d: %w", i, err)
		}
		if all[i], err = r.data.evaluate(q, r.linear); err != nil {
			return err
		}
		if s.LogLikelihood > most || i == 0 {
			most = s.LogLikelihood
			*best = all[i]
		}
	}
	slices.SortFunc(all, func(a, b Scores) int { return cmp.Compare(a.LogLikelihood, b.LogLikelihood) })
	*median = all[len(all)/2]
	return nil
}

// holdOut splits every party's rows: four fifths for itself, and what all of them hold out. A
// party of few rows holds none out, and is ranked by its own too.
func (r reference) holdOut() (rest []bayes.Data, held bayes.Data) {
	for _, part := range r.data.Parts {
		if part.Rows() < 5 {
			rest = append(rest, part)
			held.X = append(held.X, part.X...)
			held.Y = append(held.Y, part.Y...)
			continue
		}
		fifths := part.Split(5)
		held.X = append(held.X, fifths[0].X...)
		held.Y = append(held.Y, fifths[0].Y...)
		var own bayes.Data
		for _, f := range fifths[1:] {
			own.X = append(own.X, f.X...)
			own.Y = append(own.Y, f.Y...)
		}
		rest = append(rest, own)
	}
	return rest, held
}

// settled is variational inference on rows in one place.
func settled(ctx context.Context, like pvi.Config, rows bayes.Data) (*bayes.Posterior, error) {
	cfg := pvi.Config{Model: like.Model, Family: gauss.MeanField, Features: like.Features,
		NoiseSD: like.NoiseSD, PriorPrecision: like.PriorPrecision, PrecisionFloor: like.PriorPrecision,
		FracBits: 24, DampingBits: 16, Damping: 1}
	fit := pvi.Fit{Steps: 120, LearningRate: 0.08}
	if cfg.Model == bayes.Linear { // conjugate: one exact round
		fit = pvi.Fit{}
		cfg.Family = like.Family
	}
	if cfg.Model == bayes.BNN {
		return settledNetwork(ctx, cfg, like, rows)
	}
	cfg.Strategy = pvi.Dataset{Fit: fit}
	l, err := pvi.NewLearner(cfg, rows, 1)
	if err != nil {
		return nil, err
	}
	h, err := pvi.Run(ctx, cfg, []*pvi.Learner{l}, nil, 1)
	if err != nil {
		return nil, err
	}
	return cfg.Posterior(h.Final())
}

// Training of a network in one place: more steps follow as long as they gain so much on the rows it learns
// from, in nats a row.
const (
	networkSteps  = 60
	networkRounds = 12
	networkGain   = 0.002
	networkStart  = 40 // precision that keeps the units apart
)

// settledNetwork is variational inference of a network on rows in one place, until the rows it learns from
// are predicted no better.
func settledNetwork(ctx context.Context, cfg, like pvi.Config, rows bayes.Data) (*bayes.Posterior, error) {
	cfg.Hidden = like.Hidden
	cfg.Samples = like.Samples
	cfg.StartSpread = cmp.Or(like.StartSpread, like.PriorSpread)
	cfg.StartPrecision = networkStart
	cfg.Strategy = pvi.Dataset{Fit: pvi.Fit{Steps: networkSteps, LearningRate: 0.05}}
	l, err := pvi.NewLearner(cfg, rows, 1)
	if err != nil {
		return nil, err
	}
	raw, state := cfg.Initial(), l.InitialState()
	var q *bayes.Posterior
	for round, before := 1, math.Inf(-1); round <= networkRounds; round++ {
		p, err := l.Propose(ctx, round, raw, state)
		if err != nil {
			return nil, err
		}
		if raw, err = cfg.Fold(round, raw, p.Update); err != nil {
			return nil, err
		}
		if state, err = l.Settle(round, state, p.Memo); err != nil {
			return nil, err
		}
		if q, err = cfg.Posterior(raw); err != nil {
			return nil, err
		}
		s, err := q.Evaluate(rows)
		if err != nil {
			return nil, err
		}
		if s.LogLikelihood < before+networkGain {
			break
		}
		before = s.LogLikelihood
	}
	return q, nil
}

// alonePrivate is what a party could publish by itself under the plan's epsilon and delta: the
// plan's method on its rows, with all of the noise on its own sums. One plan serves all
// parties, chosen for their mean number of rows.
func (r reference) alonePrivate() (fitting, error) {
	spec, p, err := r.alonePlan()
	if err != nil {
		return nil, err
	}
	var full *noise.Gaussian
	if p.Noise == protocol.NoiseParty {
		if full, err = noise.NewGaussian(p.Variance); err != nil {
			return nil, err
		}
	}
	return func(ctx context.Context, rows bayes.Data) (*bayes.Posterior, error) {
		return learnt(ctx, spec, p, []bayes.Data{rows}, 1,
			added{full: full, adds: func(int) bool { return full != nil }})
	}, nil
}

// alonePlan is a plan of two parties, of which one has all the rows and the other none: the
// noise of each has to hide the sum by itself.
func (r reference) alonePlan() (app.Spec, *protocol.Plan, error) {
	schema, err := r.encoded()
	if err != nil {
		return nil, nil, err
	}
	roster, err := run.NewRoster(nil, 2, 2)
	if err != nil {
		return nil, nil, err
	}
	t := terms.Terms{Name: "alone", Members: roster.Members, Created: time.Now(), Lifetime: time.Hour,
		Deadline: time.Minute, Grace: time.Second, Noise: protocol.NoiseParty,
		Epsilon: r.epsilon, Delta: r.plan.Delta, Rounds: int(r.plan.Rounds)}
	if r.plan.Noise == protocol.NoiseLocal {
		t.Noise = protocol.NoiseLocal
	}
	records := int64(max(1, r.data.Train.Rows()/len(r.data.Parts)))
	var spec app.Spec
	switch a := r.app.(type) {
	case *app.GlobalVI:
		own := *a
		own.Global.Records = records
		spec = &own
	case *app.MCMC:
		own := *a
		own.MCMC.Records = records
		spec = &own
	case *app.Statistics:
		own := *a
		own.Statistics.Records = records
		spec = &own
	case *app.PVI:
		l := terms.LearningConfig{Model: string(a.PVI.Model), Strategy: string(a.PVI.Strategy.Name()),
			Records: records, Weights: []float64{1, 0}}
		if a.PVI.Strategy.Name() == pvi.NameDataset {
			l.Strategy = string(pvi.NameVirtual) // one factor alone is one update alone
			t.Rounds = 0
		}
		if spec, t.Rounds, err = l.Spec(t, schema); err != nil {
			return nil, nil, err
		}
	}
	p, err := t.Plan(spec)
	if g, ok := spec.(*app.GlobalVI); ok { // enough noise that the steps of a coarser grid are nothing
		for errors.Is(err, privacy.ErrUnreachable) && g.Global.FracBits > coarsest {
			g.Global.FracBits -= 2
			p, err = t.Plan(spec)
		}
	}
	return spec, p, err
}

// encoded is the plan's schema for rows that are encoded: none is left out any more.
func (r reference) encoded() (*dataset.Schema, error) {
	schema, err := r.app.Encoding()
	if err != nil {
		return nil, err
	}
	own := *schema
	if own.Missing == dataset.Drop {
		own.Missing = dataset.Zero
	}
	return &own, nil
}

// coarsest is the coarsest grid that a party alone has, in bits.
const coarsest = 10

// Majority predicts the training rows' share of ones for every row, or for the linear model
// their mean and variance.
func (d *Data) Majority(linear bool) Scores {
	mean := 0.0
	for _, y := range d.Train.Y {
		mean += y / float64(d.Train.Rows())
	}
	var s Scores
	n := float64(d.Test.Rows())
	if linear {
		v := variance(d.Train.Y)
		square := 0.0
		for _, y := range d.Test.Y {
			square += (y - mean) * (y - mean) / n
			s.LogLikelihood -= ((y-mean)*(y-mean)/v + math.Log(2*math.Pi*v)) / 2 / n
		}
		s.Accuracy = 1 - square/variance(d.Test.Y)
		return s
	}
	least := 0.5 / float64(d.Train.Rows())
	p := min(max(mean, least), 1-least)
	right := 0
	for _, y := range d.Test.Y {
		s.LogLikelihood += (y*math.Log(p) + (1-y)*math.Log(1-p)) / n
		if (y > 0.5) == (p > 0.5) {
			right++
		}
	}
	s.Accuracy = float64(right) / n
	return s
}

// tolerance is how much worse than the majority, in nats a row, a result may be.
const tolerance = 0.01

// worse reports whether scores are below what needs no columns.
func (r References) worse(s Scores) bool {
	return !(s.LogLikelihood >= r.Majority.LogLikelihood-tolerance)
}

// baseline names what needs no columns.
func baseline(linear bool) string {
	if linear {
		return "the mean of the targets"
	}
	return "the majority class"
}

// withoutColumns is the better of what needs no columns: the baseline and, for classes, even odds.
func (r References) withoutColumns(linear bool) (logLikelihood float64, name string) {
	if even := -math.Ln2; !linear && even > r.Majority.LogLikelihood {
		return even, "even odds"
	}
	return r.Majority.LogLikelihood, baseline(linear)
}

// worseThanNothing states that scores are below what needs no columns, and why.
func worseThanNothing(s Scores, refs References, epsilon float64, linear, statistics, tail bool) string {
	text := fmt.Sprintf("The result is worse than predicting %s for every row (log-likelihood %.3f and %.3f)",
		baseline(linear), s.LogLikelihood, refs.Majority.LogLikelihood)
	exact := refs.worse(refs.NonPrivate)
	if exact {
		text += fmt.Sprintf(", and without any privacy it would be too (%.3f)", refs.NonPrivate.LogLikelihood)
	}
	switch {
	case linear && tail, statistics && exact:
		return text + ": targets are not normal around what the columns say, as those with a long tail aren't. " +
			"Learn their logarithm, and see that their range has all of them."
	case linear && exact:
		return text + ": noise_sd is far from what the columns leave of the target. Name it in the plan, or " +
			"leave strategy out, since statistics estimate it."
	}
	return text + fmt.Sprintf(": at epsilon %g these parties have too little data for this method.", epsilon)
}

// verdict states the scores in plain words. tail reports that the target has a long one.
func verdict(s Scores, refs References, epsilon float64, linear, statistics, tail bool) string {
	measure := "accuracy"
	if linear {
		measure = "R squared"
	}
	ll := s.LogLikelihood
	chosen, median, private := refs.BestSingleParty, refs.MedianSingleParty, refs.BestSinglePartyPrivate
	best := chosen // held-out rows may choose one that the test rows rank below the median
	if median.LogLikelihood > best.LogLikelihood {
		best = median
	}
	floor, flat := refs.withoutColumns(linear)
	switch {
	case refs.worse(s):
		return worseThanNothing(s, refs, epsilon, linear, statistics, tail)
	case ll <= floor:
		return fmt.Sprintf("At epsilon %g joining tells nothing here that needs the columns: log-likelihood %.3f "+
			"together, %.3f for %s, and %.3f for a party alone without any privacy.", epsilon, ll, floor, flat,
			best.LogLikelihood)
	case ll > best.LogLikelihood && s.Accuracy < max(chosen.Accuracy, median.Accuracy):
		return fmt.Sprintf("Joining pays: together, under epsilon %g, the parties reach log-likelihood %.3f; "+
			"alone, without any privacy, the party that held-out rows choose reaches %.3f and the median one %.3f. "+
			"In %s, %.3f, they are no better than a party alone, %.3f.", epsilon, ll, chosen.LogLikelihood,
			median.LogLikelihood, measure, s.Accuracy, max(chosen.Accuracy, median.Accuracy))
	case ll > best.LogLikelihood:
		return fmt.Sprintf("Joining pays: together, under epsilon %g, the parties reach %s %.3f and "+
			"log-likelihood %.3f; alone, without any privacy, the party that held-out rows choose reaches %.3f and "+
			"%.3f, and the median one %.3f and %.3f.", epsilon, measure, s.Accuracy, ll, chosen.Accuracy,
			chosen.LogLikelihood, median.Accuracy, median.LogLikelihood)
	case ll > median.LogLikelihood:
		return fmt.Sprintf("Joining pays for most: under epsilon %g the parties reach log-likelihood %.3f "+
			"together; the median party alone reaches %.3f without privacy, and the one that held-out rows choose "+
			"%.3f.", epsilon, ll, median.LogLikelihood, chosen.LogLikelihood)
	case private != (Scores{}) && ll > max(private.LogLikelihood, refs.MedianSinglePrivate.LogLikelihood):
		return fmt.Sprintf("Joining pays for parties that need privacy: log-likelihood %.3f together, %.3f for "+
			"a party alone under the same epsilon %g; without any privacy a party alone reaches %.3f.",
			ll, max(private.LogLikelihood, refs.MedianSinglePrivate.LogLikelihood), epsilon, best.LogLikelihood)
	}
	return fmt.Sprintf("At epsilon %g joining does not pay here: log-likelihood %.3f together, %.3f for a "+
		"party alone.", epsilon, ll, best.LogLikelihood)
}
