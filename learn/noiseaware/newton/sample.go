package newton

import (
	"math"

	"choir/learn/gauss"
	"choir/learn/internal/ellipse"
)

// node is a node of a Gauss-Hermite rule for the standard normal law.
type node struct{ x, weight float64 }

// Rules of five nodes and of seven.
var (
	five = []node{{0, 8.0 / 15}, {1.355626179974266, 0.2220759220056126},
		{-1.355626179974266, 0.2220759220056126}, {2.856970013872806, 0.01125741132772071},
		{-2.856970013872806, 0.01125741132772071}}
	seven = []node{{0, 16.0 / 35}, {1.154405394739968, 0.2401231786050126},
		{-1.154405394739968, 0.2401231786050126}, {2.366759410734541, 0.03075712396758652},
		{-2.366759410734541, 0.03075712396758652}, {3.750439717725742, 0.0005482688559722184},
		{-3.750439717725742, 0.0005482688559722184}}
)

// Lengths of a chain on what all coordinates have in common.
const (
	beginnings = 6   // measures of how far points are before the first stage
	again      = 2   // and after each
	phases     = 4   // stages, of as many steps as
	shaking    = 100 // these
	commons    = 200 // draws
	apartSteps = 3   // steps from one to the next
	fromEach   = 20  // draws of the weights for each
)

// nearest is the largest squared length of the way that is left from the last point, in bounds, of which
// shortened steps lose little.
const nearest = 0.3

// settled returns a chain on what all coordinates have in common, and moves l to where it is. It is nil if
// sums have no law: they are without noise, and not as slopes have them.
func (l *series) settled(p prior) *ellipse.Chain {
	start := []float64{0, 0, 0.7, 0}
	for range beginnings {
		l.measure(l.decode(start, p))
	}
	log := func(x []float64) float64 {
		total := 0.0
		for _, m := range l.mixtures(l.decode(x, p)) {
			total += m.log
		}
		return total
	}
	if math.IsInf(log(start), -1) {
		return nil
	}
	c := ellipse.New(start, log)
	for range phases {
		copy(c.X, c.Settle(shaking))
		at := l.decode(c.X, p)
		for range again {
			l.measure(at)
			at = l.decode(c.X, p)
		}
		c.Begin()
	}
	return c
}

// sample returns the moments of the weights under a prior, and the variances of their means by what isn't the
// weights. It shows draws of them. Single weights have the largest standard deviation of the prior, whatever
// the sums say of it; slopes don't follow from that. near reports whether the last point is so near to the
// weights, and sums so noisy, that this is a law of steps; else m is nil.
func (t Steps) sample(p prior, each func(weights []float64)) (m *gauss.Moments, noise []float64, near bool) {
	d := len(t.Points[0])
	l := newSeries(t, p.single)
	noise = make([]float64, d)
	c := l.settled(p)
	if c == nil || !(l.far[len(l.far)-1] <= nearest) {
		return nil, noise, false
	}
	m = &gauss.Moments{Mean: make([]float64, d), Variance: make([]float64, d)}
	var r ellipse.Generator
	weights := make([]float64, d)
	for range commons {
		for range apartSteps {
			c.Step()
		}
		at := l.decode(c.X, p)
		if p.single {
			at.scale = p.high
		}
		mixtures := l.mixtures(at)
		means, variances := make([]float64, d), make([]float64, d)
		for i := range mixtures {
			means[i], variances[i] = mixtures[i].moments(p.single)
			noise[i] += mixtures[i].noise() / commons
			m.Mean[i] += means[i] / commons
			m.Variance[i] += (variances[i] + means[i]*means[i]) / commons
		}
		for range fromEach {
			for i, v := range variances {
				weights[i] = means[i] + math.Sqrt(v)*r.Normal()
			}
			each(weights)
		}
	}
	for j, v := range m.Mean {
		m.Variance[j] = max(m.Variance[j]-v*v, 0)
	}
	return m, noise, true
}
