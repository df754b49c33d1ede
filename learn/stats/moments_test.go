package stats

import (
	"math"
	mathrand "math/rand/v2"
	"slices"
	"testing"
)

// TestMomentError: the measured mean square of the column that is bounded most widely varies with the noise
// as MomentError says. The standard error of a standard deviation of 1,000 draws is 2.3 %.
func TestMomentError(t *testing.T) {
	const draws = 1000
	cfg := small()
	cfg.MomentRounds, cfg.FracBits, cfg.Records = 2, 8, 5000
	cfg.Bounds, cfg.TargetBound = []float64{4, 1}, 2
	sd := 2e-4 * float64(cfg.sensitivity()) * float64(cfg.Records)
	rng := mathrand.New(seeded(6))
	sum, square := 0.0, 0.0
	for range draws {
		raw := cfg.Initial()
		for round := 1; round <= cfg.MomentRounds; round++ {
			moments := make([]int64, cfg.Dim())
			moments[1] = cfg.Records * cfg.momentScale() << (2 * momentBits) / 16 // of length 1
			moments[1] += int64(sd * rng.NormFloat64())
			var err error
			if raw, err = cfg.Fold(round, raw, moments); err != nil {
				t.Fatal(err)
			}
		}
		s, err := cfg.open(raw)
		if err != nil {
			t.Fatal(err)
		}
		unit := cfg.scales(s, 0)[0].unit
		sum += unit * unit / draws
		square += math.Pow(unit, 4) / draws
	}
	got, want := math.Sqrt(square-sum*sum), cfg.MomentError(sd*sd)
	if !(math.Abs(got/want-1) < 0.1) || !(want > 0.001) {
		t.Errorf("the mean square has the standard error %v, want %v", got, want)
	}
}

// TestPriorOfShortColumns: a column that moment rounds show to be a fiftieth of its bound, far from its
// middle, has a prior of its weight that is as much wider, up to one standard deviation of the noise, and the
// intercept's counts its mean. Under noise that hides it it is the one expected, and longer columns change
// nothing.
func TestPriorOfShortColumns(t *testing.T) {
	cfg := small()
	cfg.MomentRounds, cfg.Records, cfg.Bounds, cfg.TargetBound = 1, 5000, []float64{1, 1}, 1
	const mean, sd, long = -0.9, 0.02, 0.9
	raw, one := cfg.Initial(), float64(cfg.Records*cfg.momentScale()<<(2*momentBits))
	sum := make([]int64, cfg.Dim())
	sum[0], sum[1] = int64(one*mean/2), int64(one*(mean*mean+sd*sd))
	sum[3] = int64(one * long * long)
	raw, err := cfg.Fold(1, raw, sum)
	if err != nil {
		t.Fatal(err)
	}
	before := cfg.Prior().Variance
	for _, share := range []float64{1e-6, 1e-4, 1} { // noise on a mean square
		got, err := cfg.PriorOf(raw, share*share*one*one)
		if err != nil {
			t.Fatal(err)
		}
		length := min(1/math.Sqrt(3), math.Sqrt(sd*sd+share*math.Sqrt(1+16*mean*mean)))
		want := before[0] / 3 / (length * length)
		if g := got.Variance; math.Abs(g[0]/want-1) > 0.02 || math.Abs(g[1]/before[1]-1) > 1e-9 ||
			math.Abs(g[2]/(before[2]+mean*mean*want)-1) > 0.02 {
			t.Errorf("noise %g: variances %v, want %v, %v and %v", share, g, want, before[1],
				before[2]+mean*mean*want)
		}
	}
}

// TestLongerWeights: the weight of a column that noise shows to be short and hides how short may be as long
// as for the narrowest one, and the intercept as much longer as its mean makes it; others and sessions
// without moments keep their priors.
func TestLongerWeights(t *testing.T) {
	cfg := small()
	cfg.MomentRounds, cfg.Records, cfg.Bounds, cfg.TargetBound = 1, 5000, []float64{1, 1}, 1
	const mean, share = 0.5, 0.01 // of the first column, and of the noise on a mean square
	one := float64(cfg.Records * cfg.momentScale() << (2 * momentBits))
	sum := make([]int64, cfg.Dim())
	sum[0], sum[1], sum[3] = int64(one*mean/2), int64(one*mean*mean), int64(one*0.3)
	raw, err := cfg.Fold(1, cfg.Initial(), sum)
	if err != nil {
		t.Fatal(err)
	}
	noise := share * share * one * one
	got, err := cfg.Longer(raw, noise)
	if err != nil {
		t.Fatal(err)
	}
	prior, err := cfg.PriorOf(raw, noise)
	if err != nil {
		t.Fatal(err)
	}
	want := math.Sqrt(share*math.Sqrt(1+16*mean*mean)) / narrowest
	slope := prior.Variance[0]
	intercept := math.Sqrt((prior.Variance[2] - mean*mean*slope + mean*mean*slope*want*want) / prior.Variance[2])
	if math.Abs(got[0]/want-1) > 0.01 || got[1] != 1 || math.Abs(got[2]/intercept-1) > 0.01 {
		t.Errorf("weights may be %v times as long, want %v, 1 and %v", got, want, intercept)
	}
	if before, err := cfg.Longer(cfg.Initial(), noise); err != nil || slices.Max(before) != 1 {
		t.Errorf("before a round they may be %v times as long (%v)", before, err)
	}
	if exact, err := cfg.Longer(raw, 0); err != nil || slices.Max(exact) != 1 {
		t.Errorf("without noise they may be %v times as long (%v)", exact, err)
	}
}
