package centre

import (
	"math"
	"slices"

	"choir/learn/noiseaware/newton"
)

// Doubts returns what a state leaves unknown of the encoded columns in its frame. Before anything is measured
// a mean is anywhere in the range. variance is that of the noise on one sum, in units of the grid squared.
func (c Columns) Doubts(state []int64, variance float64) []newton.Doubt {
	const anywhere = 1. / 3 // variance of a mean
	_, known := c.look(state, variance, stages)
	if known == nil {
		known = slices.Repeat([]spread{{0, anywhere, unit * unit, 1, 0}}, len(c.columns))
	}
	out := make([]newton.Doubt, c.features)
	for j, k := range shrunk(known) {
		own, moved := known[j].meanNoise, k.mean-known[j].mean
		most := anywhere + own/float64(len(known))
		d := newton.Doubt{Mean: math.Sqrt(min(own+moved*moved, most)) / k.unit()}
		d.Log, d.LogSD = known[j].width(k.unit())
		out[c.columns[j].at] = d
	}
	return out
}

// width returns the mean and the standard deviation of the logarithm of the column's standard deviation, in
// units of which it is taken to have one. Before anything is measured all lengths, from a tenth of half of
// the range, or a third of the unit, up to the whole half are as likely on the logarithm's scale.
func (s spread) width(unit float64) (mean, sd float64) {
	const steps = 40
	if s.varianceNoise == 0 {
		return math.Log(math.Sqrt(max(s.variance, narrowest*narrowest)) / unit), 0
	}
	least := math.Log(min(0.1, unit/3))
	mass, square := 0.0, 0.0
	for i := range steps {
		log := least * (float64(i) + 0.5) / steps
		e := math.Exp(2*log) - s.variance
		likely := math.Exp(-min(e*e/(2*s.varianceNoise), 700))
		log -= math.Log(unit)
		mass += likely
		mean += likely * log
		square += likely * log * log
	}
	mean /= mass
	return mean, math.Sqrt(max(0, square/mass-mean*mean))
}
