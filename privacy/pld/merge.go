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
	if mass, top := d.top(); float64(top)*step+d.shift <= 0 {
		return &pmf{step: step, mass: []float64{mass}}
	}
	return d
}

// alignment is a shift of the grid with which the first bin balances. The losses of a sampled
// record's removal crowd at their lower end, with nothing to balance them where the grid is about
// as coarse as they are near each other: rounded down, in every step, they would cost as much as
// the rest tells.
func (p piece) alignment(step float64) float64 {
	if p.kind != Remove || p.q == 1 {
		return 0
	}
	start, _ := p.at(p.lo)
	mass, excess := p.integrate(p.lo, p.where(start+step/2), start)
	if !(mass > 0 && excess < mass) {
		return 0
	}
	// Q's share of the bin is (mass - excess) e^-start.
	mean := start - math.Log1p(-excess/mass) - 1e-6*step
	return mean - math.Floor(mean/step)*step
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
