package model

import "math"

// Optimiser maximises by a gradient that the caller computes.
type Optimiser interface {
	// Step moves x along the gradient g, in place. Lengths are those of the first call.
	Step(x, g []float64)
}

// NewAdam is a fresh Adam ([KB15], algorithm 1) over dim numbers.
func NewAdam(dim int, rate float64) Optimiser {
	return newAdam(make([]float64, dim), make([]float64, dim), rate)
}

// Step implements Optimiser.
func (a *adam) Step(x, g []float64) {
	a.next()
	a.climb(x, g, 0)
}

// NewAdagrad is a fresh Adagrad ([DHS11], diagonal form) over
// dim numbers.
func NewAdagrad(dim int, rate float64) Optimiser {
	return &adagrad{sum: make([]float64, dim), rate: rate}
}

type adagrad struct {
	sum  []float64 // of squared gradients
	rate float64
}

const adagradEps = 1e-10

func (a *adagrad) Step(x, g []float64) {
	for i, gi := range g {
		a.sum[i] += gi * gi
		x[i] += a.rate * gi / (math.Sqrt(a.sum[i]) + adagradEps)
	}
}

// NewSGD is plain steps of the given rate.
func NewSGD(rate float64) Optimiser { return sgd(rate) }

type sgd float64

func (s sgd) Step(x, g []float64) {
	for i, gi := range g {
		x[i] += float64(s) * gi
	}
}
