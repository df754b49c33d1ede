package noiseaware

import (
	"math"

	"choir/learn/internal/ellipse"
)

// chain is a Markov chain of elliptical slice sampling ([MAM10]) on vectors x that are standard normal
// before an observation of log-likelihood l. Its draws are the same in every run.
type chain struct {
	l func(x []float64) float64
	x []float64

	// Ellipses are in the coordinates y = (x - centre) / spread.
	centre, spread []float64
	y, other, next []float64
	at             float64 // weight of x
	state          uint64
}

// newChain returns the chain that starts at x.
func newChain(x []float64, l func(x []float64) float64) *chain {
	n := len(x)
	c := &chain{l: l, x: x, centre: make([]float64, n), spread: make([]float64, n), y: make([]float64, n),
		other: make([]float64, n), next: make([]float64, n)}
	for i := range c.spread {
		c.spread[i] = 1
	}
	c.begin()
	return c
}

// begin takes over x, centre and spread.
func (c *chain) begin() {
	for i, v := range c.x {
		c.y[i] = (v - c.centre[i]) / c.spread[i]
	}
	c.at = c.weight(c.y)
}

// weight is the logarithm of the density of y over the standard normal one. It moves x to y.
func (c *chain) weight(y []float64) float64 {
	w := 0.0
	for i, v := range y {
		x := c.centre[i] + c.spread[i]*v
		c.x[i] = x
		w += (v*v - x*x) / 2
	}
	return w + c.l(c.x)
}

// step moves along the ellipse through y and a normal vector.
func (c *chain) step() {
	for i := range c.other {
		c.other[i] = c.normal()
	}
	c.at = ellipse.Step(c.y, c.other, c.next, c.at, c.weight, c.uniform)
}

// Lengths of a chain.
const (
	stages  = 5
	warming = 200 // draws of the first stage
	draws   = 9000
)

// wider is the variance of an ellipse's vectors over that of the last draws.
const wider = 1.5

// run calls each for every draw. Before the first one it moves the ellipses, in stages, to where the
// draws are.
func (c *chain) run(each func(x []float64)) {
	for stage := range stages {
		c.settle(warming * (stage + 1))
		c.begin()
	}
	for range draws {
		c.step()
		each(c.x)
	}
}

// settle takes draws and moves the ellipses to where they are. The chain has to begin again. It returns the
// draws' mean.
func (c *chain) settle(count int) (mean []float64) {
	n := len(c.x)
	mean, square := make([]float64, n), make([]float64, n)
	for range count {
		c.step()
		for i, v := range c.x {
			mean[i] += v / float64(count)
			square[i] += v * v / float64(count)
		}
	}
	copy(c.centre, mean)
	for i, m := range mean {
		c.spread[i] = math.Sqrt(wider * max(square[i]-m*m, ellipse.Narrowest))
	}
	return mean
}

// uniform is in (0, 1), by the generator of [SLF14].
func (c *chain) uniform() float64 {
	c.state += 0x9e3779b97f4a7c15
	z := c.state
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	z ^= z >> 31
	return float64(z>>11<<1|1) * 0x1p-54
}

// normal is standard normal.
func (c *chain) normal() float64 {
	return math.Sqrt(-2*math.Log(c.uniform())) * math.Cos(2*math.Pi*c.uniform())
}
