package stats

import (
	"errors"
	"fmt"
	"math"
	mathrand "math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"pgregory.net/rapid"

	"choir/crypto/fixedpoint"
	"choir/learn/bayes"
	"choir/learn/internal/absent"
)

// exact is the conjugate posterior by the book: precision P + X'X/v.
func exact(d bayes.Data, features int, prior, sd float64) (mean []float64, precision *mat.SymDense) {
	x := mat.NewDense(d.Rows(), features, d.X)
	var gram mat.Dense
	gram.Mul(x.T(), x)
	precision = mat.NewSymDense(features, nil)
	for i := range features {
		for j := i; j < features; j++ {
			v := gram.At(i, j) / (sd * sd)
			if i == j {
				v += prior
			}
			precision.SetSym(i, j, v)
		}
	}
	var h, m mat.VecDense
	h.MulVec(x.T(), mat.NewVecDense(d.Rows(), d.Y))
	h.ScaleVec(1/(sd*sd), &h)
	if err := m.SolveVec(precision, &h); err != nil {
		panic(err)
	}
	return m.RawVector().Data, precision
}

// TestExactPosterior: without noise and clipping, on data that the grid carries, the
// posterior is the conjugate one to 1e-9, however the records are spread and however
// often the statistics are released.
func TestExactPosterior(t *testing.T) {
	cfg := small()
	data := line(1, 200, 3)
	want, precision := exact(data, 3, 1, 0.5)
	for _, rounds := range []int{1, 3} {
		raw, err := run(t.Context(), cfg, learners(t, cfg, 0, data.Split(4)...), nil, rounds)
		if err != nil {
			t.Fatal(err)
		}
		p, err := cfg.Posterior(raw, 0)
		if err != nil {
			t.Fatal(err)
		}
		if !floats.EqualApprox(p.Mean, want, 1e-9) {
			t.Errorf("mean %v, want %v", p.Mean, want)
		}
		var id mat.Dense
		id.Mul(p.Covariance, precision)
		for i := range 3 {
			for j := range 3 {
				if one := map[bool]float64{true: 1}[i == j]; math.Abs(id.At(i, j)-one) > 1e-9 {
					t.Errorf("covariance times precision at (%d, %d) is %v", i, j, id.At(i, j))
				}
			}
		}
		if p.Rounds != int64(rounds) || p.NoiseSD != 0.5 {
			t.Errorf("%d rounds, noise %v", p.Rounds, p.NoiseSD)
		}
	}
}

// TestMomentRounds: without noise, the scales are the columns' means and standard
// deviations, and predictions are those of regression in units of these.
func TestMomentRounds(t *testing.T) {
	cfg := small()
	cfg.MomentRounds = 2
	cfg.PriorPrecision = flat
	cfg.Bounds = []float64{4, 2}
	cfg.TargetBound = 8
	cfg.Radius = 20
	cfg.FracBits = 16
	data := line(2, 200, 3)
	for i := range data.Y {
		data.Y[i] += 1.5
		data.X[3*i] -= 0.75
	}
	raw, err := run(t.Context(), cfg, learners(t, cfg, 0, data.Split(2)...), nil, 3)
	if err != nil {
		t.Fatal(err)
	}
	s, err := cfg.open(raw)
	if err != nil {
		t.Fatal(err)
	}
	scales := cfg.scales(s, 0)
	checkScales(t, cfg, data, scales)
	if (scales[2] != scale{0, 1}) {
		t.Errorf("the bias's scale is %v", scales[2])
	}
	p, err := cfg.Posterior(raw, 0)
	if err != nil {
		t.Fatal(err)
	}
	checkPredictions(t, p, data, scales)
}

