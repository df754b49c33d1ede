package pvi

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"

	"choir/crypto/fixedpoint"
	"choir/learn/bayes"
	"choir/learn/gauss"
)

// noised gives a learner local noise from a seed.
func noised(t testing.TB, l *Learner, variance uint64, seed byte) *Learner {
	t.Helper()
	with, err := l.WithNoise(variance, chacha(seed))
	if err != nil {
		t.Fatal(err)
	}
	return with
}

// recordConfigs is a small configuration for every kind of release.
func recordConfigs() map[string]Config {
	logistic := methodConfigs()[NameOptimisation]
	full := methodConfigs()[NameHybrid]
	meanField := full
	meanField.Family = gauss.MeanField
	meanField = as(meanField, NameOptimisation, func(p *Params) { p.StatisticClip = 0 })
	fixedSize := logistic
	fixedSize = as(fixedSize, fixedSize.name(), func(p *Params) {
		p.Sampling = SamplingFixed
		p.SampleRate = 0.3
	})
	natural := meanField
	natural = as(natural, natural.name(), func(p *Params) {
		p.Optimiser = Natural
		p.LearningRate = 0.1
		p.SDUnit = 5
	})
	return map[string]Config{"logistic": logistic, "natural": natural, "fixed size": fixedSize,
		"linear full": full, "linear mean-field": meanField, "analytic": methodConfigs()[NameAnalytic]}
}

// Exchanging one record for any other moves a release by at most the mechanism's
// sensitivity when it is drawn, and not at all when it is not. An extreme record and its
// mirror image come close to the bound, so the bound is not loose.
func TestOneRecordMovesAReleaseBySensitivity(t *testing.T) {
	for name, c := range recordConfigs() {
		t.Run(name, func(t *testing.T) {
			m, err := c.Mechanism()
			if err != nil {
				t.Fatal(err)
			}
			data := dense(c, 1, 30)
			const victim = 7
			closest := 0.0
			moved := 0
			still := 0
			for trial := range byte(40) {
				other := oppose(c, data, victim, float64(trial))
				a, b := releases(t, c, data, trial), releases(t, c, other, trial)
				if len(a) != m.Steps || len(b) != m.Steps {
					t.Fatalf("%d and %d releases, the mechanism says %d", len(a), len(b), m.Steps)
				}
				// Only the first release has the same history in both worlds.
				diff := make([]int64, c.Dim())
				for i := range diff {
					diff[i] = a[0][i] - b[0][i]
				}
				if !fixedpoint.NormSquaredAtMost(diff, m.Sensitivity) {
					t.Fatalf("a release moved by more than %d", m.Sensitivity)
				}
				if n := norm(diff); n > 0 {
					moved++
					closest = max(closest, n/float64(m.Sensitivity))
				} else {
					still++
				}
			}
			if sampled := c.params().Sampling != SamplingNone; moved < 3 || (still > 3) != sampled {
				t.Errorf("%d trials moved, %d didn't", moved, still)
			}
			if closest < 0.9 {
				t.Errorf("came to %v of the sensitivity only", closest)
			}
			t.Logf("%d of 40 moved, by up to %.3f of the sensitivity", moved, closest)
		})
	}
}

// oppose gives record victim of data an extreme value, and returns the data with its mirror
// image.
func oppose(c Config, data bayes.Data, victim int, trial float64) bayes.Data {
	other := bayes.Data{X: slices.Clone(data.X), Y: slices.Clone(data.Y)}
	for j := range c.Features {
		at, size := victim*c.Features+j, math.Sin(trial+float64(j))
		data.X[at], other.X[at] = size, size
		if c.Model == bayes.Logistic {
			data.X[at], other.X[at] = 100*size, -100*size
		}
	}
	data.Y[victim], other.Y[victim] = 1, 1
	if c.Model == bayes.Linear {
		data.Y[victim], other.Y[victim] = 1e4, -1e4
	}
	return other
}

func norm(v []int64) float64 {
	var s float64
	for _, x := range v {
		s += float64(x) * float64(x)
	}
	return math.Sqrt(s)
}

// releases are the sums of one round before noise.
func releases(t testing.TB, c Config, data bayes.Data, seed byte) (sums [][]int64) {
	t.Helper()
	l := noised(t, learner(t, c, data, 1), 0, seed)
	q, _, err := c.repair(c.Initial())
	if err != nil {
		t.Fatal(err)
	}
	d, _, err := l.newDescent(t.Context(), q, make([]int64, c.Dim()))
	if err != nil {
		t.Fatal(err)
	}
	d.observe = func(sum []int64) { sums = append(sums, slices.Clone(sum)) }
	if _, err := d.run(c.Reals(q), true); err != nil {
		t.Fatal(err)
	}
	return sums
}

