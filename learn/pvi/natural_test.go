package pvi

import (
	"math"
	"slices"
	"testing"

	"choir/crypto/fixedpoint"
	"choir/learn/bayes"
	"choir/learn/gauss"
)

// Without noise, sampling and clipping the steps end at the best mean-field Gaussian of
// linear regression: the exact posterior's mean, and the diagonal of its precision.
func TestFreeNaturalStepsAreExact(t *testing.T) {
	c := linearConfig(gauss.MeanField)
	c.FracBits, c.DampingBits = 34, 10
	c.Features, c.NoiseSD = 3, 1
	c = as(c, NameOptimisation, func(p *Params) {
		p.Optimiser = Natural
		p.Steps = 100
		p.LearningRate = 0.1
		p.SDUnit = 3
	})
	data := dense(c, 5, 40)
	full := linearConfig(gauss.Full)
	full.Features, full.NoiseSD = c.Features, c.NoiseSD
	exact, err := full.PosteriorAt(exactPosterior(full, data))
	if err != nil {
		t.Fatal(err)
	}
	precision := full.space().Precision(exact.Natural())
	l := noised(t, learner(t, c, data, 1), 0, 1)
	got, err := c.Posterior(run(t, c, []*Learner{l}, nil, 30).Final())
	if err != nil {
		t.Fatal(err)
	}
	// 2^-34 a record and coordinate, times a mean of about 1.
	for i, want := range exact.Mean() {
		if m := got.Mean()[i]; math.Abs(m-want) > 1e-8*(1+math.Abs(want)) {
			t.Errorf("mean %d is %v, want %v", i, m, want)
		}
		if p := -2 * got.Natural()[c.Features+i]; math.Abs(p-precision.At(i, i)) > 1e-8*precision.At(i, i) {
			t.Errorf("precision %d is %v, want %v", i, p, precision.At(i, i))
		}
	}
}

// A column in another unit, with the corresponding posterior, is the same column: clip and
// noise do not depend on units. The vectors of 30 records are rounded to the grid, and the
// sums of two runs may differ by a unit a record where logarithms round.
func TestNaturalStepsHaveNoUnits(t *testing.T) {
	c := methodConfigs()[NameOptimisation]
	c = as(c, c.name(), func(p *Params) {
		p.Optimiser = Natural
		p.LearningRate = 0.1
		p.SDUnit = 5
		p.Sampling = SamplingNone
		p.SampleRate = 0
		p.Steps = 1
	})
	data := dense(c, 1, 30)
	scaled := bayes.Data{X: slices.Clone(data.X), Y: data.Y}
	for r := range data.Y {
		scaled.X[r*c.Features+1] *= 8
	}
	q := c.Initial()
	for i := range c.Features { // means of 1/2 and 1/4 at a precision of 4
		q[i], q[c.Features+i] = int64(1+i%2)<<c.rawBits(), -2<<c.rawBits()
	}
	other := slices.Clone(q)
	other[1] *= 8
	other[c.Features+1] *= 64
	a, b := naturalRelease(t, c, data, q), naturalRelease(t, c, scaled, other)
	if norm(a) < 1<<10 {
		t.Fatalf("hardly anything to compare: %v", a)
	}
	for i := range a {
		if d := a[i] - b[i]; d < -30 || d > 30 {
			t.Errorf("coordinate %d: %d and %d", i, a[i], b[i])
		}
	}
}

// naturalRelease is the first sum before noise of a round from q.
func naturalRelease(t *testing.T, c Config, data bayes.Data, q []int64) (sum []int64) {
	t.Helper()
	d, _, err := noised(t, learner(t, c, data, 1), 0, 1).newDescent(t.Context(), q, make([]int64, c.Dim()))
	if err != nil {
		t.Fatal(err)
	}
	d.observe = func(s []int64) { sum = slices.Clone(s) }
	if _, err := d.run(c.Reals(q), true); err != nil {
		t.Fatal(err)
	}
	return sum
}

// A record's vector is the gradient in units of the posterior's standard deviations, here
// 1/2, and SDUnit times the curvature's part. With one record of one feature and a clip out
// of reach both are in the sum: for linear regression with noise s, x (y - x m)/s^2 and
// x^2/s^2.
func TestNaturalVector(t *testing.T) {
	c := linearConfig(gauss.MeanField)
	c.Features, c.NoiseSD = 1, 0.5
	c.Clip = 1 << 10
	c = as(c, NameOptimisation, func(p *Params) {
		p.Optimiser = Natural
		p.Steps = 1
		p.LearningRate = 1
		p.SDUnit = 3
	})
	const x, y, m = 2.0, 3.0, 0.25
	q := []int64{1 << c.rawBits(), -2 << c.rawBits()} // mean 1/4, precision 4
	sum := naturalRelease(t, c, bayes.Data{X: []float64{x}, Y: []float64{y}}, q)
	for i, want := range []float64{0.5 * x * (y - x*m) / 0.25, -3 * 0.25 * x * x / 0.25} {
		if got := math.Ldexp(float64(sum[i]), -int(c.FracBits)); math.Abs(got-want) > math.Ldexp(1,
			-int(c.FracBits)) {
			t.Errorf("coordinate %d: %v, want %v", i, got, want)
		}
	}
}

// After many whole steps with noise far above the signal, the update is within its bound
// and the posterior is proper.
func TestNaturalStepsSurviveNoise(t *testing.T) {
	c := methodConfigs()[NameOptimisation]
	c = as(c, c.name(), func(p *Params) {
		p.Optimiser = Natural
		p.LearningRate = 1
		p.Steps = 200
	})
	l := noised(t, learner(t, c, dense(c, 2, 30), 1), 1<<60, 3)
	p := propose(t, l, 1, c.Initial(), l.InitialState())
	if !fixedpoint.NormSquaredAtMost(p.Update, defaultUpdateClip<<c.FracBits) {
		t.Errorf("norm %v", norm(p.Update))
	}
	raw := c.Initial()
	if i := addScaled(raw, raw, c.DampingUnits(1), p.Update); i >= 0 {
		t.Fatal("overflow")
	}
	if _, err := c.Posterior(raw); err != nil {
		t.Error(err)
	}
}
