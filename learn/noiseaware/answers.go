package noiseaware

import (
	"math"
	"sync"

	"gonum.org/v1/gonum/floats"
)

// Answers are the shares of the mean scores of a linear model that clips leave, by round, the least allowed
// of them, and what the scores over their share have that those of the whole records have not. A record's
// score is cx r for columns x, a residual r and c over the variance of an observation, and its term, which
// also has unit times the halves of its precisions, is as long as the clip at most. Its mean is over
// records of normal columns, which follow from the curvature, and residuals around x times the way from a
// round's point to the weights w, with the measured variance of an observation. The share is that along the
// way. Long records, which clips cut most, turn the scores from there.
func (t Trace) Answers(w, clips []float64, unit, least float64) (shares []float64, beside [][]float64,
	err error) {
	h, err := t.Curvature.repaired()
	if err != nil {
		return nil, nil, err
	}
	d := len(w)
	at := h.matrix.At(d-1, d-1)
	if !(at > 0) || !(t.Observed > 0) {
		return nil, nil, nil
	}
	h.raw = &t.Curvature
	xs, err := plain(h, t.Observation).draws(whitened(drawnOf(d), d-1))
	if err != nil {
		return nil, nil, err
	}
	squares := diagonal(h.matrix)
	floats.Scale(1/at, squares)
	records := make([]linearTerm, len(xs))
	for n, x := range xs {
		records[n] = t.linearTerm(x, squares, unit)
	}
	sd, way := math.Sqrt(t.Observed/t.Observation), make([]float64, d)
	for s, clip := range clips {
		floats.SubTo(way, w, t.Points[s])
		left, whole := make([]float64, d), make([]float64, d)
		for n, x := range xs {
			a := floats.Dot(x, way)
			floats.AddScaled(left, records[n].mean(a, sd, clip), x)
			floats.AddScaled(whole, a, x)
		}
		share := 1.
		if along := floats.Dot(whole, way); along > 0 {
			share = max(least, min(1, floats.Dot(left, way)/along))
		}
		floats.Scale(1/share, left)
		floats.Sub(left, whole)
		floats.Scale(at/float64(len(xs)), left)
		shares, beside = append(shares, share), append(beside, left)
	}
	return shares, beside, nil
}

// linearTerm is the term of a record: the length of its score for a residual of 1, and the square of that of
// its precisions.
type linearTerm struct{ score, precision float64 }

// linearTerm is that of a record, for columns of these mean squares.
func (t Trace) linearTerm(x, squares []float64, unit float64) (out linearTerm) {
	out.score = t.Observation * floats.Norm(x, 2)
	for i, v := range x {
		p := unit * t.Observation * (v*v - squares[i]) / 2
		out.precision += p * p
	}
	return out
}

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
