package noiseaware

import (
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"choir/learn/gauss"
)

// lawful is the density of the weights by what records leave in the scores: the scores are N(mu(w), S + V +
// K), with S the records' scatter near the mode, V the noise and K the curvature's error times the way from
// the points, which grows as the arc's does. The mode is no posterior mean where logits are long: scores
// tell the direction of the weights then, and as lengths grow so do the ways across it that tell as much.
type lawful struct {
	law          *expected // by some of the records
	prior, error float64
	score, point []float64 // at the mode; scores without what only the law of all records has
	steep        func(w []float64) float64
	noise        []float64
	own          *mat.SymDense

	way, residual, solved *mat.VecDense
	scatter               *mat.SymDense
	root                  mat.Cholesky
}

func newLawful(t Trace, l *recordsLaw, by revealed, mode []float64) *lawful {
	d := len(mode)
	vector := func() *mat.VecDense { return mat.NewVecDense(d, nil) }
	f := &lawful{law: l.some().expected(), prior: t.Prior, error: by.curvature.noise,
		point: mean(t.Points, by.weights), noise: t.Variance(by.weights),
		way: vector(), residual: vector(), solved: vector(), scatter: mat.NewSymDense(d, nil)}
	slope := func(w []float64) float64 {
		_, v := by.columns.logit(w, nil, nil)
		return 1 / math.Sqrt(v)
	}
	at := slope(f.point)
	f.steep = func(w []float64) float64 { return slope(w) / at }
	var mu []float64
	mu, _, f.own = l.at(mode)
	f.score = mean(t.Scores, by.weights)
	floats.Sub(f.score, mu)
	floats.Add(f.score, f.law.mean(mode))
	return f
}

// log is the logarithm of the density, up to a constant.
func (f *lawful) log(w *mat.VecDense) float64 {
	x := w.RawVector().Data
	floats.SubTo(f.residual.RawVector().Data, f.score, f.law.mean(x))
	steep := f.steep(x)
	for i, p := range f.point {
		f.way.SetVec(i, steep*x[i]-p)
	}
	f.scatter.CopySym(f.own)
	f.scatter.SymRankOne(f.scatter, f.error, f.way)
	length := mat.Dot(f.way, f.way)
	for i, v := range f.noise {
		f.scatter.SetSym(i, i, f.scatter.At(i, i)+v+f.error*length)
	}
	ridge(f.scatter)
	if !f.root.Factorize(f.scatter) || failed(f.root.SolveVecTo(f.solved, f.residual)) {
		return math.Inf(-1)
	}
	return -(f.root.LogDet() + mat.Dot(f.residual, f.solved) + f.prior*floats.Dot(x, x)) / 2
}

// misfit is the square of what the law at the weights w leaves of the scores, in their errors.
func (f *lawful) misfit(w []float64) float64 {
	if math.IsInf(f.log(mat.NewVecDense(len(w), w)), 0) {
		return math.Inf(1)
	}
	return mat.Dot(f.residual, f.solved)
}

// some is the law of about drawn of the records, pairs from all parties alike: how scores bend needs fewer
// than what they are.
func (l *recordsLaw) some() *recordsLaw {
	out := &recordsLaw{records: l.records}
	each := max(1, len(l.x)/drawn)
	for n := range l.x {
		if n/2%each == 0 {
			out.x = append(out.x, l.x[n])
			for y := range l.score {
				out.score[y] = append(out.score[y], l.score[y][n])
			}
		}
	}
	return out
}

// expected are the expected scores of records by their weights.
type expected struct {
	x, more *mat.Dense    // by record: columns, and the score by class 1 over that by class 0
	none    *mat.VecDense // the score if all are of class 0
	p, mu   *mat.VecDense
	each    float64
}

// expected are those of a law.
func (l *recordsLaw) expected() *expected {
	n, d := len(l.x), len(l.x[0])
	e := &expected{x: mat.NewDense(n, d, nil), more: mat.NewDense(n, d, nil), none: mat.NewVecDense(d, nil),
		p: mat.NewVecDense(n, nil), mu: mat.NewVecDense(d, nil), each: l.records / float64(n)}
	for i, x := range l.x {
		e.x.SetRow(i, x)
		floats.SubTo(e.more.RawRowView(i), l.score[1][i], l.score[0][i])
		floats.Add(e.none.RawVector().Data, l.score[0][i])
	}
	return e
}

// mean returns the scores that are expected, up to the next call.
func (e *expected) mean(w []float64) []float64 {
	e.p.MulVec(e.x, mat.NewVecDense(len(w), w))
	for i, a := range e.p.RawVector().Data {
		e.p.SetVec(i, 1/(1+math.Exp(-a)))
	}
	e.mu.MulVec(e.more.T(), e.p)
	e.mu.AddVec(e.mu, e.none)
	e.mu.ScaleVec(e.each, e.mu)
	return e.mu.RawVector().Data
}

// Predictions and single weights may have another mean than the law's up to these mean squares of the
// distance, in the law's standard deviations. Under much noise the law's mean is as long as the prior has it.
const (
	farthest = 1      // of predictions
	beyond   = 0.0625 // of single weights
)

// towards is the posterior that predicts by the bends, as far as the law holds its mean for likely: beyond,
// the law's has as much of it as the way is longer.
func towards(law, m *gauss.Moments) *gauss.Moments {
	d := len(m.Mean)
	share := likely(law, m.Mean, farthest)
	if share == 1 {
		return m
	}
	out := &gauss.Moments{Mean: make([]float64, d), Covariance: mat.NewSymDense(d, nil)}
	for i, x := range m.Mean {
		out.Mean[i] = share*x + (1-share)*law.Mean[i]
	}
	for i := range d {
		for j := i; j < d; j++ {
			out.Covariance.SetSym(i, j, share*m.Covariance.At(i, j)+(1-share)*law.Covariance.At(i, j))
		}
	}
	out.Variance = diagonal(out.Covariance)
	return out
}

// likely is the share that is kept of the way from the law's mean to another one: all of it up to a mean
// square. Weights count alone: the draws are too few for the inverse of a covariance of many.
func likely(law *gauss.Moments, mean []float64, most float64) float64 {
	far := 0.0
	for i, x := range mean {
		far += (x - law.Mean[i]) * (x - law.Mean[i]) / law.Variance[i] / float64(len(mean))
	}
	return min(1, math.Sqrt(most/far))
}

// aside are the moments of single weights by the bends, as far as the law holds their means for likely:
// beyond, the law's have as much of the mixture as the way is longer. Variances are the prior's at most.
func aside(law, single *gauss.Moments, prior float64) *gauss.Moments {
	share := likely(law, single.Mean, beyond)
	if share == 1 {
		return single
	}
	out := &gauss.Moments{Mean: make([]float64, len(law.Mean)), Variance: make([]float64, len(law.Mean))}
	for i, x := range single.Mean {
		away := x - law.Mean[i]
		out.Mean[i] = law.Mean[i] + share*away
		v := share*single.Variance[i] + (1-share)*law.Variance[i] + share*(1-share)*away*away
		out.Variance[i] = min(v, 1/prior)
	}
	return out
}