// Without noise, sampling and clipping, Optimisation is what the model's own
// optimiser does with all the data: the same Adam, to the grid's rounding of the
// gradients (half of 2^-30, which Adam's division hardly enlarges).
func TestFreeOptimisationIsPlainAdam(t *testing.T) {
	plain := logisticConfig()
	plain.Clip, plain.Beta = 0, 0
	plain.FracBits = 30
	plain = as(plain, NameDataset)
	free := plain
	free = as(free, NameOptimisation)
	data := dense(plain, 3, 50)
	a := propose(t, learner(t, plain, data, 1), 1, plain.Initial(), learner(t, plain, data, 1).InitialState())
	l := noised(t, learner(t, free, data, 1), 0, 1)
	b := propose(t, l, 1, free.Initial(), l.InitialState())
	for i := range a.Update {
		if d := math.Abs(float64(a.Update[i]-b.Update[i])) * 0x1p-30; d > 1e-6 {
			t.Errorf("coordinate %d: %v apart", i, d)
		}
	}
	if norm(a.Update) == 0 {
		t.Error("nothing moved")
	}
}

// Without noise, Hybrid and Optimisation reach the exact posterior of linear
// regression in the full family, and Analytic has it after one undamped round.
func TestFreeLinearRecordsAreExact(t *testing.T) {
	for s, rounds := range map[StrategyName]int{NameAnalytic: 1, NameHybrid: 1, NameOptimisation: 40} {
		c := linearConfig(gauss.Full)
		c.FracBits, c.DampingBits = 34, 10
		c.Features = 3
		c = as(c, s)
		tolerance := 1e-8 // 2^-34 a record and coordinate
		if s == NameHybrid {
			c = as(c, c.name(), func(p *Params) {
				p.Steps = 1
				p.LearningRate = 0.01
			})
		}
		if s == NameOptimisation {
			c.NoiseSD = 1
			c = as(c, c.name(), func(p *Params) {
				p.Steps = 100
				p.LearningRate = 0.02
				p.Optimiser = SGD
			})
			tolerance = 1e-4
		}
		data := dense(c, 5, 40)
		l := noised(t, learner(t, c, data, 1), 0, 1)
		h := run(t, c, []*Learner{l}, nil, rounds)
		got, want := c.Reals(h.Final()), exactPosterior(c, data)
		for i := range want {
			if math.Abs(got[i]-want[i]) > tolerance*(1+math.Abs(want[i])) {
				t.Errorf("%s, coordinate %d: %v, want %v", s, i, got[i], want[i])
			}
		}
	}
}

// Every release of every party gets noise of the variance that was given, and the
// update is what follows from the noised sums. A party without records sends noise
// alone: 400 coordinates, whose mean square has a standard error of 7 %; five of
// them are a false alarm in 10^6.
func TestLocalNoiseHasItsVariance(t *testing.T) {
	const variance = 1 << 30
	for name, c := range recordConfigs() {
		t.Run(name, func(t *testing.T) {
			var sum, count float64
			empty := noised(t, learner(t, c, bayes.Data{}, 1), variance, 9)
			d, _, err := empty.newDescent(t.Context(), c.Initial(), make([]int64, c.Dim()))
			if err != nil {
				t.Fatal(err)
			}
			out := make([]float64, c.Dim())
			none := func([]int, func(int, []float64) error) error { return nil }
			for count < 400 {
				if err := d.release(out, 1, none); err != nil {
					t.Fatal(err)
				}
				for _, z := range d.sum {
					sum, count = sum+float64(z)*float64(z), count+1
				}
			}
			if r := sum / count / variance; math.Abs(r-1) > 5*math.Sqrt(2/count) {
				t.Errorf("the noise has %v of its variance", r)
			}
		})
	}
	for _, s := range []StrategyName{NameDataset, NameVirtual, NameAveraging, NamePerturbation} {
		c := methodConfigs()[s]
		c = as(c, c.name(), func(p *Params) { p.Local = true })
		silent, loud := noised(t, learner(t, c, bayes.Data{}, 1), 0, 1),
			noised(t, learner(t, c, bayes.Data{}, 1), variance, 1)
		still := propose(t, silent, 1, c.Initial(), silent.InitialState())
		var sum, count float64
		for count < 400 {
			p := propose(t, loud, 1, c.Initial(), loud.InitialState())
			for i, x := range p.Update {
				z := float64(x - still.Update[i])
				sum, count = sum+z*z, count+1
			}
		}
		if r := sum / count / variance; math.Abs(r-1) > 5*math.Sqrt(2/count) {
			t.Errorf("%s: the noise has %v of its variance", s, r)
		}
	}
}

