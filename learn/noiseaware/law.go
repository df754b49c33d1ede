package noiseaware

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"choir/learn/gauss"
	"choir/learn/internal/ellipse"
)

// Records is the law of what a record of a logistic model leaves in the rounds' scores, after clipping,
// given only what is public.
type Records interface {
	// Score is the weighted sum of the rounds' scores by a record of class y, of the party in whose share of
	// all records the number from 0 to 1 lies.
	Score(x []float64, y, party float64, weights []float64) []float64
	// Taken adds what clips take of a record's curvature.
	Taken(sum *mat.SymDense, x []float64)
}

// recordsLaw is the law of the weighted scores given the weights: those of records that are drawn from normal
// columns.
type recordsLaw struct {
	records float64
	own     float64 // of the records' scatter: 1, and what samples add
	x       [][]float64
	score   [2][][]float64 // by class and record
}

// law draws the records: drawn or half as many as there are, the larger, up to drawnOf. Then the draws'
// own error is little next to the records'. What clips take from the curvature follows from the columns
// without it, and is put back before the noise is taken out: a repaired eigenvalue is nearer to the others,
// which clips have made shorter, and the intercept's column is the one that they leave.
func (t Trace) law(h estimate, weights []float64) (*recordsLaw, error) {
	d := len(t.CurvaturePoint)
	n := min(drawnOf(d), max(drawn, int(t.Records)/4*2))
	h.raw = &t.Curvature
	_, l, err := filled(h, whitened(n, d-1), manyFills, t.columns, each(t.Of.Taken))
	if err != nil {
		return nil, err
	}
	if t.strange(l.x) {
		return nil, fmt.Errorf("law of records: those drawn have more curvature than is shown: %w",
			gauss.ErrImproper)
	}
	l.own = 1 + t.sampling(weights)
	if t.Mix == nil {
		l.own += t.errors(weights)
	}
	for n, x := range l.x {
		for y := range l.score {
			s := t.Of.Score(x, float64(y), (float64(n/2)+0.5)/float64(len(l.x)/2), weights)
			l.score[y] = append(l.score[y], s)
		}
	}
	return l, nil
}

// strange reports whether drawn records leave surely more of the curvature than the rounds show.
func (t Trace) strange(x [][]float64) bool {
	c := make([]float64, len(x))
	taken := mat.NewSymDense(len(t.CurvaturePoint), nil)
	for n := range x {
		_, c[n] = Predicted(x[n], t.CurvaturePoint, t.CurvatureSpread)
		t.Of.Taken(taken, x[n])
	}
	return t.beyond(c, taken) > 1
}

// draws are records of the columns, one for each normal vector.
func (c *columns) draws(normals [][]float64) ([][]float64, error) {
	root, err := rootOf(c.scatter)
	if err != nil {
		return nil, err
	}
	d := c.mean.Len()
	var out [][]float64
	for _, z := range normals {
		x := make([]float64, d)
		for i := range d - 1 {
			x[i] = c.mean.AtVec(i) + floats.Dot(root.RawRowView(i)[:d-1], z)
		}
		x[d-1] = 1
		out = append(out, x)
	}
	return out, nil
}

// whitened returns n fixed normal vectors in pairs of both signs.
func whitened(n, d int) [][]float64 {
	var r ellipse.Generator
	var out [][]float64
	for range n / 2 {
		z, minus := make([]float64, d), make([]float64, d)
		for i := range z {
			z[i] = r.Normal()
			minus[i] = -z[i]
		}
		out = append(out, z, minus)
	}
	gram := mat.NewSymDense(d, nil)
	for _, z := range out {
		gram.SymRankOne(gram, 1/float64(n), mat.NewVecDense(d, z))
	}
	var c mat.Cholesky
	if !c.Factorize(gram) {
		return out
	}
	var lower mat.TriDense
	c.LTo(&lower)
	for _, z := range out {
		for i := range z {
			z[i] = (z[i] - floats.Dot(lower.RawTriangular().Data[i*d:i*d+i], z[:i])) / lower.At(i, i)
		}
	}
	return out
}

// rootOf returns a matrix whose product with its transpose is m, but for eigenvalues below 0.
func rootOf(m *mat.SymDense) (*mat.Dense, error) {
	d := m.SymmetricDim() - 1
	part := mat.NewSymDense(d, nil)
	for i := range d {
		for j := i; j < d; j++ {
			part.SetSym(i, j, m.At(i, j))
		}
	}
	var e mat.EigenSym
	if !e.Factorize(part, true) {
		return nil, fmt.Errorf("columns: %w", gauss.ErrImproper)
	}
	var v mat.Dense
	e.VectorsTo(&v)
	out := mat.NewDense(d, d, nil)
	values := e.Values(nil)
	out.Apply(func(_, j int, x float64) float64 { return x * math.Sqrt(max(values[j], 0)) }, &v)
	return out, nil
}

