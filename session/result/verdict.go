package result

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/mat"

	"choir/learn/bayes"
	"choir/learn/defaults"
	"choir/learn/mcmc"
	"choir/learn/pvi"
	"choir/protocol"
	"choir/session/app"
)

// Warnings names what a finished session's public states show to be wrong, with its cause
// and what to change. states are the last ones, the final one last; with three of them the
// last rounds' movement is judged too. Sums and programs aren't judged, and of steps along plain
// gradients only whether they diverged: their noise has no such bound, and a warning tells.
func Warnings(p *protocol.Plan, states ...[]int64) ([]string, error) {
	all, err := findings(p, states...)
	if err != nil || len(states) == 0 {
		return all, err
	}
	a, err := app.Of(p)
	if err != nil {
		return all, err
	}
	hidden, err := app.Hidden(p, a, states[len(states)-1])
	if len(hidden) > 0 {
		all = append(all, narrowColumns(hidden))
	}
	return all, err
}

// narrowColumns warns of columns that lie in a small part of their range.
func narrowColumns(names []string) string {
	return fmt.Sprintf("narrow: values of %s lie in a small part of the public range, and noise hides how "+
		"small: their weights are hardly known; name a narrower range, or a center and a scale that are "+
		"publicly known, in the schema", strings.Join(names, ", "))
}

// findings are what the learning's movement shows.
func findings(p *protocol.Plan, states ...[]int64) ([]string, error) {
	if m, ok := samplerOf(p); ok && len(states) > 0 {
		if m.MCMC.Method == mcmc.Trace {
			return traceWarnings(p, m, states[len(states)-1])
		}
		d, err := drawsOf(m, p, states[len(states)-1])
		if err != nil || d.mixed() == "" {
			return nil, err
		}
		return []string{d.mixed()}, nil
	}
	finding, err := judge(p, states)
	if err == nil && finding == defaults.Fine {
		if why := unjudged(p); why != "" {
			return []string{"not judged: " + why + "; test the model on rows that no party learnt from before you " +
				"use it"}, nil
		}
	}
	if err != nil || finding == defaults.Fine {
		return nil, err
	}
	return []string{explain(p, finding)}, nil
}

// AwareWarnings are those that only a noise-aware posterior can tell, beside others: that it is
// about the prior, that noise hides how rare a class is, and that weights are where the prior hardly
// expects them, alone or together.
func AwareWarnings(p *protocol.Plan, q *bayes.Posterior, others []string) (all []string) {
	far := unexpected(p, q)
	if len(others) == 0 && far == "" && onlyPrior(p, q) {
		all = append(all, explain(p, defaults.Swamped))
	}
	if q.Rare() {
		all = append(all, rareClass(p))
	}
	if far != "" {
		all = append(all, far)
	}
	return all
}

func rareClass(p *protocol.Plan) string {
	return fmt.Sprintf("rare: the noise of %d rounds at epsilon %g hides how few records have the "+
		"rarer class; the same prediction for all, its share, may be better than these; more records or a "+
		"larger epsilon help", p.Rounds, p.Epsilon)
}

// traceWarnings are those of the trace posterior.
func traceWarnings(p *protocol.Plan, m *app.MCMC, state []int64) (all []string, err error) {
	q, err := m.Draws(p, state)
	if err != nil || p.Noise == protocol.NoiseNone {
		return nil, err
	}
	if q.Swamped {
		all = append(all, explain(p, defaults.Swamped))
	}
	if q.Rare {
		all = append(all, rareClass(p))
	}
	return all, nil
}

// onlyPrior reports whether all weights but the intercept have about the prior's standard
// deviation. Noisy statistics, whose prior is in units of their columns, are judged elsewhere.
func onlyPrior(p *protocol.Plan, q *bayes.Posterior) bool {
	a, err := app.Of(p)
	if err != nil {
		return false
	}
	precision, ok := priorPrecision(a)
	if !ok {
		return false
	}
	sd := q.Shrunk()
	for _, s := range sd[:len(sd)-1] {
		if s*math.Sqrt(precision) < narrow {
			return false
		}
	}
	return len(sd) > 1
}

