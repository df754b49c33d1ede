package pld

import (
	"errors"
	"math"
)

// pmf is a privacy loss distribution on the grid: mass[i] at loss (first + i) step.
type pmf struct {
	step     float64
	first    int
	mass     []float64
	infinite float64 // mass at infinite loss
}

// maxCells bounds the memory of one step's distribution.
const maxCells = 1 << 22

var errTooFine = errors.New("pld: the grid is too fine for the range of losses")

// newPMF spans the losses of all pieces.
func newPMF(pieces []piece, step float64) (*pmf, error) {
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, p := range pieces {
		a, _ := p.at(p.lo)
		b, _ := p.at(p.hi)
		lo, hi = math.Min(lo, a), math.Max(hi, b)
	}
	if (hi-lo)/step > maxCells {
		return nil, errTooFine
	}
	first := int(math.Floor(lo/step)) - 1
	return &pmf{step: step, first: first, mass: make([]float64, int(math.Ceil(hi/step))-first+3)}, nil
}

func (d *pmf) put(index int, mass float64) { d.mass[index-d.first] += mass }

// dominate discretises a term so that its curve lies on or above the term's
// everywhere, equal at the grid points.
func dominate(t Term, step, tail float64) (*pmf, error) {
	pieces := t.pieces(tail)
	d, err := newPMF(pieces, step)
	if err != nil {
		return nil, err
	}
	for _, p := range pieces {
		d.split(p)
		d.infinite += p.high
	}
	d.put(0, t.atom())
	return d, nil
}

// split puts each cell's mass on its two ends so that its masses under P and Q stay.
// With b at the upper end: b (1 - e^-step) = P(cell) - e^l Q(cell).
func (d *pmf) split(p piece) {
	l0, _ := p.at(p.lo)
	l1, _ := p.at(p.hi)
	i := int(math.Floor(l0 / d.step))
	d.put(i+1, p.low) // rounded up
	end := int(math.Ceil(l1 / d.step))
	norm := -1 / math.Expm1(-d.step)
	for z := p.lo; i < end; i++ {
		next := p.hi
		if i+1 < end {
			next = p.where(float64(i+1) * d.step)
		}
		mass, excess := p.integrate(z, next, float64(i)*d.step)
		b := math.Min(mass, math.Max(0, excess*norm))
		d.put(i, mass-b)
		d.put(i+1, b)
		z = next
	}
}

// Gauss-Legendre nodes and weights on [-1, 1], three points.
const (
	glNode   = 0.7745966692414834
	glCentre = 8.0 / 9
	glEdge   = 5.0 / 9
	// maxWidth keeps the rule's relative error below 1e-14 for densities
	// exp(-z^2/2) times mixtures, |z| below 40: (z w)^6 / 2016000.
	maxWidth = 0.0015
)

// integrate returns P[a, b] and the integral of P (1 - e^(l - loss)), which is
// P - e^l Q.
func (p piece) integrate(a, b, l float64) (mass, excess float64) {
	if !(b > a) {
		return 0, 0
	}
	n := math.Ceil((b - a) / maxWidth)
	half := (b - a) / n / 2
	for k := 0.0; k < n; k++ {
		mid := a + (2*k+1)*half
		for _, g := range [...]struct{ x, w float64 }{{-glNode, glEdge}, {0, glCentre}, {glNode, glEdge}} {
			loss, density := p.at(mid + half*g.x)
			m := g.w * half * density
			mass += m
			excess -= m * math.Expm1(l-loss)
		}
	}
	return mass, excess
}
