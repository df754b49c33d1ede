package noiseaware

import (
	"fmt"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"choir/learn/gauss"
)

// last is the point of the last round.
func (t Trace) last() []float64 {
	if t.Mix != nil {
		return t.At[len(t.At)-1]
	}
	return t.Points[len(t.Points)-1]
}

// weights returns the rounds' weights of least variance for the score at a point. One far from it is less
// reliable, since the curvature changes on the way: the mean square of the distance, in scores, adds to the
// round's variance. An error of the curvature, of this variance on an entry, is the same for all rounds:
// it adds itself times the products of their distances.
func (t Trace) weights(h *mat.SymDense, at []float64, wrong float64) ([]float64, error) {
	n := len(t.Points)
	k := mat.NewSymDense(n, nil)
	k.CopySym(t.Noise)
	t.lacking(k, mat.Trace(h)/float64(len(at)))
	ways := mat.NewDense(n, len(at), nil)
	for s := range t.Points {
		far := 0.0
		t.parts(s, func(share float64, point, _ []float64) {
			for i, x := range point {
				step := h.At(i, i) * (x - at[i])
				far += share * step * step / float64(len(point))
			}
		})
		if t.Sampling != nil {
			far += t.Sampling[s] * mat.Trace(h) / float64(len(at))
		}
		k.SetSym(s, s, k.At(s, s)+far)
		floats.SubTo(ways.RawRowView(s), t.Points[s], at)
	}
	if wrong > 0 {
		var shared mat.SymDense
		shared.SymOuterK(wrong, ways)
		k.AddSym(k, &shared)
	}
	out := make([]float64, n)
	floats.AddConst(1, out)
	var c mat.Cholesky
	if floats.Max(diagonal(k)) == 0 { // no noise, and no way to the last point
		floats.Scale(1/float64(n), out)
		return out, nil
	}
	for i := range n { // some rounds may have no noise
		k.SetSym(i, i, k.At(i, i)*(1+1e-9)+1e-300)
	}
	if !c.Factorize(k) {
		return nil, fmt.Errorf("weights of the rounds: %w", gauss.ErrImproper)
	}
	w := mat.NewVecDense(n, out)
	if err := c.SolveVecTo(w, w); failed(err) {
		return nil, fmt.Errorf("weights of the rounds: %w", err)
	}
	floats.Scale(1/floats.Sum(out), out)
	return out, nil
}

// lacking adds to the covariance of the rounds, for the mean curvature of a weight, that of what they lack.
// Where a round has one point it is only the variance: rounds far from the end, whose distances count as
// independent, would have too much weight next to many that lack the same.
func (t Trace) lacking(k *mat.SymDense, curvature float64) {
	if t.Errors == nil {
		return
	}
	n := k.SymmetricDim()
	for i := range n {
		for j := i; j < n; j++ {
			if i == j || t.Mix != nil {
				k.SetSym(i, j, k.At(i, j)+curvature*t.Errors.At(i, j))
			}
		}
	}
}

// scattered are the variances of points around their weighted mean.
func scattered(points [][]float64, weights []float64) []float64 {
	centre := mean(points, weights)
	out := make([]float64, len(centre))
	for s, p := range points {
		for i, x := range p {
			out[i] += weights[s] * (x - centre[i]) * (x - centre[i])
		}
	}
	for i, v := range out {
		out[i] = max(0, v) // rounds may have weights below 0
	}
	return out
}

// parts shows the points that a round's score is of, with their shares of it.
func (t Trace) parts(s int, show func(share float64, point, spread []float64)) {
	of := func(spreads [][]float64, j int) []float64 {
		if t.Spread == nil {
			return nil
		}
		return spreads[j]
	}
	if t.Mix == nil {
		show(1, t.Points[s], of(t.Spread, s))
		return
	}
	for j, share := range t.Mix[s] {
		if share > 0 {
			show(share, t.At[j], of(t.AtSpread, j))
		}
	}
}

// errors is the variance of the weighted scores by what they lack of all records, in curvatures.
func (t Trace) errors(weights []float64) float64 {
	if t.Errors == nil {
		return 0
	}
	w := mat.NewVecDense(len(weights), weights)
	return mat.Inner(w, t.Errors, w)
}

func mean(rows [][]float64, weights []float64) []float64 {
	out := make([]float64, len(rows[0]))
	for s, row := range rows {
		floats.AddScaled(out, weights[s], row)
	}
	return out
}

// sampling is the covariance of the weighted scores' sampling error, in curvatures.
func (t Trace) sampling(weights []float64) float64 {
	out := 0.0
	for s, v := range t.Sampling {
		out += weights[s] * weights[s] * v
	}
	return out
}
