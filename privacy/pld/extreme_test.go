package pld

import (
	"math"
	mathrand "math/rand/v2"
	"testing"
)

// extremes returns terms and deltas near the limits of floating-point arithmetic: losses that are all
// the same, losses far from 0, halves of a curve that consist of a tail, and more steps or smaller
// deltas than the round-off of a transform allows.
func extremes() (all []extreme) {
	all = []extreme{
		{[]Term{{Kind: Add, Mu: 17.7, Rate: 0.0183, Count: 1}}, 0.174},
		{[]Term{{Kind: Add, Mu: 17.7, Rate: 0.0183, Count: 1}}, 0.01},
		{[]Term{{Kind: Remove, Mu: 50, Rate: 1, Count: 1}}, 0.3},
		{[]Term{{Kind: Remove, Mu: 15.6, Rate: 1, Count: 1}}, 0.37},
		{[]Term{
			{Kind: Amplified, Mu: 22.5, Rate: 0.039, Count: 1},
			{Kind: Amplified, Mu: 0.23, Rate: 1, Count: 3},
		}, 4e-6},
		{[]Term{{Kind: Amplified, Mu: 39.5, Rate: 0.39, Count: 1}}, 4e-11},
		{[]Term{{Kind: Add, Mu: 7.29, Rate: 0.11, Count: 842}}, 1.5e-24},
		{[]Term{{Kind: Remove, Mu: 0.5, Rate: 0.1, Count: 100000}}, 0.1},
	}
	rng := mathrand.New(mathrand.NewPCG(7, 11))
	between := func(a, b float64) float64 { return a + (b-a)*rng.Float64() }
	for range 40 {
		x := extreme{delta: math.Exp(between(-60, -0.01))}
		for range 1 + rng.IntN(2) {
			x.terms = append(x.terms, Term{
				Kind: Kind(1 + rng.IntN(4)), Mu: math.Exp(between(-12, math.Log(50))),
				Rate: math.Exp(-max(0, between(-5, 10))), Count: int(math.Exp(max(0, between(-5, 9)))),
			})
		}
		all = append(all, x)
	}
	return all
}

type extreme struct {
	terms []Term
	delta float64
}

// TestExtremes: for all terms the upper bound is finite and not below the lower bound. With -short
// every fourth case is tested.
func TestExtremes(t *testing.T) {
	for i, x := range extremes() {
		if testing.Short() && i%4 != 0 {
			continue
		}
		prec := Precision{Cells: 10, MaxBits: 11}
		hi, err := Upper(x.terms, x.delta, prec)
		if err != nil || !(hi >= 0) || math.IsInf(hi, 1) {
			t.Errorf("%+v: upper bound %v, %v", x, hi, err)
		}
		for _, term := range x.terms {
			if term.Kind == Amplified {
				x.terms = nil // it has no lower bound
			}
		}
		if len(x.terms) == 0 {
			continue
		}
		lo, err := Lower(x.terms, x.delta, prec)
		if err != nil || !(lo >= 0 && lo <= hi) {
			t.Errorf("%+v: lower bound %v, upper bound %v, %v", x, lo, hi, err)
		}
	}
}

// TestBoundedLosses: losses of the addition of a sampled record end at -ln(1-q), and next to the end a bound
// for one step is not below the truth, which was computed with 80 digits.
func TestBoundedLosses(t *testing.T) {
	for _, c := range []struct{ mu, rate, delta, epsilon float64 }{
		{3, 1e-9, 1e-40, 1.0000000004999242e-9},
		{20, 1e-9, 1e-20, 1.0000000004900001e-9},
		{7.7, 1e-4, 1e-20, 1.0000500033335829e-4},
		{8.4, 0.9999999, 1e-12, 16.118095651479111},
	} {
		term := []Term{{Kind: Add, Mu: c.mu, Rate: c.rate, Count: 1}}
		upper, err := Upper(term, c.delta, Precision{})
		if err != nil {
			t.Fatal(err)
		}
		lower, err := Lower(term, c.delta, Precision{})
		if err != nil {
			t.Fatal(err)
		}
		if !(upper >= c.epsilon*(1-1e-15)) || upper > c.epsilon*(1+1e-7) || lower > c.epsilon {
			t.Errorf("%+v: upper %.17g, lower %.17g", c, upper, lower)
		}
	}
}

// TestDominatingMassIsWhole: no mass is lost on any grid. All losses of the first term are one float,
// which is a grid point of its grid.
func TestDominatingMassIsWhole(t *testing.T) {
	for _, x := range append(extremes(),
		extreme{[]Term{{Kind: Add, Mu: 17.7, Rate: 0.0183, Count: 1}}, 0.012},
		extreme{[]Term{{Kind: Add, Mu: 40, Rate: 0.01, Count: 1}}, 1e-9},
	) {
		c := newChoice(x.terms, x.delta)
		p := c.plan(0, Precision{12, 12}, maxCells)
		for _, term := range x.terms {
			d := dominate(term, p.step, c.tail)
			sum := d.infinite
			for _, m := range d.mass {
				sum += m
			}
			// Tails count at most twice; the relative error of a cell is 2^-41.
			if math.Abs(sum-1) > 4*c.tail+1e-11 {
				t.Errorf("%+v at %v: mass %v", term, x.delta, sum)
			}
		}
	}
}

// TestBracketsFarSteps compares single steps far from 0 with their closed form.
func TestBracketsFarSteps(t *testing.T) {
	for _, term := range []Term{
		{Kind: Add, Mu: 17.7, Rate: 0.0183, Count: 1},
		{Kind: Remove, Mu: 15.6, Rate: 1, Count: 1},
		{Kind: Remove, Mu: 12, Rate: 0.3, Count: 1},
		{Kind: Replace, Mu: 8, Rate: 0.5, Count: 1},
		{Kind: Replace, Mu: 20, Rate: 1, Count: 1},
		{Kind: Replace, Mu: 3.32, Rate: 1 - 0x1p-47, Count: 1}, // 1 - q + q e^x cancels
	} {
		for _, delta := range []float64{0.3, 0.1, 0.012, 1e-4, 1e-8, 7.6e-10} {
			exact := epsilonOf(delta, func(e float64) float64 { return singleDelta(term, e) })
			if term.Kind == Replace && term.Rate == 1 { // e^epsilon overflows
				exact = epsilonOf(delta, func(e float64) float64 { return smallDelta(2*term.Mu, e) })
			}
			bracket(t, []Term{term}, delta, exact, 0.03)
		}
	}
}
