package result

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"choir/learn/defaults"
	"choir/learn/gauss"
	"choir/learn/mcmc"
	"choir/learn/pvi"
	"choir/protocol"
	"choir/session/app"
)

// Warnings names what a finished session's public states show to be wrong, with its cause
// and what to change. states are the last ones, the final one last; with three of them the
// last rounds' movement is judged too. Sums and programs aren't judged, and of steps along plain
// gradients only whether they diverged: their noise has no such bound, and a warning says so.
func Warnings(p *protocol.Plan, states ...[]int64) ([]string, error) {
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
// about the prior, and that noise hides how rare a class is.
func AwareWarnings(p *protocol.Plan, q *pvi.Posterior, others []string) (all []string) {
	if len(others) == 0 && onlyPrior(p, q) {
		all = append(all, explain(p, defaults.Swamped))
	}
	if q.Rare() {
		all = append(all, rareClass(p))
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
func onlyPrior(p *protocol.Plan, q *pvi.Posterior) bool {
	a, err := app.Of(p)
	if err != nil {
		return false
	}
	precision, ok := priorPrecision(a)
	if !ok {
		return false
	}
	sd := q.SD()
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
	if err != nil || a.PVI.Model == pvi.External || p.Noise == protocol.NoiseNone {
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
	if committee && a.PVI.Model == pvi.Linear {
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
	var noise func(q *pvi.Posterior) (all, step []float64)
	switch a := a.(type) {
	case *app.PVI:
		if a.PVI.Model == pvi.External {
			return defaults.Fine, nil
		}
		o.Prior = a.PVI.PriorPrecision
		noise = func(q *pvi.Posterior) (all, step []float64) { return learningNoise(p, a, q) }
	case *app.GlobalVI:
		o.Prior = a.Global.PriorPrecision
		noise = func(q *pvi.Posterior) (all, step []float64) { return globalNoise(p, a, q) }
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
func regression(a app.Spec, q *pvi.Posterior) (*defaults.Regression, error) {
	l, ok := a.(*app.PVI)
	if !ok || l.PVI.Model != pvi.Linear {
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
		network = a.PVI.Model == pvi.BNN
	case *app.GlobalVI:
		network = a.Global.Model == pvi.BNN
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
	prior := a.Statistics.Prior()
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
func white(q *pvi.Posterior) []float64 {
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

// learningNoise is the standard deviation of a run's noise on every weight's mean, and that of
// its last round; nil where it isn't known. The linear part h and the precision P, which has twice
// the noise of its natural parameter, -P/2, give the mean h/P the variance (s^2 + 4 s^2 mean^2) /
// P^2.
func learningNoise(p *protocol.Plan, a *app.PVI, q *pvi.Posterior) (all, step []float64) {
	c := a.PVI
	sum := math.Ldexp(math.Sqrt(app.SumVariance(p)), -int(p.FracBits))
	if p.Noise == protocol.NoiseLocal {
		sum = math.Ldexp(math.Sqrt(float64(p.Variance)*float64(p.Parties())), -int(p.FracBits))
	}
	rounds := a.LearningRounds(p) - a.CentreRounds
	switch name := c.Strategy.Name(); {
	case name == pvi.NameAnalytic: // the mean of all rounds
		sum /= math.Sqrt(float64(rounds))
		return scaled(sum, spreads(c, q)), nil
	case name.Local() && name != pvi.NamePerturbation:
		return optimisationNoise(p, c, q, sum)
	}
	total := 0.0
	last := 0.0
	newton := c.Strategy.Params().Optimiser == pvi.Newton
	if c.CurvatureFrom > 0 {
		rounds = min(rounds, c.CurvatureFrom-1)
	}
	for r := range rounds {
		last = c.Damping / (1 + c.DampingDecay*float64(r))
		if newton { // the mean moves towards a fixed point, at least half as fast as planned
			total *= (1 - last/2) * (1 - last/2)
			last *= c.StepScale(r + 1)
		}
		total += last * last
	}
	spread := spreads(c, q)
	return scaled(sum*math.Sqrt(total), spread), scaled(sum*last, spread)
}

// spreads is the standard deviation of every weight's mean for noise of standard deviation 1 on
// the natural parameters. In the full family the covariance S turns noise e on h and E on the
// precisions into S (e - E mean).
func spreads(c pvi.Config, q *pvi.Posterior) []float64 {
	out := make([]float64, len(q.Mean()))
	square := 0.0
	for _, m := range q.Mean() {
		square += m * m
	}
	sd := q.SD()
	for j, m := range q.Mean() {
		switch {
		case c.Family == gauss.Full:
			row := 0.0
			for i := range out {
				v := q.Covariance().At(i, j)
				row += v * v
			}
			out[j] = math.Sqrt(row * (1 + square))
		case c.Strategy.Params().Optimiser == pvi.Newton: // precisions have no noise
			out[j] = sd[j] * sd[j]
		default:
			out[j] = math.Sqrt(1+4*m*m) * sd[j] * sd[j]
		}
	}
	return out
}

func scaled(by float64, v []float64) []float64 {
	out := make([]float64, len(v))
	for i, x := range v {
		out[i] = by * x
	}
	return out
}

// optimisationNoise approximates the noise of DP optimisation. By natural-gradient steps a step's
// sum is in units of the posterior's standard deviations and estimates a sample's; a party's
// factor is an average over about 2/rate of its last steps. Plain steps add their noise up.
func optimisationNoise(p *protocol.Plan, c pvi.Config, q *pvi.Posterior, sum float64) (all, step []float64) {
	s := c.Strategy.Params()
	if s.SampleRate > 0 {
		sum /= s.SampleRate
	}
	damping := func(round uint32) float64 { return c.Damping / (1 + c.DampingDecay*float64(round-1)) }
	rounds := p.Rounds
	if c.CurvatureFrom > 0 {
		rounds = uint32(min(int(rounds), c.CurvatureFrom-1))
	}
	last := damping(rounds)
	pace := s.LearningRate * last
	for _, sd := range q.SD() {
		switch s.Optimiser {
		case pvi.Natural:
			e := 2.6 * sum * sd
			all = append(all, e*math.Sqrt(pace/(2-pace)))
			step = append(step, e*last*math.Sqrt(s.LearningRate))
		case pvi.SGD:
			e := sum * s.LearningRate * math.Sqrt(float64(s.Steps))
			square := 0.0
			for r := range rounds {
				square += damping(r+1) * damping(r+1)
			}
			all = append(all, e*math.Sqrt(square))
			step = append(step, e*last)
		}
	}
	return all, step
}

// globalNoise approximates the noise of global inference. The sum's noise on a gradient,
// averaged over the rounds that count, meets a curvature of about a fifth of the
// records, or with a network the learnt precision; an adaptive step bounds how far noise can carry a
// weight.
func globalNoise(p *protocol.Plan, a *app.GlobalVI, q *pvi.Posterior) (all, step []float64) {
	g := a.Global
	sum := math.Ldexp(math.Sqrt(app.SumVariance(p)), -int(p.FracBits)) / g.SampleRate
	rounds := float64(p.Rounds)
	for _, sd := range q.SD() {
		curvature := 0.2 * float64(g.Records)
		if g.Model == pvi.BNN { // a unit's weights have fewer records
			curvature = 1 / (sd * sd)
		}
		e := 2 * sum / math.Sqrt(rounds) / curvature
		e = min(e, g.LearningRate*math.Sqrt(rounds))
		if g.Optimiser == "natural" {
			rate := g.LearningRate / (1 + g.RateDecay*(rounds-1))
			e = sum * sd * math.Sqrt(rate/2)
		}
		all = append(all, e)
	}
	return all, nil
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
	return fmt.Sprintf("swamped: the weights can't be told from the noise of %d rounds at epsilon %g; "+
		"more records, more parties or a larger epsilon help, other settings don't", p.Rounds, p.Epsilon)
}
