package ellipse

import "math"

// Chain is a Markov chain of elliptical slice sampling ([MAM10]) on vectors X that are standard normal
// before an observation of log-likelihood l. Its draws are the same in every run.
type Chain struct {
	Generator
	X []float64
	l func(x []float64) float64

	// Ellipses are in the coordinates y = (x - centre) / spread.
	centre, spread []float64
	y, other, next []float64
	at             float64 // weight of X
}

// New returns the chain that starts at x.
func New(x []float64, l func(x []float64) float64) *Chain {
	n := len(x)
	c := &Chain{l: l, X: x, centre: make([]float64, n), spread: make([]float64, n), y: make([]float64, n),
		other: make([]float64, n), next: make([]float64, n)}
	for i := range c.spread {
		c.spread[i] = 1
	}
	c.Begin()
	return c
}

// Begin goes on from X, where Settle has moved the ellipses.
func (c *Chain) Begin() {
	for i, v := range c.X {
		c.y[i] = (v - c.centre[i]) / c.spread[i]
	}
	c.at = c.weight(c.y)
}

// weight is the logarithm of the density of y over the standard normal one. It moves X to y.
func (c *Chain) weight(y []float64) float64 {
	w := 0.0
	for i, v := range y {
		x := c.centre[i] + c.spread[i]*v
		c.X[i] = x
		w += (v*v - x*x) / 2
	}
	return w + c.l(c.X)
}

// Step moves along the ellipse through y and a normal vector.
func (c *Chain) Step() {
	for i := range c.other {
		c.other[i] = c.Normal()
	}
	c.at = Step(c.y, c.other, c.next, c.at, c.weight, c.Uniform)
}

// Lengths of a chain.
const (
	stages  = 5
	warming = 200 // draws of the first stage
	// Draws is how many vectors Run shows.
	Draws = 9000
)

// Wider is the variance of an ellipse's vectors over that of the last draws.
const Wider = 1.5

// Run calls each for every draw. Before the first one it moves the ellipses, in stages, to where the
// draws are.
func (c *Chain) Run(each func(x []float64)) {
	for stage := range stages {
		c.Settle(warming * (stage + 1))
		c.Begin()
	}
	for range Draws {
		c.Step()
		each(c.X)
	}
}

// Settle takes draws and moves the ellipses to where they are. The chain has to Begin again. It returns the
// draws' mean.
func (c *Chain) Settle(count int) (mean []float64) {
	n := len(c.X)
	mean, square := make([]float64, n), make([]float64, n)
	for range count {
		c.Step()
		for i, v := range c.X {
			mean[i] += v / float64(count)
			square[i] += v * v / float64(count)
		}
	}
	copy(c.centre, mean)
	for i, m := range mean {
		c.spread[i] = math.Sqrt(Wider * max(square[i]-m*m, narrowest))
	}
	return mean
}

// Generator draws the same numbers in every run, by the generator of [SLF14].
type Generator struct{ state uint64 }

// Uniform is in (0, 1).
func (g *Generator) Uniform() float64 {
	g.state += 0x9e3779b97f4a7c15
	z := g.state
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	z ^= z >> 31
	return float64(z>>11<<1|1) * 0x1p-54
}

// Normal is standard normal.
func (g *Generator) Normal() float64 {
	return math.Sqrt(-2*math.Log(g.Uniform())) * math.Cos(2*math.Pi*g.Uniform())
}
