package mcmc

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"choir/learn/noiseaware"
)

// assured shortens the mean to what is sure not to lose, given the posterior in phi. Gradients where all
// weights are 0 are those at the point, and the way times a curvature that is flat: the mean of the noisy
// matrix's diagonal, which is right on average for weights that have nothing to do with its other entries.
func (t trace) assured(p *Posterior, g *geometry, e evidence, q *approximation) error {
	if g.products == nil || q.keep == 0 {
		return nil
	}
	d, n := t.cfg.Features, t.cfg.Temper*float64(t.cfg.Records)
	columns := g.means(n)
	columns.SetSym(d-1, d-1, 1)
	r := noiseaware.Response{Start: make([]float64, d), Rest: make([]float64, d), Products: columns, Records: n}
	most := g.unstretched()
	flat := min(most, max(0, mat.Trace(e.Curvature)/float64(d)))
	start := append([]float64(nil), e.Gradient...)
	add(start, flat, e.At)
	rest := mat.NewVecDense(d, nil)
	rest.MulVec(q.by.pull, mat.NewVecDense(d, g.factor.mulT(p.Mean)))
	rest.SubVec(q.by.start, rest)
	for i := range d {
		r.Start[i] = dot(g.factor.row(i), start[:i+1])
		r.Rest[i] = dot(g.factor.row(i), rest.RawVector().Data[:i+1])
		for j := range d {
			r.Spread += p.Covariance.At(i, j) * columns.At(i, j)
		}
	}
	if c, ok := t.class(g, e); ok {
		r.Start[d-1] = c.Start()
	}
	r.Spread = max(0, r.Spread)
	var err error
	doubt := min(most, e.CurvatureNoise/math.Sqrt(float64(d)))
	if r.Joint, r.Noise, err = g.joint(e, q, doubt); err != nil {
		return err
	}
	p.Swamped = r.Shorten(p.Mean) < swamped || p.Swamped
	return nil
}

// joint is the covariance of the mean with the errors of the gradient where all weights are 0, and the
// covariance of these, both of the weights: of the noise, of sampling, and of the flat curvature, with this
// standard deviation, times the way.
func (g *geometry) joint(e evidence, q *approximation, doubt float64) (joint *mat.Dense,
	noise *mat.SymDense, err error) {
	d := g.factor.d
	total := q.by.total(e.Noise)
	response, err := e.response(q, total)
	if err != nil {
		return nil, nil, err
	}
	total.SymRankOne(total, doubt*doubt, mat.NewVecDense(d, e.At))
	factor := mat.NewTriDense(d, mat.Lower, nil)
	for i := range d {
		for j, v := range g.factor.row(i) {
			factor.SetTri(i, j, v)
		}
	}
	var inner, outer mat.Dense
	inner.Product(response, total, factor.T())
	joint = mat.NewDense(d, d, nil)
	for j := range d {
		column := mat.Col(nil, j, &inner)
		g.factor.solveT(column)
		joint.SetCol(j, column)
	}
	outer.Product(factor, total, factor.T())
	return joint, symmetric(&outer), nil
}

// response is the derivative of the mean by the start, whose errors have the covariance total: that of one
// normal law by the mean curvature, times what makes its mean as long along the start as that of several.
func (e evidence) response(q *approximation, total *mat.SymDense) (*mat.Dense, error) {
	d := len(e.At)
	var pull, precision mat.Dense
	if pull.Solve(total, q.by.pull) != nil {
		return nil, fmt.Errorf("response of the trace posterior: %w", ErrSingular)
	}
	precision.Mul(q.by.pull, &pull)
	precision.Add(&precision, e.Prior)
	out := new(mat.Dense)
	if out.Solve(symmetric(&precision), pull.T()) != nil {
		return nil, fmt.Errorf("response of the trace posterior: %w", ErrSingular)
	}
	whole := mat.NewVecDense(d, nil)
	whole.MulVec(out, q.by.start)
	share := 0.0
	if along := mat.Dot(whole, q.by.start); along > 0 {
		share = q.keep * max(0, mat.Dot(q.by.start, mat.NewVecDense(d, q.mean))/along)
	}
	out.Scale(share*noiseaware.Steeper(q.keep, d), out)
	return out, nil
}
