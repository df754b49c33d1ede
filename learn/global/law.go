package global

import (
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"choir/learn/noiseaware"
)

// cutGradients is what records of a logistic model leave in the rounds' scores: their gradients, clipped as
// parties do.
type cutGradients struct {
	c           Config
	means, vars [][]float64 // by round of scores: the public posterior's
	at, spread  []float64   // those of the curvature
}

// Score implements noiseaware.Records.
func (k *cutGradients) Score(x []float64, y, _ float64, weights []float64) []float64 {
	d := len(x)
	out, grad, sd := make([]float64, d), make([]float64, 2*d), make([]float64, d)
	for s, m := range k.means {
		p, slope := noiseaware.Predicted(x, m, k.vars[s])
		for i, v := range x {
			grad[i] = (y - p) * v
			grad[d+i] = -slope * v * v * k.vars[s][i]
		}
		if k.c.Optimiser == Natural {
			for i, v := range k.vars[s] {
				sd[i] = math.Sqrt(v)
			}
			k.c.measure(grad, sd)
		}
		part := weights[s]
		if n := floats.Norm(grad, 2); n > k.c.Clip {
			part *= k.c.Clip / n
		}
		floats.AddScaled(out, part*(y-p), x)
	}
	return out
}

// Taken implements noiseaware.Records.
func (k *cutGradients) Taken(sum *mat.SymDense, x []float64) {
	_, c := noiseaware.Predicted(x, k.at, k.spread)
	k.c.terms().Taken(sum, c, x)
}
