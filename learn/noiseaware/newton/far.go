package newton

import (
	"math"

	"gonum.org/v1/gonum/mat"
)

// measure sets how far the points are from the weights. Of steps that bounds shorten most the sums tell a
// direction, and hardly how far.
func (l *series) measure(c common) {
	n := len(l.Points)
	lengths := make([]float64, n)
	mixtures := l.mixtures(c)
	for _, g := range l.groups {
		for k := range five {
			r := mixtures[g.members[0]].responses[k]
			if r == nil {
				continue
			}
			means, variances := l.signals(g, c, r)
			for j, m := range g.members {
				w := mixtures[m].weights[k]
				for s := range lengths {
					x := means.At(s, j)
					lengths[s] += w * (x*x + variances[s])
				}
			}
		}
	}
	for s, square := range lengths {
		reach := c.rate[s] / SlopeKept(l.Bounds[s]/c.own) * l.Bounds[s]
		l.far[s] = square / (reach * reach)
		relative := rough
		if square > 0 {
			relative = math.Hypot(rough, math.Sqrt(l.sums[s]/(square*float64(n))))
		}
		l.blurred[s] = min(1, relative*(1+l.far[s]))
	}
}

// signals are the means and the variances of the sums without their rounds' noise, given the sums.
func (l *series) signals(g group, c common, r *response) (means *mat.Dense, variances []float64) {
	n := len(l.Points)
	noise := mat.NewDense(n, n, nil) // covariance of a round's noise with the sums
	for _, q := range r.directions {
		for s := range n {
			noise.Set(s, s, l.sums[s])
			f := -q.share * l.moved[s] * l.sums[s] * q.slope
			for u := s + 1; u < n; u++ {
				noise.Set(s, u, noise.At(s, u)+f*c.rate[u])
				f *= 1 - l.moved[u]*c.rate[u]*q.slope
			}
		}
	}
	means = mat.DenseCopyOf(g.seen)
	variances = make([]float64, n)
	back := r.root.solve(noise.T())
	var drawn mat.Dense
	drawn.Mul(noise, r.root.solve(l.left(g, r)))
	means.Sub(means, &drawn)
	for s := range n {
		variances[s] = max(0, l.sums[s]-mat.Dot(noise.RowView(s), back.ColView(s)))
	}
	return means, variances
}
