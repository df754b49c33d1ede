package paper3

import (
	"math"

	"choir/privacy/pld"
)

// counted is the pair of the numbers of reports 1 and 2, where each of n-1 users reports either with
// probability f, and the victim its own with probability own, the other with probability other, or neither.
// Only to compare with what is printed: with four values or more the pair dominates no round.
type counted struct {
	n             int
	f, own, other float64
}

// printedStrong is the pair of Theorem 14 of [Shuffle], in which the victim's report is never random.
func printedStrong(n, categories int, gamma float64) counted {
	return counted{n, gamma / float64(categories), 1, 0}
}

// claimed is the pair of [FMT23], Theorem 5.2.
func claimed(n, categories int, gamma float64) counted {
	f := gamma / float64(categories)
	return counted{n, f, 1 - gamma + f, f}
}

// epsilon is that of a number of rounds.
func (c counted) epsilon(rounds int, delta float64) (float64, error) {
	term := pld.Term{Kind: pld.Discrete, Count: rounds, Lattice: c.lattice()}
	return pld.Upper([]pld.Term{term}, delta, pld.Precision{Cells: 600})
}

func (c counted) lattice() *pld.Lattice {
	const deviations = 10 // of mass 10^-23
	rest := 1 - c.own - c.other
	users := float64(c.n - 1)
	mean, sd := 2*c.f*users, math.Sqrt(2*c.f*users)
	var atoms []pld.Atom
	for s := max(0, int(mean-deviations*sd)); s <= min(c.n, int(mean+deviations*sd+deviations*deviations)); s++ {
		half := deviations * (1 + math.Sqrt(float64(s))/2)
		for a := max(0, int(float64(s)/2-half)); a <= min(s, int(float64(s)/2+half)); a++ {
			b := s - a
			one, two, none := c.others(a-1, b), c.others(a, b-1), rest*c.others(a, b)
			atoms = append(atoms, pld.Atom{P: c.own*one + c.other*two + none, Q: c.other*one + c.own*two + none})
		}
	}
	return pld.NewLattice(atoms, 0)
}

// others is the probability that a and b of the others report 1 and 2.
func (c counted) others(a, b int) float64 {
	rest := c.n - 1 - a - b
	if a < 0 || b < 0 || rest < 0 {
		return 0
	}
	log := float64(a+b)*math.Log(c.f) + float64(rest)*math.Log1p(-2*c.f)
	for _, term := range []struct {
		of   int
		sign float64
	}{{c.n - 1, 1}, {a, -1}, {b, -1}, {rest, -1}} {
		v, _ := math.Lgamma(float64(term.of + 1))
		log += term.sign * v
	}
	return math.Exp(log)
}
