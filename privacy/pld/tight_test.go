package pld

import (
	"math"
	"testing"
)

// Single steps against sixty digits: rates and distances that leave few of a float's
// digits, losses far beyond the range of exponentials, deltas next to the rate.
func TestSingleStepsHaveAllDigits(t *testing.T) {
	for _, c := range []struct {
		kind               Kind
		mu, rate, delta, e float64
	}{
		{Remove, 1.287235983879121, 3.396815252261115e-05, 7.015430159865601e-13, 0.05961172828531879582},
		{Add, 1.287235983879121, 3.396815252261115e-05, 7.015430159865601e-13, 0.00003388010585708108429},
		{Remove, 1e-06, 1e-06, 1e-14, 1.938358554553357778e-12},
		{Replace, 7.2e-05, 1.1e-05, 2e-22, 1.116018216130715569e-8},
		{Add, 17.7, 0.0183, 0.012, 0.006396935049392102156},
		{Add, 1.63, 0.9999999981834761, 2.7e-06, 8.267505964872151163},
		{Remove, 12.0, 0.3, 0.29999, 21.73221043047819809},
		{Remove, 9.4, 1.0, 2.5e-06, 86.27517706374692558},
		{Replace, 46.1, 0.999999878196219, 0.02, 1172.225451172403487},
		{Remove, 35.0, 0.0018, 0.0012, 590.0986521466316023},
		{Replace, 20.0, 1.0, 0.3, 819.9827197641883547},
		{Remove, 50.0, 1.0, 1e-40, 1914.659518641446537},
		{Remove, 2.0, 1e-05, 0.001, 0.0},
	} {
		term := Term{Kind: c.kind, Mu: c.mu, Rate: c.rate, Count: 1}
		hi, err1 := Upper([]Term{term}, c.delta, Precision{})
		lo, err2 := Lower([]Term{term}, c.delta, Precision{})
		// The literals are rounded to 2^-53. The padding of delta, some 10^-12 of it, is worth as much
		// of epsilon, and 10^-8 next to the rate, where the curve is flat.
		near := 1e-8*c.e + 1e-12
		if err1 != nil || err2 != nil || hi < c.e*(1-0x1p-52) || lo > c.e*(1+0x1p-52) || hi-c.e > near ||
			c.e-lo > near {
			t.Errorf("%+v: [%v, %v], %v, %v", c, lo, hi, err1, err2)
		}
	}
}

// Where a few large losses make the tail heavy, tilt and grid follow the epsilon that matters: the
// bounds were apart by 15 to 100 % in these, for want of a tilt, a grid as fine as the many small
// losses, or a grid point where they crowd.
func TestHeavyTailsAreBracketedClosely(t *testing.T) {
	for _, c := range []struct {
		term  Term
		delta float64
		gap   float64
	}{
		{Term{Kind: Remove, Mu: 2, Rate: 0.001, Count: 1000}, 1e-10, 2e-3},
		{Term{Kind: Remove, Mu: 2, Rate: 0.001, Count: 1000}, 1e-3, 2e-3},
		{Term{Kind: Remove, Mu: 2, Rate: 0.03, Count: 30}, 1e-3, 2e-3},
		{Term{Kind: Remove, Mu: 6, Rate: 0.001, Count: 1000}, 1e-3, 2e-3},
		{Term{Kind: Remove, Mu: 0.7, Rate: 0.001, Count: 1000}, 1e-10, 0.01},
		{Term{Kind: Replace, Mu: 2, Rate: 0.001, Count: 30}, 1e-6, 0.01},
		{Term{Kind: Remove, Mu: 2, Rate: 1e-5, Count: 30}, 1e-3, 0}, // no more than 3e-4 is ever at stake
	} {
		prec := Precision{Cells: 60, MaxBits: 16}
		hi, err1 := Upper([]Term{c.term}, c.delta, prec)
		lo, err2 := Lower([]Term{c.term}, c.delta, prec)
		if err1 != nil || err2 != nil || !(lo <= hi && hi-lo <= c.gap*hi+1e-9) || math.IsInf(hi, 0) {
			t.Errorf("%+v at %v: [%v, %v], %v, %v", c.term, c.delta, lo, hi, err1, err2)
		}
	}
}
