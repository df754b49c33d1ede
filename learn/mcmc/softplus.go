package mcmc

import "math"

const (
	softplusCells = 64 // of the table, by unit
	softplusEnd   = 37 // beyond it the function is below 1e-16
)

// softplusTable has, by cell, the Taylor coefficients at its center.
var softplusTable = func() (t [softplusCells * softplusEnd][5]float64) {
	for i := range t {
		x := (float64(i) + 0.5) / softplusCells
		s := 1 / (1 + math.Exp(x))
		p := s * (1 - s)
		t[i] = [5]float64{math.Log1p(math.Exp(-x)), -s, p / 2, -p * (1 - 2*s) / 6, p * (1 - 6*p) / 24}
	}
	return t
}()

// softplus is log(1 + e^-x) for x >= 0, to an absolute error of 1e-13: evaluating it for all
// records is most of what a party computes in a round.
func softplus(x float64) float64 {
	if !(x < softplusEnd) {
		return math.Min(x, 0) // 0, or NaN
	}
	i := int(x * softplusCells)
	c := &softplusTable[i]
	d := x - (float64(i)+0.5)/softplusCells
	return c[0] + d*(c[1]+d*(c[2]+d*(c[3]+d*c[4])))
}
