package mcmc

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"choir/learn/bayes"
)

// one is records of a single column of value 1, and ones of their targets 1, under a prior of
// precision 1: the posterior of the weight w is proportional to exp(ones w) / (1+e^w)^n times
// exp(-w^2/2).
func one(n, ones int) bayes.Data {
	d := bayes.Data{X: make([]float64, n), Y: make([]float64, n)}
	for i := range n {
		d.X[i] = 1
		if i < ones {
			d.Y[i] = 1
		}
	}
	return d
}

// distribution is that posterior's distribution function on a grid of step 1/1000 from -4.
func distribution(n, ones int) []float64 {
	var cdf []float64
	total := 0.0
	for i := range 8001 {
		w := -4 + float64(i)/1000
		total += math.Exp(float64(ones)*w - float64(n)*math.Log1p(math.Exp(w)) - w*w/2 + 40)
		cdf = append(cdf, total)
	}
	scale(cdf, 1/total)
	return cdf
}

func smallConfig(method Method) Config {
	return Config{Method: method, Features: 1, PriorPrecision: 1, Radius: 1, Clip: 1, Chains: 1, Keep: 2,
		Rounds: 8, Temper: 1, SampleRate: 1, Records: 20, MaxRecords: 100}
}

// law runs 800 chains from draws of the posterior for cfg.Rounds rounds, with noise of
// variance lie times what the sampler is told, and returns the Kolmogorov distance of their
// last states to the posterior. noise is the standard deviation on a sum of one record's
// bound.
func law(t *testing.T, cfg Config, noise, lie float64) float64 {
	t.Helper()
	const chains, n, ones = 800, 20, 7
	cdf := distribution(n, ones)
	rng := rand.New(rand.NewPCG(7, 8))
	sd := math.Ldexp(noise, FracBits)
	var last []float64
	for chain := range chains {
		public := Public{Seed: [32]byte{byte(chain), byte(chain >> 8)}, Variance: sd * sd}
		l, err := NewLearner(cfg, public, one(n, ones))
		if err != nil {
			t.Fatal(err)
		}
		at, _ := slices.BinarySearch(cdf, rng.Float64())
		raw := l.sampler.Initial()
		s, _ := cfg.open(raw)
		if err := put(s.theta[0], []float64{-4 + float64(at)/1000}); err != nil {
			t.Fatal(err)
		}
		for round := 1; round <= cfg.Rounds; round++ {
			p, err := l.Propose(t.Context(), raw, rng01{rng})
			if err != nil {
				t.Fatal(err)
			}
			for i := range p.Update {
				p.Update[i] += int64(math.Round(sd * math.Sqrt(lie) * rng.NormFloat64()))
			}
			if raw, err = l.sampler.Fold(round, raw, p.Update); err != nil {
				t.Fatal(err)
			}
		}
		s, _ = cfg.open(raw)
		last = append(last, reals(s.theta[0])[0])
	}
	slices.Sort(last)
	worst := 0.0
	for i, w := range last {
		f := cdf[min(max(int(math.Round((w+4)*1000)), 0), len(cdf)-1)]
		worst = max(worst, math.Abs(f-float64(i)/chains), math.Abs(f-float64(i+1)/chains))
	}
	return worst
}

// rng01 reads a seeded generator.
type rng01 struct{ r *rand.Rand }

func (r rng01) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(r.r.Uint32())
	}
	return len(p), nil
}

// TestStationaryLaws: chains that start in the posterior are still in it after their rounds,
// by a Kolmogorov test with a false-alarm rate of 1e-9 a case (Massart's inequality: 2 exp(-2
// n D^2)); the seeds are fixed. Barker's own error adds at most 1e-3. A chain whose noise
// is not what its test is told is out of the posterior.
func TestStationaryLaws(t *testing.T) {
	critical := math.Sqrt(math.Log(2e9)/(2*800)) + 0.001
	penalty, barker, hmc := smallConfig(Penalty), smallConfig(Barker), smallConfig(HMC)
	penalty.Step, barker.Step = 2.4, 2.4
	hmc.Step, hmc.Leapfrogs, hmc.Rounds = 0.7, 2, 8
	sampled := smallConfig(Barker)
	sampled.Step, sampled.SampleRate = 1.2, 0.75
	// 20 records' squared ratios, about (0.4 times a step of 0.5)^2, times (1-q)/q.
	sampled.SamplingVariance = 20 * 0.2 * 0.2 / 3
	for _, c := range []struct {
		name       string
		cfg        Config
		noise, lie float64
		out        bool
	}{
		{"penalty", penalty, 3, 1, false},
		{"barker", barker, 1.2, 1, false},
		{"barker, sampled", sampled, 1.5, 1, false},
		{"hmc", hmc, 2, 1, false},
		{"penalty, more noise than it is told", penalty, 4, 30, true},
		{"barker, more noise than it is told", barker, 1.2, 60, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			if d := law(t, c.cfg, c.noise, c.lie); (d > critical) != c.out {
				t.Errorf("distance to the posterior %.4f, critical %.4f", d, critical)
			}
		})
	}
}
