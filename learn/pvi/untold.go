package pvi

import (
	"math"

	"gonum.org/v1/gonum/mat"
)

// Told returns the posterior with what records tell of single weights. levels has, for each category, its
// first column and the one after its last. They add up to 1 in every record with a level, so that a shift of
// all their weights and the opposite one of the bias, the last weight, predict the same: the likelihood is
// constant along these shifts, which noise makes look like data. Means and covariances along them are 0 here;
// Untold adds the prior's. Across them, as of differences of levels, they stay, and so do predictions.
func (p *Posterior) Told(levels [][2]int) *Posterior {
	if len(levels) == 0 {
		return p
	}
	d := len(p.Mean())
	shifts := mat.NewDense(d, len(levels), nil)
	for k, l := range levels {
		for i := l[0]; i < l[1]; i++ {
			shifts.Set(i, k, 1)
		}
		shifts.Set(d-1, k, -1)
	}
	var qr mat.QR
	var basis mat.Dense
	qr.Factorize(shifts)
	qr.QTo(&basis)
	on := mat.NewDense(d, d, nil)
	on.Mul(basis.Slice(0, d, 0, len(levels)), basis.Slice(0, d, 0, len(levels)).T())
	mean, covariance := across(on, p.Mean(), p.Covariance())
	out := p.WithWeights(mean, p.SD()).WithCovariance(covariance)
	out.untold, out.fitted = on, p.Mean()
	return out
}

// across are a mean and a covariance without what is in a subspace, given the projection on it.
func across(on *mat.Dense, mean []float64, covariance *mat.SymDense) ([]float64, *mat.SymDense) {
	d := len(mean)
	var left, full mat.Dense
	left.Mul(on, covariance)
	left.Sub(covariance, &left)
	full.Mul(&left, on)
	full.Sub(&left, &full)
	m := mat.NewVecDense(d, nil)
	m.MulVec(on, mat.NewVecDense(d, mean))
	m.SubVec(mat.NewVecDense(d, mean), m)
	out := mat.NewSymDense(d, nil)
	for i := range d {
		for j := i; j < d; j++ {
			out.SetSym(i, j, full.At(i, j))
		}
	}
	return m.RawVector().Data, out
}

// told is the part of a weight's prior variance that Told leaves: all of it without categories.
func (p *Posterior) told(i int) float64 {
	if p.untold == nil {
		return 1
	}
	return 1 - p.untold.At(i, i)
}

// Untold returns the posterior of single weights that have the law of a prior of this variance along what no
// record tells, after Told. Predictions don't change.
func (p *Posterior) Untold(prior float64) *Posterior {
	if p.untold == nil {
		return p
	}
	covariance, shrunk := mat.NewSymDense(len(p.Mean()), nil), p.Shrunk()
	covariance.CopySym(p.Covariance())
	for i, s := range shrunk {
		shrunk[i] = math.Sqrt(s*s + prior*p.untold.At(i, i))
		for j := range i + 1 {
			covariance.SetSym(i, j, covariance.At(i, j)+prior*p.untold.At(i, j))
		}
	}
	out := p.WithCovariance(covariance)
	out.shrunk, out.untold = shrunk, nil
	return out
}
