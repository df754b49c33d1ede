package shuffle

import (
	"math"

	"choir/privacy/pld"
)

// maxSplits is the number of blocks into which the numbers of drawn colluders are divided.
const maxSplits = 16

// lattice builds the pair for every number t of colluders that the sample may contain. They see whether
// they were drawn, so that t is known: it leaves Users - t honest reports, among which the victim is with
// probability (Users - t)/(Population - Colluders).
func (r Round) lattice(v side, build func(Round, float64) (*pld.Lattice, error), tail float64) (
	*pld.Lattice, error) {
	if r.Population == 0 {
		return build(r, 1)
	}
	if r.Colluders == 0 {
		return build(r, float64(r.Users)/float64(r.Population))
	}
	law, lo, hi := r.drawn(tail)
	var atoms []pld.Atom
	infinite := 0.0
	if v == above {
		infinite = 2 * tail
	}
	width := (hi - lo + maxSplits) / maxSplits
	for t := lo; t <= hi; t += width {
		end := min(hi, t+width-1)
		var weight float64
		for i := t; i <= end; i++ {
			weight += law[i-lo]
		}
		// Fewer reports and a larger rate are worse.
		few, rate := end, t
		if v == below {
			few, rate = t, end
		}
		l, err := r.split(few, rate, build)
		if err != nil {
			return nil, err
		}
		infinite += weight * l.Infinite
		for _, a := range l.Atoms {
			atoms = append(atoms, pld.Atom{P: weight * a.P, Q: weight * a.Q})
		}
	}
	return pld.NewLattice(atoms, infinite), nil
}

// split builds the pair for as many honest reports as remain if few colluders are drawn, at the rate that
// belongs to rate drawn colluders.
func (r Round) split(few, rate int, build func(Round, float64) (*pld.Lattice, error)) (*pld.Lattice,
	error) {
	honest := float64(r.Population - r.Colluders)
	q := float64(r.Users-rate) / honest
	r.Users -= few
	if q == 0 || r.Users == 0 && rate == few {
		return listed([]float64{1}, []float64{1}), nil
	}
	r.Users = max(1, r.Users)
	return build(r, math.Min(1, q))
}

// drawn returns the hypergeometric law of the number of colluders in the sample, from lo to hi. Chernoff's
// bound for the binomial law holds for it.
func (r Round) drawn(tail float64) (law []float64, lo, hi int) {
	p := float64(r.Users) / float64(r.Population)
	honest := r.Population - r.Colluders
	q := float64(honest+r.Colluders-r.Users) / float64(r.Population)
	a, b := binomial{r.Colluders, p, q}, binomial{honest, p, q}
	lo, hi = a.tails(tail)
	lo, hi = max(lo, r.Users-honest), min(hi, r.Users)
	all := binomial{r.Population, p, q}.mass(r.Users)
	for t := lo; t <= hi; t++ {
		law = append(law, a.mass(t)*b.mass(r.Users-t)/all)
	}
	return law, lo, hi
}
