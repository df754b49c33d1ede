package model

import "math"

// ProximalStep moves theta = (mean, t = log sd / unit), a mean-field chart's, along
// the gradient g of the data's part of the free energy, explicitly, and along the
// entropy's and the cavity's part implicitly, at the point where the step ends:
//
//	mean' = mean + rate (g + h_c - P_c mean')
//	t'    = t    + rate (g + unit (1 - P_c exp(2 unit t')))
//
// The fixed points are those of plain steps. But however large rate P_c is, the step
// neither overshoots nor diverges, which plain ones do beyond 2; and what noise there
// is in g counts less where the cavity knows more. Where an improper cavity has no
// minimum, the step is plain.
func ProximalStep(theta, g, cavity []float64, rate, unit float64) {
	d := len(theta) / 2
	for i := range d {
		p := -2 * cavity[d+i]
		to := theta[i] + rate*(g[i]+cavity[i])
		up := theta[d+i] + rate*(g[d+i]+unit)
		if p > 0 {
			theta[i] = to / (1 + rate*p)
			theta[d+i] = implicitLogSD(unit*up, rate*unit*unit*p) / unit
		} else {
			theta[i] = to - rate*p*theta[i]
			theta[d+i] = up - rate*unit*p*math.Exp(2*unit*theta[d+i])
		}
	}
}

// implicitLogSD solves x = up - c exp(2x), c > 0. The function x - up + c exp(2x) is
// increasing and convex, so Newton's method descends to the root from any point right
// of it. up is one; where the root is above 0, c exp(2x) = up - x is at most up, so
// that ln(up/c)/2 is another.
func implicitLogSD(up, c float64) float64 {
	x := up
	if up > 0 {
		x = min(up, max(0, math.Log(up/c)/2))
	}
	for range 100 {
		e := c * math.Exp(2*x)
		step := (x - up + e) / (1 + 2*e)
		x -= step
		if math.Abs(step) < 1e-14*(1+math.Abs(x)) {
			break
		}
	}
	return x
}
