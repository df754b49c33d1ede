package pld

import "math"

// merged discretises a term so that its curve lies on or below the term's
// everywhere. Outputs are merged into bins, each bin's loss a grid point: a bin that
// begins short of a grid point l ends beyond it, where the masses balance to
// P = e^l Q. Where the density changes by its own size within a cell, so that no
// nearby end balances, the bin's loss is rounded down instead. Where that leaves no loss
// above 0, all outputs are one bin of loss 0: a pair that tells nothing, and still more than
// this one. It happens where a term's losses are all within a cell, beside larger terms.
func merged(t Term, step, tail float64) *pmf {
	p := t.pieces(tail)[0]
	d := newPMF([]piece{p}, step)
	for c := p.lo; c < p.hi; {
		start, _ := p.at(c)
		i := int(math.Floor(start/step)) + 1
		end, balanced := p.balance(c, float64(i)*step, step)
		mass, _ := p.integrate(c, end, 0)
		if !balanced {
			i--
		}
		d.put(i, mass)
		c = end
	}
	if mass, top := d.top(); top <= 0 {
		return &pmf{step: step, mass: []float64{mass}}
	}
	return d
}

// top is the mass, and the index of the largest loss that has any.
func (d *pmf) top() (mass float64, index int) {
	for i, m := range d.mass {
		if m > 0 {
			mass, index = mass+m, d.first+i
		}
	}
	return mass, index
}

// balance finds the end of the bin that begins at c, below loss l: where P = e^l Q, or
// a 10^-10th of the deficit beyond, so that the bin's loss is at least l. Failing
// that, it ends the bin half a cell beyond l: its loss is then at least l - step.
func (p piece) balance(c, l, step float64) (end float64, balanced bool) {
	at := p.where(l)
	lo := at
	_, lack := p.integrate(c, lo, l)
	want := -lack
	for k := 1.0; k <= 2; k++ {
		hi := p.where(l + k*step)
		_, got := p.integrate(lo, hi, l)
		if got > want {
			// Density and slope change little within a cell: the balance is near the mirror image.
			return p.solve(lo, hi, l, want, 2*at-c), true
		}
		lo, want = hi, want-got
	}
	if end = p.where(l + step/2); end > c {
		return end, false
	}
	return p.hi, false
}

// solve finds z in [a, b] with the integral of P - e^l Q over [a, z] just above
// want, by Newton's method kept inside its bracket. The integral over [a, b] is above it.
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
