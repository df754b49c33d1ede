//go:build nightly

package paper2

import (
	"math"
	"testing"

	"choir/lab/bed"
	"choir/lab/internal/twister"
	"choir/lab/study"
	"choir/learn/mcmc"
)

// TestAdultChains: with the stages, the clip and the single state of chains that were computed independently,
// chains cover as few weights at epsilon 1. The shares of 252 intervals, of 36 draws of labels and noise,
// have a standard error of .04 on both sides with Langevin dynamics and of .012 with the penalty test: four
// of the difference are allowed.
func TestAdultChains(t *testing.T) {
	d, _, _, err := seven("")
	if err != nil {
		t.Fatal(err)
	}
	mode, cov, err := laplace(d)
	if err != nil {
		t.Fatal(err)
	}
	staged := func(c *mcmc.Config) {
		c.Clip, c.Chains, c.Keep = 1.6, 1, 256
		c.ScaleRounds, c.LocateRounds = 26, 146 // 5 % of the budget, and 30 % of the rest
	}
	for _, c := range []struct {
		method mcmc.Method
		want   [3]float64
		off    float64
	}{
		{mcmc.Langevin, [3]float64{0.28, 0.51, 0.55}, 0.22},
		{mcmc.Penalty, [3]float64{0.03, 0.06, 0.06}, 0.07},
	} {
		rng, to := twister.New(777), &covered{}
		for draw := range uint64(36) {
			a := adultWorld{data: d, mode: mode, cov: cov, rng: rng, to: to, own: &covered{}}
			m := adultMethod{c.method, 1, 1, 512, staged}
			if _, err := a.draw(t.Context(), study.Options{Transport: bed.Clear}, m, 9000+draw); err != nil {
				t.Fatal(err)
			}
		}
		for k, i := range intervals {
			share := to.held[k] / to.n
			t.Logf("%s: %.0f %% intervals hold %.3f", c.method, 100*i.level, share)
			if math.Abs(share-c.want[k]) > c.off {
				t.Errorf("%s: %.0f %% intervals hold %.3f, want %.2f +- %.2f", c.method, 100*i.level, share, c.want[k],
					c.off)
			}
		}
		t.Logf("%s: width %.2f, error %.2f", c.method, math.Sqrt(to.width/to.n), math.Sqrt(to.miss/to.n))
	}
}
