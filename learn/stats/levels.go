package stats

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"choir/learn/gauss"
	"choir/learn/noiseaware"
)

// ties are the linear forms of scaled features, of norm 1, that are 0 for every record with a level of each
// category: its columns add up to 1 in their own units.
func (c Config) ties(scales []scale) []*mat.VecDense {
	var out []*mat.VecDense
	for _, levels := range c.Levels {
		form, sum := mat.NewVecDense(c.Features, nil), -1.0
		for j := levels[0]; j < levels[1]; j++ {
			form.SetVec(j, scales[j].unit)
			sum += scales[j].center
		}
		form.SetVec(c.Features-1, sum)
		form.ScaleVec(1/mat.Norm(form, 2), form)
		out = append(out, form)
	}
	return out
}

// rounded is the largest mean square of a tie, over the bias's, that is taken for rounding to the grid.
const rounded = 1e-3

// across is an orthonormal basis of the features' space across the ties that hold. A tie that X'X shows to be
// broken, by records without a level, is none.
func (m noisy) across(ties []*mat.VecDense) *mat.Dense {
	d := m.gram.SymmetricDim()
	all, kept := mat.NewDense(d, d, nil), 0
	for _, t := range ties {
		if mat.Inner(t, m.gram, t) < clear*math.Sqrt2*m.sd+rounded*m.gram.At(d-1, d-1) {
			all.SetCol(kept, t.RawVector().Data)
			kept++
		}
	}
	if kept == 0 {
		for i := range d {
			all.Set(i, i, 1)
		}
		return all
	}
	var qr mat.QR
	qr.Factorize(all.Slice(0, d, 0, kept))
	qr.QTo(all)
	return mat.DenseCopyOf(all.Slice(0, d, kept, d))
}

// spectrum is X'X without its noise, and its eigenvectors across the ties, with their eigenvalues.
type spectrum struct {
	gram    *mat.SymDense
	vectors *mat.Dense // a column each
	values  []float64
}

// spectrum estimates X'X. Along a tie it is 0, for any noise.
func (m noisy) spectrum(ties []*mat.VecDense) (s spectrum, err error) {
	across := m.across(ties)
	_, r := across.Dims()
	repaired, err := noiseaware.Curvature{Matrix: inner(across, m.gram), SD: m.sd}.Repaired()
	if err != nil {
		return s, err
	}
	var eigen mat.EigenSym
	if !eigen.Factorize(repaired, true) {
		return s, fmt.Errorf("the eigenvalues do not converge: %w", gauss.ErrImproper)
	}
	var vectors mat.Dense
	eigen.VectorsTo(&vectors)
	s.vectors, s.values = mat.NewDense(m.gram.SymmetricDim(), r, nil), eigen.Values(nil)
	s.vectors.Mul(across, &vectors)
	s.gram = inner(mat.DenseCopyOf(across.T()), repaired)
	return s, nil
}

// told are weights and a variance of them across the ties: along them the noise on X'X isn't what residuals
// have.
func (x spectrum) told(coords *mat.VecDense, variance *mat.Dense) (w []float64, across *mat.Dense) {
	var on, half, full mat.Dense
	on.Mul(x.vectors, x.vectors.T())
	half.Mul(&on, variance)
	full.Mul(&half, &on)
	mean := mat.NewVecDense(on.RawMatrix().Rows, nil)
	mean.MulVec(x.vectors, coords)
	return mean.RawVector().Data, &full
}

// inner is B'AB.
func inner(b *mat.Dense, a *mat.SymDense) *mat.SymDense {
	var half, full mat.Dense
	half.Mul(b.T(), a)
	full.Mul(&half, b)
	n, _ := full.Dims()
	out := mat.NewSymDense(n, nil)
	for i := range n {
		for j := i; j < n; j++ {
			out.SetSym(i, j, full.At(i, j))
		}
	}
	return out
}
