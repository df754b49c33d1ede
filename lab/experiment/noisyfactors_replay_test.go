//go:build !race

package experiment

import (
	"math"
	"testing"

	"choir/privacy"
)

// TestNoisyFactorsReplay simulates and measures two of the kept run's cases again, in
// full: the published scheme where clipping cuts nobody, and ours. (Without the race
// detector, which would make them take a minute; smaller runs of the same code are
// measured under it.) Libraries of other machines may round differently in the last
// digit, so that a run falls on the other side of a threshold: 0.1% is allowed for.
func TestNoisyFactorsReplay(t *testing.T) {
	r := kept(t)
	e := &NoisyFactors{Seeds: r.Seeds, Runs: r.Runs, Distinguish: distinguish}
	mu, err := privacy.GaussianMu(r.Claimed, r.Delta)
	if err != nil {
		t.Fatal(err)
	}
	replayed := 0
	for i, s := range noisyCases(r.Sigma) {
		if s.damping != 0.1 || s.noisy != (s.factors == 2000) {
			continue
		}
		c, err := e.measure(t.Context(), s, mu)
		if err != nil {
			t.Fatal(err)
		}
		if k := r.Cases[i]; c.Scheme != k.Scheme || c.Factors != k.Factors ||
			math.Abs(c.Measured[0]/k.Measured[0]-1) > 1e-3 {
			t.Errorf("measured %+v, kept %+v", c, k)
		}
		replayed++
	}
	for i, s := range noisyRegimes(r.Sigma) {
		if g, err := regime(s); err != nil || g.Cut != r.Regimes[i].Cut ||
			math.Abs(g.Largest-r.Regimes[i].Largest) > 1e-9 {
			t.Errorf("%+v, kept %+v, %v", g, r.Regimes[i], err)
		}
	}
	if replayed != 2 {
		t.Errorf("%d cases replayed", replayed)
	}
}
