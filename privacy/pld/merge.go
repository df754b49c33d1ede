package pld

import "math"

// merged discretises a term so that its curve is not above that of the term. Outputs are merged into
// bins whose losses are grid points: a bin that begins below a grid point l ends above it, where the
// masses balance to P = e^l Q. If the density changes strongly within a cell that no end nearby
// balances, the loss of the bin is rounded down instead. If no loss above 0 remains, all outputs
// become one bin of loss 0, which is a better lower bound. That happens if the losses of a term are
// all within one cell, because another term is much larger.
func merged(t Term, step, tail float64) *pmf {
	if t.Kind == Discrete {
		return t.Lattice.merged(step)
	}
	p := t.pieces(tail)[0]
	lo, hi := span([]piece{p})
	d := newPMF(lo, hi, step)
	d.shift = p.alignment(step)
	for c := p.lo; c < p.hi; {
		start, _ := p.at(c)
		i := int(math.Floor((start-d.shift)/step)) + 1
		end, balanced := p.balance(c, float64(i)*step+d.shift, step)
		mass, _ := p.integrate(c, end, 0)
		if !balanced {
			i--
		}
		d.put(i, mass)
		c = end
	}
	return d.useful()
}

// useful returns d, or all its finite mass at loss 0 if no loss is above 0.
func (d *pmf) useful() *pmf {
	if mass, top := d.top(); float64(top)*d.step+d.shift <= 0 {
		return &pmf{step: d.step, mass: []float64{mass}, infinite: d.infinite, err: d.err}
	}
	return d
}

// alignment returns a shift of the grid with which the first bin balances. With Remove and sampling
// the losses concentrate at their lower end. On a grid whose cells contain most of them no bin end
// balances, and rounding their losses down in every step would cost as much as the other losses give.
func (p piece) alignment(step float64) float64 {
	if p.kind != Remove || p.q == 1 {
		return 0
	}
	start, _ := p.at(p.lo)
	mass, excess := p.integrate(p.lo, p.where(start+step/2), start)
	if !(mass > 0 && excess < mass) {
		return 0
	}
	// The mass of the bin under Q is (mass - excess) e^-start.
	mean := start - math.Log1p(-excess/mass) - 1e-6*step
	return mean - math.Floor(mean/step)*step
}

// top returns the total finite mass and the index of the largest loss with mass.
func (d *pmf) top() (mass float64, index int) {
	for i, m := range d.mass {
		if m > 0 {
			mass, index = mass+m, d.first+i
		}
	}
	return mass, index
}

// balance returns the end of the bin that begins at c, below loss l: the point where P = e^l Q, or
// up to 10^-10 of the deficit beyond, so that the loss of the bin is at least l. If there is no such
// point nearby, the bin ends half a cell above l, and its loss is at least l - step.
func (p piece) balance(c, l, step float64) (end float64, balanced bool) {
	at := p.where(l)
	lo := at
	_, lack := p.integrate(c, lo, l)
	want := -lack
	for k := 1.0; k <= 2; k++ {
		hi := p.where(l + k*step)
		_, got := p.integrate(lo, hi, l)
		if got > want {
			// Density and slope change little within a cell, so the end is near the mirror image of c.
			return p.solve(lo, hi, l, want, 2*at-c), true
		}
		lo, want = hi, want-got
	}
	if end = p.where(l + step/2); end > c {
		return end, false
	}
	return p.hi, false
}

// solve returns z in [a, b] such that the integral of P - e^l Q over [a, z] is just above
// want, by Newton's method within a bracket. The integral over [a, b] must be above want.
func (p piece) solve(a, b, l, want, guess float64) float64 {
	lo, hi := a, b
	z := guess
	if !(z > a && z < b) {
		z = a + (b-a)/2
	}
	for range 60 {
		_, got := p.integrate(a, z, l)
		if got >= want {
			hi = z
			if got <= want*(1+1e-10) {
				return z
			}
		} else {
			lo = z
		}
		loss, density := p.at(z)
		z += (want*(1+3e-11) - got) / (-density * math.Expm1(l-loss))
		if !(z > lo && z < hi) {
			z = lo + (hi-lo)/2
		}
		if hi-lo <= 0x1p-50*math.Abs(hi) {
			break
		}
	}
	return hi
}
