package threat

import (
	"fmt"
	"math"
	"testing"

	"choir/privacy"
)

// falseAlarm is the rate for every bound below. All seeds are fixed, so the tests
// pass always or never; with other seeds a sound mechanism would be called broken
// in one of 10,000 measurements at most.
const falseAlarm = 1e-4

// audit is a pair of rounds on neighbouring inputs: the victim's term is -clip or
// clip, as far apart as the sensitivity lets it be.
type audit struct {
	minus, plus ran
	claim       float64 // of privacy.Epsilon against the strongest allowed coalition
	delta       float64
}

// target is a size of experiment; see cases.
type target struct {
	epsilon       float64
	parties, runs int
	share         float64 // of the claim, the least that must be found
}

// The roster: party 0 is the victim, the last one is curious, the one before
// colludes with it (T = 1), and so do the aggregator and all compute nodes but one.
// Nobody is missing, so the set is the smallest that may be revealed, and what is
// hidden is the noise of all parties but those two.
func (x target) measure(t *testing.T, delta float64, clip int) audit {
	t.Helper()
	mu, err := privacy.GaussianMu(x.epsilon, delta)
	if err != nil {
		t.Fatal(err)
	}
	r := round{parties: x.parties, computes: 3, colluders: 1, runs: x.runs, sigma: 2 * float64(clip) / mu,
		seed: uint64(100 * x.epsilon)}
	other := r
	other.seed++
	a := audit{minus: r.run(t, -clip), plus: other.run(t, clip), delta: delta}
	claim, err := privacy.Epsilon([]privacy.Release{{Sensitivity: uint64(2 * clip),
		PartVariance: a.plus.plan.Variance,
		Parts:        uint32(a.plus.plan.HiddenParts()), Dim: 1}}, delta)
	if err != nil {
		t.Fatal(err)
	}
	a.claim = claim.Epsilon
	return a
}

// bound is what the coalition finds out. What it sees must have the mean of the
// victim's term and the variance of the noise that stays hidden: that it knows the
// coalition's noise is then certain. (Seven deviations: one false alarm in 10^11.)
func (a audit) bound(t *testing.T, clip int, coalition ...int) Finding {
	t.Helper()
	minus, plus := a.minus.seen(t, coalition...), a.plus.seen(t, coalition...)
	hidden := float64(a.plus.plan.Variance) * float64(a.plus.parties-len(coalition))
	for _, side := range []struct {
		x    []float64
		mean float64
	}{{minus, float64(-clip)}, {plus, float64(clip)}} {
		mean, variance := moments(side.x)
		n := float64(len(side.x))
		if math.Abs(mean-side.mean) > 7*math.Sqrt(hidden/n) || math.Abs(variance/hidden-1) > 7*math.Sqrt(2/n) {
			t.Fatalf("coalition %v sees mean %v and variance %v, want %v and %v", coalition, mean, variance,
				side.mean, hidden)
		}
	}
	f, err := Test{Delta: a.delta, FalseAlarm: falseAlarm}.Epsilon(minus, plus)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func moments(x []float64) (mean, variance float64) {
	for _, v := range x {
		mean += v / float64(len(x))
	}
	for _, v := range x {
		variance += square(v-mean) / float64(len(x)-1)
	}
	return mean, variance
}

// TestClaimHolds measures the epsilon of real rounds at the strongest coalition that
// the plan allows. The bound must be below the claim (else the claim is false) and
// above the stated fraction of it (else the noise may be more than needed).
func TestClaimHolds(t *testing.T) {
	const delta, clip = 1e-5, 1000
	for _, x := range cases() {
		t.Run(fmt.Sprintf("epsilon=%g", x.epsilon), func(t *testing.T) {
			a := x.measure(t, delta, clip)
			if math.Abs(a.claim/x.epsilon-1) > 1e-3 {
				t.Errorf("epsilon %v is claimed, the noise was made for %v", a.claim, x.epsilon)
			}
			f := a.bound(t, clip, x.parties-1, x.parties-2)
			t.Logf("claimed %.4f, measured at least %.4f: %+v", a.claim, f.Epsilon, f)
			if f.Epsilon > a.claim {
				t.Errorf("the claim of %v is broken: %+v", a.claim, f)
			}
			if f.Epsilon < x.share*a.claim {
				t.Errorf("the claim of %v may be idle: %+v", a.claim, f)
			}
			if x.parties == 6 {
				a.breaks(t, clip)
			}
		})
	}
}

// breaks: against a coalition three parties larger than T one noise of four is
// left, half of the deviation. The claim is false for it, and the test must find
// that.
func (a audit) breaks(t *testing.T, clip int) {
	t.Helper()
	f := a.bound(t, clip, 1, 2, 3, 4, 5)
	t.Logf("with three parties more than T: at least %.4f: %+v", f.Epsilon, f)
	if f.Epsilon <= a.claim {
		t.Errorf("half of the noise is gone, and only this was found: %+v", f)
	}
}