// checkScales compares the private means and standard deviations with the data's.
func checkScales(t *testing.T, cfg Config, data bayes.Data, scales []scale) {
	t.Helper()
	column := func(j int) (v []float64) {
		for i := range data.Y {
			if j == 3 {
				v = append(v, data.Y[i])
			} else {
				v = append(v, data.X[3*i+j])
			}
		}
		return v
	}
	for _, j := range []int{0, 1, 3} {
		v := column(j)
		mean := floats.Sum(v) / 200
		sd := math.Sqrt(floats.Dot(v, v)/200 - mean*mean)
		// A value is rounded to bound / 2^8: its mean errs by at most bound / 2^9.
		if math.Abs(scales[j].center-mean) > cfg.bound(j)/(1<<9) || math.Abs(scales[j].unit-sd) > 0.01*sd {
			t.Errorf("column %d: scale %v, want %v and %v", j, scales[j], mean, sd)
		}
	}
}

// flat is the precision of a prior that says nothing on either side.
const flat = 1e-6

// checkPredictions compares predictions on the scaled and on the data's side.
func checkPredictions(t *testing.T, p *Posterior, data bayes.Data, scales []scale) {
	t.Helper()
	scaled := bayes.Data{}
	for i := range data.Y {
		for j := range 2 {
			scaled.X = append(scaled.X, (data.X[3*i+j]-scales[j].center)/scales[j].unit)
		}
		scaled.X, scaled.Y = append(scaled.X, 1), append(scaled.Y,
			(data.Y[i]-scales[3].center)/scales[3].unit)
	}
	beta, _ := exact(scaled, 3, flat, 0.5/scales[3].unit)
	for i := range 5 { // the same predictions, on the scaled and on the data's side
		want := scales[3].center + scales[3].unit*floats.Dot(beta, scaled.X[3*i:3*i+3])
		// Scaled values, of size 5 at most, are rounded to 2^-17.
		if got := floats.Dot(p.Mean, data.X[3*i:3*i+3]); math.Abs(got-want) > 1e-4 {
			t.Errorf("row %d: predicted %v, want %v", i, got, want)
		}
	}
}

// neighbours is a public state before a round, and two values of one record.
type neighbours struct {
	round   int
	raw     []int64
	records [2]bayes.Data
}

// neighbourings draws neighbours for a configuration of three columns.
func neighbourings(cfg Config) *rapid.Generator[neighbours] {
	return rapid.Custom(func(t *rapid.T) neighbours {
		n := neighbours{raw: cfg.Initial()}
		n.raw[0] = 1
		for i := 2; i < len(n.raw); i++ {
			n.raw[i] = rapid.Int64Range(-1<<40, 1<<40).Draw(t, "state")
		}
		n.round = rapid.IntRange(1, 2).Draw(t, "round")
		value := rapid.OneOf(rapid.Float64Range(-2, 2), rapid.SampledFrom([]float64{-1, absent.Number(), 0, 1, -100,
			100}))
		for k := range n.records {
			x := []float64{value.Draw(t, "x"), value.Draw(t, "x"), 1}
			n.records[k] = bayes.Data{X: x, Y: []float64{value.Draw(t, "y")}}
		}
		return n
	})
}

// difference returns by how much the sums of neighbours differ. No term may be beyond its bound.
func (n neighbours) difference(t *testing.T, cfg Config) []int64 {
	t.Helper()
	var sums [2][]int64
	for k, d := range n.records {
		l, err := NewLearner(cfg, d, 1e6)
		if err != nil {
			t.Fatal(err)
		}
		p, err := l.Propose(t.Context(), n.round, n.raw)
		if err != nil {
			t.Fatal(err)
		}
		if !fixedpoint.NormSquaredAtMost(p.Update, cfg.termBound()) {
			t.Fatalf("one term is beyond the bound %d", cfg.termBound())
		}
		sums[k] = p.Update
	}
	for i := range sums[0] {
		sums[0][i] -= sums[1][i]
	}
	return sums[0]
}

