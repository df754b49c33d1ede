package noiseaware

import (
	"math"
	"sync"

	"gonum.org/v1/gonum/floats"
)

// Answers are the shares of the mean scores of a linear model that clips leave, by round. A record's score is
// cx r for columns x, a residual r and c over the variance of an observation, and its term, which also has
// unit times the halves of its precisions, is as long as the clip at most. Its mean is over records of normal
// columns, which follow from the curvature, and residuals around x times the way from a round's point to the
// weights w, with the measured variance of an observation.
func (t Trace) Answers(w, clips []float64, unit float64) ([]float64, error) {
	h, err := t.Curvature.repaired()
	if err != nil {
		return nil, err
	}
	d := len(w)
	at := h.matrix.At(d-1, d-1)
	if !(at > 0) || !(t.Observed > 0) {
		return nil, nil
	}
	h.raw = &t.Curvature
	xs, err := plain(h, t.Observation).draws(whitened(drawn, d-1))
	if err != nil {
		return nil, err
	}
	squares := diagonal(h.matrix)
	floats.Scale(1/at, squares)
	records := make([]linearTerm, len(xs))
	for n, x := range xs {
		records[n].score = t.Observation * floats.Norm(x, 2)
		for i, v := range x {
			p := unit * t.Observation * (v*v - squares[i]) / 2
			records[n].precision += p * p
		}
	}
	sd := math.Sqrt(t.Observed / t.Observation)
	out, way := make([]float64, len(clips)), make([]float64, d)
	for s, clip := range clips {
		floats.SubTo(way, w, t.Points[s])
		left, whole := 0.0, 0.0
		for n, x := range xs {
			a := floats.Dot(x, way)
			left += a * records[n].mean(a, sd, clip)
			whole += a * a
		}
		if out[s] = 1; whole > 0 {
			out[s] = min(1, left/whole)
		}
	}
	return out, nil
}

// linearTerm is the term of a record: the length of its score for a residual of 1, and the square of that of
// its precisions.
type linearTerm struct{ score, precision float64 }

// quantiles is how many quantiles replace a normal law.
const quantiles = 25

// mean is the mean of clipped residuals around a with a standard deviation.
func (r linearTerm) mean(a, sd, clip float64) float64 {
	sum := 0.0
	for _, z := range normalQuantiles() {
		e := a + sd*z
		if square := r.score*r.score*e*e + r.precision; square > clip*clip {
			e *= clip / math.Sqrt(square)
		}
		sum += e
	}
	return sum / quantiles
}

var normalQuantiles = sync.OnceValue(func() (z [quantiles]float64) {
	for k := range z {
		z[k] = math.Sqrt2 * math.Erfinv(2*(float64(k)+0.5)/quantiles-1)
	}
	return z
})