// unjudged tells why the error that a session leaves in the weights has no estimate: of adaptive steps
// and of steps in the full family under every party's own noise, and of committees of linear
// regression, whose clipped steps end short. Empty is an estimate.
func unjudged(p *protocol.Plan) string {
	a, err := app.PVIOf(p)
	if err != nil || a.PVI.Model == bayes.External || p.Noise == protocol.NoiseNone {
		return ""
	}
	s := a.PVI.Strategy
	committee := s.Name() == pvi.NameBCMSame || s.Name() == pvi.NameBCMSplit
	if !committee && s.Name() != pvi.NameOptimisation && s.Name() != pvi.NameHybrid {
		return ""
	}
	if o := s.Params().Optimiser; o != pvi.Natural && o != pvi.SGD {
		return "how much noise steps along plain gradients leave in the weights isn't known"
	}
	if committee && a.PVI.Model == bayes.Linear {
		return "how far a committee's one round of clipped steps ends from the regression's weights isn't known"
	}
	return ""
}

// samplerOf returns the application of a plan of Markov chain Monte Carlo.
func samplerOf(p *protocol.Plan) (*app.MCMC, bool) {
	if p.Application != app.NameMCMC {
		return nil, false
	}
	a, err := app.Of(p)
	if err != nil {
		return nil, false
	}
	m, ok := a.(*app.MCMC)
	return m, ok
}

func judge(p *protocol.Plan, states [][]int64) (defaults.Finding, error) {
	if slices.Contains([]string{app.NameSum, app.NameTable, app.NameShuffle}, p.Application) ||
		len(states) == 0 || p.Noise == protocol.NoiseNone {
		return defaults.Fine, nil
	}
	a, err := app.Of(p)
	if err != nil {
		return defaults.Fine, err
	}
	var o defaults.Outcome
	var noise func(q *bayes.Posterior) (all, step []float64)
	switch a := a.(type) {
	case *app.PVI:
		if a.PVI.Model == bayes.External {
			return defaults.Fine, nil
		}
		o.Prior = a.PVI.PriorPrecision
		noise = func(q *bayes.Posterior) (all, step []float64) { return learningNoise(p, a, q) }
	case *app.GlobalVI:
		o.Prior = a.Global.PriorPrecision
		noise = func(q *bayes.Posterior) (all, step []float64) { return globalNoise(p, a, q) }
	case *app.Statistics:
		return judgeStatistics(p, a, states[len(states)-1])
	default:
		return defaults.Fine, nil
	}
	means := make([][]float64, len(states))
	for i, s := range states {
		q, err := a.Posterior(p, s)
		if err != nil {
			return defaults.Fine, err
		}
		means[i] = q.Mean()
		if i == len(states)-1 {
			o.Noise, o.Step = noise(q)
			if o.Regression, err = regression(a, q); err != nil {
				return defaults.Fine, err
			}
		}
	}
	o.Mean = means[len(means)-1]
	if o.Start, o.Share, err = ofNetwork(p, a, states[len(states)-1]); err != nil {
		return defaults.Fine, err
	}
	if n := len(means); n >= 3 {
		o.Before, o.Earlier = means[n-2], means[n-3]
	}
	return defaults.Judge(o), nil
}

// regression is what the predictions of linear regression depend on; nil for other models.
func regression(a app.Spec, q *bayes.Posterior) (*defaults.Regression, error) {
	l, ok := a.(*app.PVI)
	if !ok || l.PVI.Model != bayes.Linear {
		return nil, nil
	}
	schema, err := l.Encoding()
	if err != nil {
		return nil, err
	}
	f := defaults.Of(schema)
	r := &defaults.Regression{NoiseSD: l.PVI.NoiseSD, Spread: f.Spread, SD: q.SD(), Target: f.Target,
		Doubt: doubt}
	if name := l.PVI.Strategy.Name(); name == pvi.NameOptimisation || name == pvi.NameHybrid {
		r.Doubt = 1
	}
	return r, nil
}