// TestSensitivity: given everything public before, two values of a record move the sum by
// at most the stated sensitivity, on exact integers, in rounds of both kinds. Over 300 fixed
// draws, some pairs come near it.
func TestSensitivity(t *testing.T) {
	cfg := small()
	cfg.MomentRounds, cfg.Radius = 1, 2
	bound := cfg.sensitivity()
	cases := neighbourings(cfg)
	rapid.Check(t, func(rt *rapid.T) {
		if diff := cases.Draw(rt, "case").difference(t, cfg); !fixedpoint.NormSquaredAtMost(diff, bound) {
			rt.Fatalf("neighbouring sums differ by %v, the bound is %d", diff, bound)
		}
	})
	var largest [3]float64
	for seed := range 300 {
		n := cases.Example(seed)
		norm := 0.0
		for _, x := range n.difference(t, cfg) {
			norm += float64(x) * float64(x)
		}
		largest[n.round] = max(largest[n.round], math.Sqrt(norm)/float64(bound))
	}
	for _, round := range []int{1, 2} {
		if largest[round] < 0.75 {
			t.Errorf("round %d: the largest distance seen is %.3f of the bound: the check is idle", round,
				largest[round])
		}
	}
}

// TestSensitivityIsReached by two orthogonal records of norm R.
func TestSensitivityIsReached(t *testing.T) {
	cfg := small()
	r := int64(cfg.radius())
	a, b := make([]int64, cfg.Dim()), make([]int64, cfg.Dim())
	addProducts(a, []int64{r, 0, 0, 0})
	addProducts(b, []int64{0, r, 0, 0})
	sum := 0.0
	for i := range a {
		sum += float64(a[i]-b[i]) * float64(a[i]-b[i])
	}
	if got := math.Sqrt(sum); math.Abs(got-float64(cfg.sensitivity())) > 1 {
		t.Errorf("distance %v, the sensitivity is %d", got, cfg.sensitivity())
	}
}

// TestMomentBoundIsTight: the constant of one column is the maximum, by search over the
// whole grid of pairs.
func TestMomentBoundIsTight(t *testing.T) {
	best := 0.0
	const n = 400
	for i := -n; i <= n; i++ {
		for j := -n; j <= n; j++ {
			u, v := float64(i)/n, float64(j)/n
			best = max(best, (u-v)*(u-v)/4+(u*u-v*v)*(u*u-v*v))
		}
	}
	if best > 1.2862 || best < 1.286 {
		t.Errorf("the maximum is %v, the proof says 1.28614", best)
	}
}

// TestNoiseIsAccountedFor: with noise of a known variance the posterior's standard
// deviations are calibrated: over 300 draws, the mean squared z-score of the weights is
// near 1. With 900 nearly Gaussian scores its standard error is about .05 (scores of one
// draw are dependent: at most .08); the linearised posterior is an approximation, so the
// band is wide, and a posterior that ignored the noise is far outside (above 100).
func TestNoiseIsAccountedFor(t *testing.T) {
	cfg := small()
	cfg.Radius = 2
	data := line(4, 200, 3)
	clean, err := run(t.Context(), cfg, learners(t, cfg, 0, data), nil, 1)
	if err != nil {
		t.Fatal(err)
	}
	truth, err := cfg.Posterior(clean, 0)
	if err != nil {
		t.Fatal(err)
	}
	// 12 on a square, 8.6 on a product; X'X has entries of 30 and 200.
	sd := math.Ldexp(60, int(cfg.SumFracBits()))
	rng := mathrand.New(seeded(5))
	honest, blind := 0.0, 0.0
	const draws = 100
	for range draws {
		raw := slices.Clone(clean)
		for i := 2 + 2*cfg.moved(); i < len(raw); i++ {
			raw[i] += int64(sd * rng.NormFloat64())
		}
		p, err := cfg.Posterior(raw, sd*sd)
		if err != nil {
			t.Fatal(err)
		}
		for j := range 3 {
			miss := p.Mean[j] - truth.Mean[j]
			honest += miss * miss / p.Covariance.At(j, j) / (3 * draws)
			blind += miss * miss / truth.Covariance.At(j, j) / (3 * draws)
		}
	}
	if honest < 0.3 || honest > 2 || blind < 3 {
		t.Errorf("mean squared score %.2f, %.2f when the noise is ignored", honest, blind)
	}
}