// TestNoisySums: a round's noisy sums have the mean of what is added to them, once for every step, on a
// sample for each, and the noise of as many releases: 400 coordinates, whose mean square has a standard error
// of 7 %, and a mean of 5 %; five of them are a false alarm in 10^6.
func TestNoisySums(t *testing.T) {
	const variance, steps, rate = 1 << 30, 5, 0.5
	c := as(methodConfigs()[NameOptimisation], NameOptimisation, func(p *Params) {
		p.Steps, p.Sampling, p.SampleRate = steps, SamplingPoisson, rate
	})
	data := dense(c, 1, 20)
	l, added, drawn := noised(t, learner(t, c, data, 1), variance, 9), int64(1<<16), 0
	var sum, square, count float64
	calls := 0
	for count < 400 {
		got, err := l.NoisySums(func(rows []int, sum []int64) error {
			calls, drawn = calls+1, drawn+len(rows)
			for i := range sum {
				sum[i] = added
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range got {
			z := float64(x - steps*added)
			sum, square, count = sum+z, square+z*z, count+1
		}
	}
	if r := square / count / variance / steps; math.Abs(r-1) > 5*math.Sqrt(2/count) {
		t.Errorf("the noise has %v of its variance", r)
	}
	if m := sum / count / math.Sqrt(variance*steps); math.Abs(m) > 5/math.Sqrt(count) {
		t.Errorf("the noise has the mean %v, in standard deviations", m)
	}
	n := float64(20 * calls)
	if calls != steps*int(count)/c.Dim() || math.Abs(float64(drawn)-n*rate) > 5*math.Sqrt(n*rate*(1-rate)) {
		t.Errorf("%d calls with %d records", calls, drawn)
	}
	if picked := data.Pick([]int{3, 17}); picked.Rows() != 2 || picked.Y[1] != data.Y[17] ||
		!slices.Equal(picked.X[:c.Features], data.X[3*c.Features:4*c.Features]) {
		t.Errorf("records 3 and 17 are %v", picked.Rows())
	}
	if _, err := learner(t, c, data, 1).NoisySums(nil); !errors.Is(err, ErrNoise) {
		t.Errorf("without noise: %v", err)
	}
}

// TestNoisySumsAreCut checks that the noisy sums of a round are cut to UpdateClip in length: a node's sum
// of them must not wrap around. A shorter one stays as it is, noise of a thousandth of the clip apart.
func TestNoisySumsAreCut(t *testing.T) {
	c := methodConfigs()[NameOptimisation]
	c.UpdateClip = 2
	const clip = 2 << 20
	l := noised(t, learner(t, c, dense(c, 1, 20), 1), 1<<20, 9)
	for _, each := range []int64{1 << 21, -1 << 21, 1 << 18} {
		got, err := l.NoisySums(func(_ []int, sum []int64) error {
			sum[0] = each
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		var square float64
		for _, x := range got {
			square += float64(x) * float64(x)
		}
		want := min(clip, math.Abs(float64(each))*float64(c.params().Steps))
		if length := math.Sqrt(square); length > clip || math.Abs(length-want) > 0.02*clip {
			t.Errorf("steps of %d lead to a vector of length %v, want %v", each, length, want)
		}
	}
}

// A party with local noise sends no update without noise, and joint noise needs none of it.
func TestLocalNoiseIsRequired(t *testing.T) {
	c := methodConfigs()[NameOptimisation]
	l := learner(t, c, dense(c, 1, 20), 1)
	if _, err := l.Propose(context.Background(), 1, c.Initial(), l.InitialState()); !errors.Is(err,
		ErrNoise) {
		t.Errorf("without noise: %v", err)
	}
	if _, err := l.WithNoise(1, nil); !errors.Is(err, ErrNoise) {
		t.Errorf("without randomness: %v", err)
	}
	if _, err := l.WithNoise(1<<63, chacha(1)); err == nil {
		t.Error("an absurd variance")
	}
	joint := learner(t, logisticConfig(), dense(logisticConfig(), 1, 20), 1)
	if _, err := joint.WithNoise(1, chacha(1)); !errors.Is(err, ErrNoise) {
		t.Errorf("joint noise: %v", err)
	}
}

// A released factor is the damped sum of what was sent, noise and all, and it is
// what the next cavity divides out: a function of public numbers.
func TestReleasedFactors(t *testing.T) {
	for _, s := range []StrategyName{NameOptimisation, NamePerturbation, NameAveraging, NameVirtual} {
		c := methodConfigs()[s]
		c.Factors = FactorsNoisy
		c = as(c, c.name(), func(p *Params) { p.Local = true })
		l := noised(t, learner(t, c, dense(c, 2, 30), 1), 1<<36, 3)
		state, want := l.InitialState(), make([]int64, c.Dim())
		for round := 1; round <= 3; round++ {
			p := propose(t, l, round, c.Initial(), state)
			state = settle(t, l, round, state, p)
			if i := addScaled(want, want, c.DampingUnits(round), p.Update); i >= 0 {
				t.Fatal("overflow")
			}
		}
		rows, err := l.factors(state)
		if err != nil || len(rows) != 1 || !slices.Equal(rows[0], want) {
			t.Errorf("%s: %v, want %v (%v)", s, rows, want, err)
		}
	}
}

// An update is within perParty for noise of every size.
func TestReleasedUpdatesAreBounded(t *testing.T) {
	for _, s := range []StrategyName{NamePerturbation, NameOptimisation} {
		c := methodConfigs()[s]
		c.UpdateClip = 0.125
		m, err := c.Mechanism()
		if err != nil {
			t.Fatal(err)
		}
		l := noised(t, learner(t, c, dense(c, 2, 30), 1), 1<<60, 3)
		p := propose(t, l, 1, c.Initial(), l.InitialState())
		if m.PerParty != 1<<17 || !fixedpoint.NormSquaredAtMost(p.Update, m.PerParty) ||
			norm(p.Update) < 0.9*float64(m.PerParty) {
			t.Errorf("%s: norm %v, bound %d", s, norm(p.Update), m.PerParty)
		}
	}
}

// Records of extreme size count as zero: an error would reveal them.
func TestExtremeRecordsCountAsZero(t *testing.T) {
	c := methodConfigs()[NameOptimisation]
	c = as(c, c.name(), func(p *Params) {
		p.Sampling = SamplingNone
		p.SampleRate = 0
	})
	data := dense(c, 2, 30)
	without := bayes.Data{X: slices.Clone(data.X[c.Features:]), Y: slices.Clone(data.Y[1:])}
	data.X[0] = math.MaxFloat64
	a, b := releases(t, c, data, 1), releases(t, c, without, 1)
	if !slices.Equal(a[0], b[0]) {
		t.Errorf("%v, want %v", a[0], b[0])
	}
}

// A rate that is far too large diverges to a large update, bounded and without a NaN: the
// round continues.
func TestDivergenceIsBounded(t *testing.T) {
	for _, c := range []Config{methodConfigs()[NameOptimisation], methodConfigs()[NameHybrid]} {
		c = as(c, c.name(), func(p *Params) {
			p.Optimiser = SGD
			p.LearningRate = 1000
			p.Steps = 200
		})
		l := noised(t, learner(t, c, dense(c, 2, 30), 1), 1<<40, 3)
		p := propose(t, l, 1, c.Initial(), l.InitialState())
		if !fixedpoint.NormSquaredAtMost(p.Update, defaultUpdateClip<<20) {
			t.Errorf("%s: norm %v", c.name(), norm(p.Update))
		}
	}
}

// With records enough the bound on what a party sends leaves nothing of its noise: a sum can have another
// party's noise alone (docs/methods.md, section 5).
func TestManyRecordsLoseTheirNoise(t *testing.T) {
	for _, s := range []StrategyName{NameAnalytic, NameOptimisation} {
		c := methodConfigs()[s]
		c.UpdateClip = 1
		c = as(c, s, func(p *Params) {
			if s == NameOptimisation {
				p.Optimiser, p.LearningRate, p.Steps = Natural, 1, 1
			}
		})
		spread := func(records int) (widest int64) {
			var first []int64
			for seed := range byte(8) {
				l := noised(t, learner(t, c, dense(c, 2, records), 1), 1<<12, seed)
				p := propose(t, l, 1, c.Initial(), l.InitialState())
				if seed == 0 {
					first = p.Update
				}
				for i, x := range p.Update {
					widest = max(widest, x-first[i], first[i]-x)
				}
			}
			return widest
		}
		few, many := spread(1), spread(20_000)
		if few < 32 || many > few/8 {
			t.Errorf("%s: updates differ by %d with one record, by %d with many", s, few, many)
		}
	}
}
