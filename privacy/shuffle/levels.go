package shuffle

import (
	"math"

	"choir/privacy/pld"
)

// levelRatios is ratioOf for discrete Laplace noise on levels 0 to m = levels - 1, whose probability falls by
// a = e^(-eps0/m) from level to level. The report y of 0 has the probability (1-a)/(1+a) a^|y|, and the ratio
// at y is a^(m - 2y), from y = 0 to y = m; it stays the same beyond.
func levelRatios(levels int, eps0 float64) ratio {
	m := levels - 1
	step := eps0 / float64(m)
	a := math.Exp(-step)
	r := ratio{floor: -eps0, top: eps0}
	for y := levels / 2; y <= m; y++ {
		mass := math.Exp(-step*float64(y)) / (1 + a)
		if y < m {
			mass *= -math.Expm1(-step)
		}
		if 2*y == m {
			mass /= 2
		}
		at := math.Exp(step * float64(2*y-m))
		r.atoms = append(r.atoms, pld.Cell{Mass: mass, Mean: at, Lo: at, Hi: at})
	}
	sum := func(u float64, of func(c pld.Cell) float64) (total float64) {
		for i := len(r.atoms) - 1; i >= 0 && r.atoms[i].Mean >= math.Exp(u); i-- {
			total += of(r.atoms[i])
		}
		return total
	}
	r.above = func(u float64) float64 { return sum(u, func(c pld.Cell) float64 { return c.Mass }) }
	r.weighted = func(u float64) float64 { return sum(u, func(c pld.Cell) float64 { return c.Mass * c.Mean }) }
	return r
}

// listed is cells for a law with atoms. Those beyond e^end count as e^end, or if all is set as one at their
// mean; then the ratios below 1 are there too, which are the inverses under the other law.
func (r ratio) listed(end float64, all bool) (out []pld.Cell) {
	most := math.Exp(end)
	beyond := pld.Cell{}
	for _, c := range r.atoms {
		if all {
			out = append(out, pld.Cell{Mass: c.Mass * c.Mean, Mean: 1 / c.Mean, Lo: 1 / c.Mean, Hi: 1 / c.Mean})
		}
		if c.Mean <= most {
			out = append(out, c)
			continue
		}
		beyond.Mass += c.Mass
		beyond.Mean += c.Mass * c.Mean
	}
	if beyond.Mass > 0 {
		if beyond.Mean /= beyond.Mass; !all {
			beyond.Mean = most
		}
		beyond.Lo, beyond.Hi = beyond.Mean, beyond.Mean
		out = append(out, beyond)
	}
	return out
}