func TestEstimatedNoise(t *testing.T) {
	cfg := small()
	cfg.NoiseSD = 0
	raw, err := run(t.Context(), cfg, learners(t, cfg, 0, line(6, 2000, 3)), nil, 1)
	if err != nil {
		t.Fatal(err)
	}
	p, err := cfg.Posterior(raw, 0)
	if err != nil {
		t.Fatal(err)
	}
	// The data's is 0.2 and a little from its rounding; 2000 residuals know it to 2%.
	if math.Abs(p.NoiseSD-0.2) > 0.015 {
		t.Errorf("estimated noise %v, want 0.2", p.NoiseSD)
	}
}

func TestRefusals(t *testing.T) {
	cfg := small()
	if _, err := cfg.Posterior(cfg.Initial(), 0); !errors.Is(err, ErrEmpty) {
		t.Errorf("posterior of nothing: %v", err)
	}
	if _, err := cfg.Posterior(cfg.Initial()[1:], 0); !errors.Is(err, ErrShape) {
		t.Errorf("posterior of a short state: %v", err)
	}
	if _, err := cfg.Fold(0, cfg.Initial(), make([]int64, cfg.Dim())); !errors.Is(err, ErrRound) {
		t.Errorf("round 0: %v", err)
	}
	if _, err := cfg.Fold(1, cfg.Initial(), make([]int64, cfg.Dim()+1)); !errors.Is(err, ErrShape) {
		t.Errorf("long sum: %v", err)
	}
	full := cfg.Initial()
	full[len(full)-1] = math.MaxInt64
	sum := make([]int64, cfg.Dim())
	sum[len(sum)-1] = 1
	if _, err := cfg.Fold(1, full, sum); !errors.Is(err, ErrOverflow) {
		t.Errorf("overflow: %v", err)
	}
	for name, d := range map[string]bayes.Data{
		"no bias":  {X: []float64{0, 0, 2}, Y: []float64{0}},
		"NaN":      {X: []float64{0, math.NaN(), 1}, Y: []float64{0}},
		"infinite": {X: []float64{0, 0, 1}, Y: []float64{math.Inf(1)}},
		"shape":    {X: []float64{0, 1}, Y: []float64{0}},
		"too many": line(1, 1<<12+1, 3),
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := NewLearner(cfg, d, 0); !errors.Is(err, bayes.ErrData) {
				t.Errorf("%v", err)
			}
		})
	}
}

func TestValidateNamesFields(t *testing.T) {
	for field, spoil := range map[string]func(*Config){
		"features":         func(c *Config) { c.Features = 0 },
		"prior_precision":  func(c *Config) { c.PriorPrecision = 0 },
		"noise_sd":         func(c *Config) { c.NoiseSD = -1 },
		"bound":            func(c *Config) { c.Bound = math.Inf(1) },
		"target_bound":     func(c *Config) { c.TargetBound = math.NaN() },
		"bounds":           func(c *Config) { c.Bounds = []float64{1} },
		"levels[0]":        func(c *Config) { c.Levels = [][2]int{{1, 3}} },
		"levels[1]":        func(c *Config) { c.Levels = [][2]int{{0, 2}, {1, 2}} },
		"bounds[1]":        func(c *Config) { c.Bounds = []float64{1, 0} },
		"moment_rounds":    func(c *Config) { c.MomentRounds = -1 },
		"radius":           func(c *Config) { c.Radius = 0.5 },
		"threshold":        func(c *Config) { c.Threshold = -1 },
		"target_threshold": func(c *Config) { c.TargetThreshold = 1 << 21 },
		"frac_bits":        func(c *Config) { c.FracBits = 3 },
		"records":          func(c *Config) { c.Records = 0 },
		"max_records":      func(c *Config) { c.MaxRecords, c.FracBits, c.Radius = maxRecords, 16, 64 },
	} {
		cfg := small()
		spoil(&cfg)
		if err := cfg.Validate(); !errors.Is(err, ErrConfig) || !containsField(err, field) {
			t.Errorf("%s: %v", field, err)
		}
	}
	if err := small().Validate(); err != nil {
		t.Error(err)
	}
	crowded := small()
	crowded.Features = 1000
	crowded.Radius = 1
	crowded.FracBits = 4
	if err := crowded.Validate(); !containsField(err, "radius") {
		t.Errorf("moments larger than the statistics: %v", err)
	}
}