// at returns the expected scores, their derivatives by the weights and their covariance.
func (l *recordsLaw) at(w []float64) (mu []float64, slope *mat.Dense, scatter *mat.SymDense) {
	d := len(w)
	mu = make([]float64, d)
	slope, scatter = mat.NewDense(d, d, nil), mat.NewSymDense(d, nil)
	each := l.records / float64(len(l.x))
	way := make([]float64, d)
	for n, x := range l.x {
		p := 1 / (1 + math.Exp(-floats.Dot(w, x)))
		zero, one := l.score[0][n], l.score[1][n]
		floats.SubTo(way, one, zero)
		floats.AddScaled(mu, each*p, one)
		floats.AddScaled(mu, each*(1-p), zero)
		slope.RankOne(slope, each*p*(1-p), mat.NewVecDense(d, way), mat.NewVecDense(d, x))
		scatter.SymRankOne(scatter, each*p, mat.NewVecDense(d, one))
		scatter.SymRankOne(scatter, each*(1-p), mat.NewVecDense(d, zero))
	}
	scatter.SymRankOne(scatter, -1/l.records, mat.NewVecDense(d, mu))
	scatter.ScaleSym(l.own, scatter)
	return mu, slope, scatter
}

// cut is the posterior where it is known what records leave in the scores, near a first posterior: the
// moments of its density. Errors: gauss.ErrImproper, also where the scores are not of this law: then records
// are not as the noisy curvature tells.
func (t Trace) cut(first *gauss.Moments, by revealed) (*gauss.Moments, error) {
	l, err := t.law(by.curvature, by.weights)
	if err != nil {
		return nil, err
	}
	near, err := t.solved(first, l, by)
	if err != nil {
		return nil, err
	}
	f := newLawful(t, l, by, near.Mean)
	if square := f.misfit(near.Mean); !(square < 2*float64(len(near.Mean))) {
		return nil, fmt.Errorf("law of records: scores are %.3g squared errors away: %w", square,
			gauss.ErrImproper)
	}
	return momentsOf(f.log, near)
}

// half is the share of the posterior's own variance in the distance that multiplies the curvature's error,
// for single weights: the error's own law makes long distances less likely.
const half = 0.5

// Steps under the law stop after one of less than a thousandth of every weight's standard deviation, of which
// this is the square, or after mostSteps. A law whose last step is more than a tenth isn't used.
const (
	still     = 1e-6
	unsteady  = 1e-2
	mostSteps = 100
)

// solved is the normal law that is about the posterior, near a first one: its mean is the density's mode if
// scores erred everywhere as there.
func (t Trace) solved(first *gauss.Moments, l *recordsLaw, by revealed) (*gauss.Moments, error) {
	d := len(first.Mean)
	score := mean(t.Scores, by.weights)
	point := mean(t.Points, by.weights)
	noise := t.Variance(by.weights)
	m := first
	away := make([]float64, d)
	rate, before := 0.5, math.Inf(1) // half of the way, since laws are bent, and less where steps grow
	for range mostSteps {
		mu, slope, scatter := l.at(m.Mean)
		for i, x := range m.Mean {
			away[i] = (x-point[i])*(x-point[i]) + half*m.Variance[i]
		}
		for i, v := range by.curvature.error(noise, away) {
			scatter.SetSym(i, i, scatter.At(i, i)+v)
		}
		next, err := t.step(m.Mean, score, mu, slope, scatter)
		if err != nil {
			return nil, err
		}
		far := 0.0
		for i, x := range m.Mean {
			far = max(far, (next.Mean[i]-x)*(next.Mean[i]-x)/next.Variance[i])
		}
		if far > before {
			rate = max(rate/2, 1./32)
		}
		for i, x := range m.Mean {
			next.Mean[i] = x + rate*(next.Mean[i]-x)
		}
		m, before = next, far
		if far < still {
			break
		}
	}
	if !(before < unsteady) {
		return nil, fmt.Errorf("law of records: steps don't end: %w", gauss.ErrImproper)
	}
	return m, nil
}

// step is the posterior for scores that are linear in the weights around w.
func (t Trace) step(w, score, mu []float64, slope *mat.Dense, scatter *mat.SymDense) (*gauss.Moments, error) {
	d := len(w)
	left, prior := mat.NewVecDense(d, nil), make([]float64, d)
	left.MulVec(slope, mat.NewVecDense(d, w))
	for i := range d {
		left.SetVec(i, left.AtVec(i)+score[i]-mu[i])
		prior[i] = t.Prior
	}
	return given(slope, scatter, left, prior)
}
