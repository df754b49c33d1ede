package model

import "math"

// adam is the optimiser of [KB15], algorithm 1, with its constants, maximising. Every
// global update starts a new one: keeping the averages would be private state that is not a
// factor, and did not help in experiments.
type adam struct {
	first, second []float64 // moving averages of the gradient and of its square
	rate          float64
	pow1, pow2    float64 // beta^t
}

const (
	adamBeta1 = 0.9
	adamBeta2 = 0.999
	adamEps   = 1e-8
)

func newAdam(first, second []float64, rate float64) *adam {
	clear(first)
	clear(second)
	return &adam{first: first, second: second, rate: rate, pow1: 1, pow2: 1}
}

// next begins a step; climb may then be called for parts of the vector.
func (a *adam) next() {
	a.pow1 *= adamBeta1
	a.pow2 *= adamBeta2
}

// climb moves x along the gradient g, coordinate i of x being off+i of the
// optimiser's state.
func (a *adam) climb(x, g []float64, off int) {
	m, v := a.first[off:], a.second[off:]
	for i, gi := range g {
		m[i] = adamBeta1*m[i] + (1-adamBeta1)*gi
		v[i] = adamBeta2*v[i] + (1-adamBeta2)*gi*gi
		x[i] += a.rate * (m[i] / (1 - a.pow1)) / (math.Sqrt(v[i]/(1-a.pow2)) + adamEps)
	}
}
