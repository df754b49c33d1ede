// Package ellipse has the step of elliptical slice sampling.
package ellipse

import "math"

// narrowest is the arc, in radians, at which the search for a point ends: what is left is the vector itself.
const narrowest = 1e-12

// Step moves y to a point of the ellipse through y and other, as [MAM10], figure 2. A law with the density
// exp weight(y) over the standard normal one stays as it is, for a standard normal other. now is weight(y),
// next has room for a vector of their length, and uniform draws from (0, 1). It returns the weight of the new
// y.
func Step(y, other, next []float64, now float64, weight func(y []float64) float64,
	uniform func() float64) float64 {
	floor := now + math.Log(uniform())
	angle := 2 * math.Pi * uniform()
	low, high := angle-2*math.Pi, angle
	for high-low > narrowest {
		sin, cos := math.Sincos(angle)
		for i, v := range y {
			next[i] = cos*v + sin*other[i]
		}
		if at := weight(next); at > floor {
			copy(y, next)
			return at
		}
		if angle < 0 {
			low = angle
		} else {
			high = angle
		}
		angle = low + (high-low)*uniform()
	}
	return weight(y)
}
