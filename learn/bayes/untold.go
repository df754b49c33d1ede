package bayes

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
	basis := shifts(len(p.Mean()), levels)
	out := p.WithWeights(across(basis, p.Mean()), p.SD())
	if p.weights().Covariance != nil || p.moments.Covariance != nil || len(p.Mean()) <= MostCovaried {
		out = out.WithCovariance(covarianceAcross(basis, p.Covariance()))
	} else {
		out.single.Variance = varianceAcross(basis, p.weights().Variance)
	}
	out.untold, out.fitted = basis, p.Mean()
	return out
}

// MostCovaried is the largest number of weights of which Told makes a covariance where there was none: of
// more of them single standard deviations alone count what is told.
const MostCovaried = 300

// shifts is an orthonormal basis, in columns, of the shifts of categories' levels against the bias, by Gram
// and Schmidt: they have nothing but the bias in common.
func shifts(d int, levels [][2]int) *mat.Dense {
	basis := mat.NewDense(d, len(levels), nil)
	for c, l := range levels {
		shift := mat.NewVecDense(d, nil)
		for i := l[0]; i < l[1]; i++ {
			shift.SetVec(i, 1)
		}
		shift.SetVec(d-1, -1)
		for before := range c {
			b := basis.ColView(before)
			shift.AddScaledVec(shift, -mat.Dot(b, shift), b)
		}
		shift.ScaleVec(1/mat.Norm(shift, 2), shift)
		basis.SetCol(c, shift.RawVector().Data)
	}
	return basis
}

// across is a mean without its part along an orthonormal basis.
func across(basis *mat.Dense, mean []float64) []float64 {
	d, k := basis.Dims()
	along, out := mat.NewVecDense(k, nil), mat.NewVecDense(d, nil)
	along.MulVec(basis.T(), mat.NewVecDense(d, mean))
	out.MulVec(basis, along)
	out.SubVec(mat.NewVecDense(d, mean), out)
	return out.RawVector().Data
}

// covarianceAcross is a covariance without what is along an orthonormal basis B: (1 - BB') C (1 - BB').
func covarianceAcross(basis *mat.Dense, c *mat.SymDense) *mat.SymDense {
	d, _ := basis.Dims()
	var along, both, inner, part mat.Dense
	along.Mul(c, basis)
	inner.Mul(basis.T(), &along)
	both.Mul(&along, basis.T())
	part.Product(basis, &inner, basis.T())
	out := mat.NewSymDense(d, nil)
	for i := range d {
		for j := range i + 1 {
			out.SetSym(i, j, c.At(i, j)-both.At(i, j)-both.At(j, i)+part.At(i, j))
		}
	}
	return out
}

// varianceAcross is the diagonal of covarianceAcross of a diagonal covariance.
func varianceAcross(basis *mat.Dense, variance []float64) []float64 {
	d, k := basis.Dims()
	scaled := mat.NewDense(d, k, nil)
	scaled.Apply(func(i, _ int, v float64) float64 { return v * variance[i] }, basis)
	var inner mat.Dense
	inner.Mul(basis.T(), scaled)
	out := make([]float64, d)
	for i, v := range variance {
		row := basis.RowView(i)
		out[i] = v*(1-2*mat.Dot(row, row)) + mat.Inner(row, &inner, row)
	}
	return out
}

// told is the part of a weight's prior variance that Told leaves: all of it without categories.
func (p *Posterior) told(i int) float64 {
	if p.untold == nil {
		return 1
	}
	row := p.untold.RowView(i)
	return 1 - mat.Dot(row, row)
}

// Untold returns the posterior of single weights that have the law of a prior of this variance along what no
// record tells, after Told. Predictions don't change.
func (p *Posterior) Untold(prior float64) *Posterior {
	if p.untold == nil {
		return p
	}
	sd, shrunk := p.SD(), p.Shrunk()
	for i, s := range shrunk {
		along := prior * (1 - p.told(i))
		shrunk[i], sd[i] = math.Sqrt(s*s+along), math.Sqrt(sd[i]*sd[i]+along)
	}
	out := p.WithWeights(p.Mean(), sd)
	if c := p.weights().Covariance; c != nil {
		d := len(sd)
		var on mat.Dense
		on.Mul(p.untold, p.untold.T())
		covariance := mat.NewSymDense(d, nil)
		for i := range d {
			for j := range i + 1 {
				covariance.SetSym(i, j, c.At(i, j)+prior*on.At(i, j))
			}
		}
		out = out.WithCovariance(covariance)
	}
	out.shrunk, out.untold = shrunk, nil
	return out
}
