package shuffle

import (
	"math"
	"math/cmplx"
)

// contour returns the curve of the blanket of many Laplace or Gaussian reports at an epsilon without
// transforms: E max(0, S) is the integral of M(s)^n/s^2 over s = c + it, over 2 pi, for every c > 0. At the c
// with the least integrand nothing cancels, so that the relative error is that of n roundings. Gaussian
// ratios are cut off, which lowers the curve by at most cut.
func (r Round) contour(epsilon float64) (delta, cut float64) {
	law := r.ratioOf(1e-16)
	x, n := math.Exp(epsilon), float64(r.Users)
	none := 1 - 2*law.above(0) // the mass of no blanket, with G = 0
	var masses, values []float64
	add := func(mass, ratio float64) {
		masses, values = append(masses, mass, mass), append(values, ratio-x, 1-x*ratio)
	}
	const panels = 250
	width := law.top / panels
	for k := range panels { // the rule of Gauss and Legendre with three nodes
		for _, g := range [][2]float64{{0, 8. / 9}, {-math.Sqrt(0.6), 5. / 9}, {math.Sqrt(0.6), 5. / 9}} {
			u := (float64(k) + (1+g[0])/2) * width
			density := math.Exp(-r.Eps0/2-u/2) / 4
			if z := r.Sigma*u + 1/(2*r.Sigma); r.Kind == Gaussian {
				density = r.Sigma * math.Exp(-z*z/2) / math.Sqrt(2*math.Pi)
			}
			add(g[1]/2*width*density, math.Exp(u))
		}
	}
	add(law.above(law.top), math.Exp(law.top))
	exponent := func(s complex128) complex128 { // ln(M(s)^n/s^2)
		m := complex(none, 0)
		for i, mass := range masses {
			m += complex(mass, 0) * cmplx.Exp(s*complex(values[i], 0))
		}
		return complex(n, 0)*cmplx.Log(m) - 2*cmplx.Log(s)
	}
	c, least := 0.0, math.Inf(1)
	for at := 1e-4; ; at *= 1.05 {
		v := real(exponent(complex(at, 0)))
		if v > least {
			break
		}
		c, least = at, v
	}
	sum, step := 0.5, c/30
	for k := 1.0; ; k++ {
		v := exponent(complex(c, k*step)) - complex(least, 0)
		if real(v) < -40 {
			break
		}
		sum += real(cmplx.Exp(v))
	}
	if r.Kind == Gaussian {
		cut = law.beyond(law.top)
	}
	return math.Exp(least) * sum * step / math.Pi / n, cut
}
