package pvi

import (
	"gonum.org/v1/gonum/mat"
)

// Untold returns the posterior whose single weights have the prior's law, of mean 0 and this variance, along
// what no record tells. levels has, for each category, its first column and the one after its last. They add
// up to 1 in every record with a level, so that a shift of all their weights and the opposite one of the
// bias, the last weight, predict the same. The likelihood is constant along these shifts, which noise makes
// look like data. Across them, as of differences of levels, means and covariances stay; predictions do, too.
func (p *Posterior) Untold(levels [][2]int, prior float64) *Posterior {
	d := len(p.Mean())
	shifts := mat.NewDense(d, max(1, len(levels)), nil)
	for k, l := range levels {
		for i := l[0]; i < l[1]; i++ {
			shifts.Set(i, k, 1)
		}
		shifts.Set(d-1, k, -1)
	}
	if len(levels) == 0 {
		return p
	}
	var qr mat.QR
	var all, basis mat.Dense
	qr.Factorize(shifts)
	qr.QTo(&all)
	basis.CloneFrom(all.Slice(0, d, 0, len(levels)))
	mean, covariance := along(&basis, p.Mean(), p.Covariance(), prior)
	out := p.WithWeights(mean, p.SD()).WithCovariance(covariance)
	out.shrunk = p.Shrunk()
	return out
}

// along are a mean and a covariance whose law along the columns of an orthonormal basis is normal, with mean
// 0 and a variance.
func along(basis *mat.Dense, mean []float64, covariance *mat.SymDense,
	variance float64) ([]float64, *mat.SymDense) {
	d, _ := basis.Dims()
	on := mat.NewDense(d, d, nil)
	on.Mul(basis, basis.T())
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
			out.SetSym(i, j, full.At(i, j)+variance*on.At(i, j))
		}
	}
	return m.RawVector().Data, out
}