// ofNetwork is the public means that a network's units begin with, nil for other models, and what it
// predicts for a typical record.
func ofNetwork(p *protocol.Plan, a app.Spec, state []int64) (start []float64, share float64, err error) {
	network := false
	switch a := a.(type) {
	case *app.PVI:
		network = a.PVI.Model == bayes.BNN
	case *app.GlobalVI:
		network = a.Global.Model == bayes.BNN
	}
	if !network {
		return nil, 0, nil
	}
	q, err := a.Posterior(p, a.Model(p).Initial())
	if err != nil {
		return nil, 0, err
	}
	share, err = typicalShare(p, a, state)
	return q.Mean(), share, err
}

// typicalShare is what a model of two classes predicts where every number is at its centre and all
// categories of a column are alike.
func typicalShare(p *protocol.Plan, a app.Spec, state []int64) (float64, error) {
	schema, err := a.Encoding()
	if err != nil {
		return 0, err
	}
	q, err := a.Posterior(p, state)
	if err != nil {
		return 0, err
	}
	var x []float64
	for _, c := range schema.Columns {
		if c.Numeric != nil {
			x = append(x, 0)
			continue
		}
		for range c.Categories {
			x = append(x, 1/float64(len(c.Categories)))
		}
	}
	prediction, err := q.Predict(append(x, 1))
	return prediction.Mean, err
}

// judgeStatistics judges the posterior of noisy statistics, whose standard deviations include
// the noise, in units of the prior's.
func judgeStatistics(p *protocol.Plan, a *app.Statistics, state []int64) (defaults.Finding, error) {
	prior, err := a.Statistics.PriorOf(state, app.SumVariance(p))
	if err != nil {
		return defaults.Fine, err
	}
	q, err := a.Posterior(p, state)
	if err != nil {
		return defaults.Fine, err
	}
	o := defaults.Outcome{Prior: 1}
	sd := q.SD()
	for j, m := range q.Mean() {
		unit := math.Sqrt(prior.Variance[j])
		o.Mean = append(o.Mean, m/unit)
		o.Noise = append(o.Noise, sd[j]/unit)
	}
	o.White = white(q)
	return defaults.Judge(o), nil
}

// white is the means of a posterior without the bias's, made independent and of variance 1 by its
// covariance: of correlated columns every single weight may be uncertain where their sum is not. nil if
// it is singular.
func white(q *bayes.Posterior) []float64 {
	k := len(q.Mean()) - 1
	if k < 1 {
		return nil
	}
	covariance := mat.NewSymDense(k, nil)
	for i := range k {
		for j := i; j < k; j++ {
			covariance.SetSym(i, j, q.Covariance().At(i, j))
		}
	}
	var root mat.Cholesky
	if !root.Factorize(covariance) {
		return nil
	}
	var lower mat.TriDense
	root.LTo(&lower)
	out := make([]float64, k)
	for i := range k {
		out[i] = q.Mean()[i]
		for j := range i {
			out[i] -= lower.At(i, j) * out[j]
		}
		out[i] /= lower.At(i, i)
	}
	return out
}

// doubt is the factor by which a regression's noise was at most longer than its estimate, which has the
// final precisions for those of all rounds (3 to 30 generated parties of 96 and 300 rows, epsilon 1 and
// 8); that of optimisation is generous already.
const doubt = 2

// explain is a finding in plain words.
func explain(p *protocol.Plan, f defaults.Finding) string {
	if f == defaults.Diverged {
		return "diverged: the weights are far beyond the prior, or the last rounds still throw them " +
			"back and forth; leave damping and rounds out of the plan, so that they follow its columns, or lower " +
			"the damping"
	}
	if f == defaults.Rare {
		return rareClass(p)
	}
	if f == defaults.Outweighed {
		return fmt.Sprintf("outweighed: the noise of %d rounds at epsilon %g may add more error to the "+
			"predictions than the weights explain, and the mean of the targets may predict better; more "+
			"records, more parties or a larger epsilon help, or leave strategy out: statistics need less",
			p.Rounds, p.Epsilon)
	}
	help := "more records, more parties or a larger epsilon help"
	if many := fewerHelp(p); many != "" {
		help = "more records, more parties, a larger epsilon or fewer features help: " + many
	}
	return fmt.Sprintf("swamped: the weights can't be told from the noise of %d rounds at epsilon %g; %s",
		p.Rounds, p.Epsilon, help)
}
