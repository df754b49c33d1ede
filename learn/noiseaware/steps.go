package noiseaware

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"

	"choir/learn/gauss"
)

// Steps is what R rounds revealed of d weights, if each party answers with a bounded step from a
// public point towards where its own records have their maximum.
type Steps struct {
	Prior  float64     // precision of every weight, around 0
	Points [][]float64 // R x d: where the parties started
	Sums   [][]float64 // R x d: of the parties' steps, with noise
	Slopes [][]float64 // R x d: of the derivatives of each step by minus the point, with noise
	// SumNoise and SlopeNoise are the variances of the noise of a round's sum and slope in one
	// coordinate.
	SumNoise, SlopeNoise []float64
	// Reach is the sum over the parties of the largest squared step of a round.
	Reach float64
	// Expected is the slope that the plan expects, to within about a third, and Most the largest
	// possible one.
	Expected, Most float64
}

// doubt is the relative standard deviation of Expected.
const doubt = 0.25

// Posterior returns the posterior of the weights, each by itself. Where all parties' steps add up
// to 0 is an estimate of the weights: given the columns, a party's step has the mean 0 at the
// true weights. From a point nearby the sum is the slope times the distance. Its error is the
// noise and the spread of the parties' own steps, of which the bound on a step is known. The less
// the estimates exceed their noise the nearer the posterior is to the prior: it is the prior if
// their squares over their variances add up to d, and keeps none of it from 3 standard deviations
// of such a sum on.
func (t Steps) Posterior() (*gauss.Moments, error) {
	n := float64(len(t.Points))
	if n == 0 {
		return nil, fmt.Errorf("no rounds: %w", gauss.ErrImproper)
	}
	weights := make([]float64, len(t.Points))
	floats.AddConst(1/n, weights)
	point, sum := mean(t.Points, weights), mean(t.Sums, weights)
	slopes, all, left := t.slopes(weights)
	d := len(point)
	m := &gauss.Moments{Mean: make([]float64, d), Variance: make([]float64, d)}
	own := floats.Sum(t.SumNoise)/(n*n) + t.Reach/float64(d)
	energy := 0.0
	for i, s := range slopes {
		s = max(s, all/10)
		step := sum[i] / s
		v := (own + left*step*step) / (s * s)
		w := point[i] + step
		energy += w * w / v
		m.Variance[i] = 1 / (t.Prior + 1/v)
		m.Mean[i] = m.Variance[i] * w / v
	}
	trust := (energy - float64(d)) / (3 * math.Sqrt(2*float64(d)))
	trust = min(max(trust, 0), 1)
	for i := range d {
		m.Mean[i] *= trust
		m.Variance[i] = trust*m.Variance[i] + (1-trust)/t.Prior
	}
	return m, nil
}

// slopes returns the estimate of every weight's mean slope, the mean of all, and the variance of
// what is left of the noise. A slope's noise is large next to how far slopes differ between
// weights, so each is drawn towards the mean of all, by as much as their spread does not exceed
// the noise; and that mean towards the plan's expectation.
func (t Steps) slopes(weights []float64) (slopes []float64, all, left float64) {
	slopes = mean(t.Slopes, weights)
	d, n := float64(len(slopes)), float64(len(weights))
	noise := floats.Sum(t.SlopeNoise) / (n * n)
	own, found := noise/d, floats.Sum(slopes)/d
	expected := doubt * doubt * t.Expected * t.Expected
	common := expected * own / (expected + own)
	all = (expected*found + own*t.Expected) / (expected + own)
	all = min(t.Most, positive(all, math.Sqrt(common)))
	spread := 0.0
	for _, s := range slopes {
		spread += (s - found) * (s - found) / d
	}
	spread = max(spread-noise, 0)
	keep := 0.0
	if spread > 0 {
		keep = spread / (spread + noise)
	}
	for i, s := range slopes {
		slopes[i] = all + keep*(s-found)
	}
	return slopes, all, keep*noise + common
}