// TestPrior: statistics of no records leave the prior, which is in the data's units: the columns' units don't
// move it. Moments give the intercept where the columns' means are: its covariance with a slope is the
// slope's variance times minus the mean.
func TestPrior(t *testing.T) {
	for _, moments := range []int{0, 1} {
		t.Run(fmt.Sprintf("%d moment rounds", moments), func(t *testing.T) {
			cfg := small()
			cfg.MomentRounds = moments
			cfg.PriorPrecision = 4
			cfg.Bounds, cfg.TargetBound = []float64{4, 0.5}, 16
			want := cfg.Prior()
			if initial, err := cfg.PriorOf(cfg.Initial(), 0); err != nil || !reflect.DeepEqual(initial, want) {
				t.Errorf("before a round the prior is %v, want %v (%v)", initial, want, err)
			}
			raw := cfg.Initial()
			for round := 1; round <= moments+1; round++ {
				sum := make([]int64, cfg.Dim())
				if round <= moments {
					p, err := learners(t, cfg, 0, line(1, 200, cfg.Features))[0].Propose(t.Context(), round, raw)
					if err != nil {
						t.Fatal(err)
					}
					sum = p.Update
				}
				var err error
				if raw, err = cfg.Fold(round, raw, sum); err != nil {
					t.Fatal(err)
				}
			}
			got, err := cfg.Posterior(raw, 0)
			if err != nil {
				t.Fatal(err)
			}
			s, err := cfg.open(raw)
			if err != nil {
				t.Fatal(err)
			}
			own := cfg.prior(s, 0)
			if want, err = cfg.PriorOf(raw, 0); err != nil {
				t.Fatal(err)
			}
			last := cfg.Features - 1
			for i, m := range want.Mean {
				if math.Abs(got.Mean[i]-m) > 1e-9 {
					t.Errorf("weight %d: mean %v, want %v", i, got.Mean[i], m)
				}
				for j := range want.Mean {
					v := 0.0
					switch {
					case i == j:
						v = want.Variance[i]
					case max(i, j) == last:
						v = -own.variance[min(i, j)] * own.means[min(i, j)]
					}
					if math.Abs(got.Covariance.At(i, j)-v) > 1e-9*want.Variance[0]*want.Variance[1] {
						t.Errorf("covariance of %d and %d: %v, want %v", i, j, got.Covariance.At(i, j), v)
					}
				}
			}
		})
	}
}

// TestDrowned: where the noise is far above all records' products the posterior is the prior, whatever
// units the noise gives to the columns, but for the share of draws whose noise is 3 standard deviations
// from 0: .0013 each, and one of 40 with probability .05; more than two would be wrong with 3e-5.
func TestDrowned(t *testing.T) {
	cfg := small()
	cfg.MomentRounds, cfg.NoiseSD, cfg.Radius = 1, 0, 2
	data := line(4, 200, 3)
	rng := mathrand.New(seeded(6))
	sd := 20 * 200 * float64(cfg.sensitivity())
	others := 0
	for range 40 {
		raw, err := run(t.Context(), cfg, learners(t, cfg, sd*sd, data), func(_ int, sum []int64) error {
			for i := range sum {
				sum[i] += int64(sd * rng.NormFloat64())
			}
			return nil
		}, 2)
		if err != nil {
			t.Fatal(err)
		}
		p, err := cfg.Posterior(raw, sd*sd)
		if err != nil {
			t.Fatal(err)
		}
		if !mat.Equal(p.Covariance, mat.NewDiagDense(3, cfg.Prior().Variance)) || p.NoiseSD != cfg.length(3) {
			others++
		}
	}
	if others > 2 {
		t.Errorf("%d posteriors of 40 aren't the prior", others)
	}
}
