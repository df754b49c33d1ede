package paper3

import (
	"math"
	"testing"
)

// TestPrintedValues: the epsilons of Figure 4's pairs as they are printed, in brackets that were computed
// independently.
func TestPrintedValues(t *testing.T) {
	strong, clones := printedStrong(1000, 4, 0.25), claimed(1000, 4, 0.25)
	for _, c := range []struct {
		pair   counted
		rounds int
		power  float64 // of delta
		lo, hi float64
	}{
		{strong, 1, -4, 0.5473287341, 0.5473287344}, {strong, 1, -5.5, 0.7288226955, 0.7288227045},
		{strong, 1, -6.25, 0.8112912136, 0.8112912642}, {strong, 1, -7, 0.8902983078, 0.8902985723},
		{strong, 4, -4, 1.174643028, 1.174643134}, {strong, 4, -4.75, 1.343800397, 1.343800516},
		{strong, 4, -5.5, 1.498096677, 1.498096852}, {strong, 4, -6.25, 1.641070724, 1.641071179},
		{strong, 4, -7, 1.775097718, 1.775099643}, {strong, 16, -6.25, 3.469879189, 3.469882109},
		{strong, 16, -7, 3.722488415, 3.722502302}, {clones, 1, -4, 0.388855997, 0.3888559972},
		{clones, 1, -4.75, 0.4566043338, 0.4566043348},
		{clones, 1, -6.25, 0.5748849712, 0.5748849984}, {clones, 1, -7, 0.6280448395, 0.6280449882},
		{clones, 4, -4.75, 0.9684649488, 0.9684650243}, {clones, 4, -5.5, 1.082965086, 1.082965194},
		{clones, 4, -6.25, 1.188373341, 1.188373617}, {clones, 4, -7, 1.286575489, 1.286576643},
		{clones, 16, -4, 1.847317889, 1.847318144}, {clones, 16, -5.5, 2.308947866, 2.308948429},
		{clones, 16, -7, 2.700662108, 2.700670639},
	} {
		if testing.Short() && c.rounds > 1 {
			continue
		}
		got, err := c.pair.epsilon(c.rounds, math.Pow(10, c.power))
		if err != nil {
			t.Fatal(err)
		}
		if got < c.lo*(1-1e-9) || got > c.hi*(1+1e-6) {
			t.Errorf("%+v, %d rounds, delta 10^%v: epsilon %.10g is not in %v to %v", c.pair, c.rounds, c.power, got,
				c.lo, c.hi)
		}
	}
}
