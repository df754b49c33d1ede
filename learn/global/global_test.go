package global

import (
	"errors"
	"math"
	mathrand "math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"
	"pgregory.net/rapid"

	"choir/crypto/fixedpoint"
	"choir/learn/bayes"
	"choir/learn/model"
	"choir/learn/pvi"
)

// TestConvergesToGlobalVI: with every record in every round and no noise the run
// ends where the derivative of the global free energy, as package model computes it
// for all records at once, is nothing.
func TestConvergesToGlobalVI(t *testing.T) {
	cfg := small()
	cfg.Clip = 100
	cfg.RateDecay = 0.003
	cfg.FracBits = 24
	cfg.Records = 100
	data := classes(1, 100, cfg.Features)
	raw, err := run(t.Context(), cfg, []*Learner{learner(t, cfg, data)}, onSeeds(1), nil, 3000)
	if err != nil {
		t.Fatal(err)
	}
	mean, sd, err := cfg.moments(raw)
	if err != nil {
		t.Fatal(err)
	}
	d := cfg.Features
	variance, prior := make([]float64, d), make([]float64, 2*d)
	for i, s := range sd {
		variance[i], prior[d+i] = s*s, -0.5*cfg.PriorPrecision
	}
	g := make([]float64, 2*d)
	model.NewLogistic(d, data.X, data.Y, 1, 0.1).Gradient(model.NewWorkspace(d, 100), g[:d], g[d:], mean,
		variance, prior)
	// Rounding 100 gradients to the grid errs by at most 100 * 2^-25 = 3e-6 a coordinate.
	if n := floats.Norm(g, math.Inf(1)); n > 1e-3 {
		t.Errorf("the free energy still climbs: gradient %v", g)
	}
	start := make([]float64, 2*d)
	ones := []float64{1, 1, 1, 1}
	model.NewLogistic(d, data.X, data.Y, 1, 0.1).Gradient(model.NewWorkspace(d, 100), start[:d], start[d:],
		make([]float64, d), ones, prior)
	if floats.Norm(start, math.Inf(1)) < 10 {
		t.Errorf("it was flat from the start: %v", start)
	}
}

// TestSplitDoesNotMatter: at rate 1 the same integers come out however the records
// are spread.
func TestSplitDoesNotMatter(t *testing.T) {
	cfg := small()
	data := classes(2, 90, cfg.Features)
	whole, err := run(t.Context(), cfg, []*Learner{learner(t, cfg, data)}, onSeeds(1), nil, 30)
	if err != nil {
		t.Fatal(err)
	}
	var parts []*Learner
	for _, p := range data.Split(7) {
		parts = append(parts, learner(t, cfg, p))
	}
	spread, err := run(t.Context(), cfg, parts, onSeeds(1), nil, 30)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(whole, spread) || slices.Equal(whole, cfg.Initial()) {
		t.Error("the split changed the model, or nothing was learnt")
	}
}

// neighbours is a public state, the coins of a step, and two data sets that differ in one record.
type neighbours struct {
	seed byte
	raw  []int64
	data [2]bayes.Data
}

// neighbourings draws neighbours for a configuration. The record that differs has a class of
// each kind.
func neighbourings(cfg Config) *rapid.Generator[neighbours] {
	return rapid.Custom(func(t *rapid.T) neighbours {
		n := neighbours{seed: rapid.Byte().Draw(t, "coins")}
		data := classes(rapid.Byte().Draw(t, "data"), 6, cfg.Features)
		other := bayes.Data{X: slices.Clone(data.X), Y: slices.Clone(data.Y)}
		value := rapid.Float64Range(-50, 50)
		for j := range cfg.Features {
			data.X[j] = value.Draw(t, "x")
			other.X[j] = value.Draw(t, "x'")
		}
		data.Y[0], other.Y[0] = 0, 1
		n.data = [2]bayes.Data{data, other}
		n.raw = cfg.Initial()
		for i := range cfg.Dim() {
			n.raw[i] = rapid.Int64Range(-3<<paramBits, 3<<paramBits).Draw(t, "state")
		}
		return n
	})
}

// difference returns by how much the sums of neighbours differ.
func (n neighbours) difference(t *testing.T, cfg Config) []int64 {
	t.Helper()
	var sums [2][]int64
	for k, d := range n.data {
		l, err := NewLearner(cfg, d)
		if err != nil {
			t.Fatal(err)
		}
		p, err := l.Propose(t.Context(), 1, n.raw, seeded(n.seed))
		if err != nil {
			t.Fatal(err)
		}
		sums[k] = p.Update
	}
	diff := make([]int64, cfg.Dim())
	for i := range diff {
		diff[i] = sums[0][i] - sums[1][i]
	}
	return diff
}

// TestSensitivity: for every public state, draws and two values of a record, the sums
// differ by at most 2B, on exact integers. Over a hundred fixed draws, one that is drawn and
// clipped in both directions comes near it.
func TestSensitivity(t *testing.T) {
	cfg := small()
	cfg.SampleRate = 0.5
	bound, err := cfg.sensitivity()
	if err != nil {
		t.Fatal(err)
	}
	cases := neighbourings(cfg)
	rapid.Check(t, func(rt *rapid.T) {
		diff := cases.Draw(rt, "case").difference(t, cfg)
		if !fixedpoint.NormSquaredAtMost(diff, bound) {
			rt.Fatalf("neighbouring sums differ by %v, the bound is %d", diff, bound)
		}
	})
	largest := 0.0
	for seed := range 100 {
		norm := 0.0
		for _, x := range cases.Example(seed).difference(t, cfg) {
			norm += float64(x) * float64(x)
		}
		largest = max(largest, math.Sqrt(norm)/float64(bound))
	}
	if largest < 0.75 {
		t.Errorf("the largest distance seen is %.3f of the bound: the check is idle", largest)
	}
}

func TestPerPartyHolds(t *testing.T) {
	cfg := small()
	cfg.MaxRecords, cfg.Clip = 40, 0.01 // everything is clipped
	data := classes(3, 40, cfg.Features)
	for i := range data.Y { // all records alike: nothing cancels
		copy(data.X[i*cfg.Features:], data.X[:cfg.Features])
		data.Y[i] = data.Y[0]
	}
	p, err := learner(t, cfg, data).Propose(t.Context(), 1, cfg.Initial(), seeded(1))
	if err != nil {
		t.Fatal(err)
	}
	bound, err := cfg.perParty()
	if err != nil {
		t.Fatal(err)
	}
	if !fixedpoint.NormSquaredAtMost(p.Update, bound) || fixedpoint.NormSquaredAtMost(p.Update,
		bound-bound/100) {
		t.Errorf("a party of equal clipped records isn't within a hundredth below the bound %d", bound)
	}
	if p.ClippedFraction != 1 {
		t.Errorf("clipped fraction %v", p.ClippedFraction)
	}
	if _, err := NewLearner(cfg, classes(3, 41, cfg.Features)); !errors.Is(err, bayes.ErrData) {
		t.Errorf("one record too many: %v", err)
	}
}

func TestBrokenCoins(t *testing.T) {
	cfg := small()
	cfg.SampleRate = 0.5
	empty := seeded(1)
	if _, err := learner(t, cfg, classes(1, 10, 4)).Propose(t.Context(), 1, cfg.Initial(),
		limited{empty, 79}); err == nil {
		t.Error("a source that ends after 79 of 80 bytes was good enough")
	}
}

type limited struct {
	r    *mathrand.ChaCha8
	left int
}

func (l limited) Read(p []byte) (int, error) {
	if len(p) > l.left {
		return 0, errors.New("no more")
	}
	return l.r.Read(p)
}

func TestFoldRefuses(t *testing.T) {
	cfg := small()
	sum := make([]int64, cfg.Dim())
	for name, c := range map[string]struct {
		round    int
		raw, sum []int64
		want     error
	}{
		"round 0":     {0, cfg.Initial(), sum, ErrRound},
		"short sum":   {1, cfg.Initial(), sum[1:], ErrShape},
		"short state": {1, cfg.Initial()[1:], sum, ErrShape},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := cfg.Fold(c.round, c.raw, c.sum); !errors.Is(err, c.want) {
				t.Errorf("%v", err)
			}
		})
	}
	huge := cfg.Initial()
	for i := range cfg.Features {
		huge[i] = 1<<62 - 1
	}
	sum[0] = math.MaxInt64
	if _, err := cfg.Fold(1, huge, sum); !errors.Is(err, ErrOverflow) {
		t.Errorf("a mean at the end of its grid: %v", err)
	}
}

func TestValidateNamesFields(t *testing.T) {
	for field, spoil := range map[string]func(*Config){
		"model":           func(c *Config) { c.Model = "linear" },
		"features":        func(c *Config) { c.Features = 0 },
		"prior_precision": func(c *Config) { c.PriorPrecision = math.NaN() },
		"initial_sd":      func(c *Config) { c.InitialSD = 0 },
		"initial_spread":  func(c *Config) { c.InitialSpread = -1 },
		"hidden":          func(c *Config) { c.Hidden = 3 },
		"clip":            func(c *Config) { c.Clip = 0 },
		"frac_bits":       func(c *Config) { c.FracBits = 41 },
		"sample_rate":     func(c *Config) { c.SampleRate = 1.1 },
		"records":         func(c *Config) { c.Records = 0 },
		"max_records":     func(c *Config) { c.MaxRecords = -1 },
		"optimiser":       func(c *Config) { c.Optimiser = "magic" },
		"learning_rate":   func(c *Config) { c.LearningRate = math.Inf(1) },
		"rate_decay":      func(c *Config) { c.RateDecay = -1 },
		"averaging":       func(c *Config) { c.Averaging = 0.5 },
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
}

// TestAnotherAttemptDrawsAnew: a spare attempt at the same state is over another sample.
func TestAnotherAttemptDrawsAnew(t *testing.T) {
	cfg := small()
	cfg.SampleRate = 0.3
	l, r := learner(t, cfg, classes(5, 200, cfg.Features)), seeded(3)
	var updates [2][]int64
	for i := range updates {
		p, err := l.Propose(t.Context(), 1, cfg.Initial(), r)
		if err != nil {
			t.Fatal(err)
		}
		updates[i] = p.Update
	}
	if slices.Equal(updates[0], updates[1]) { // equal samples of 200 coins: below 2^-100
		t.Error("two attempts had the same sample")
	}
}

// TestPosteriorIsTheState: what predicts has the state's moments.
func TestPosteriorIsTheState(t *testing.T) {
	cfg := small()
	data := classes(6, 300, cfg.Features)
	raw, err := run(t.Context(), cfg, []*Learner{learner(t, cfg, data)}, onSeeds(1), nil, 200)
	if err != nil {
		t.Fatal(err)
	}
	mean, sd, err := cfg.moments(raw)
	if err != nil {
		t.Fatal(err)
	}
	p, err := cfg.Posterior(raw)
	if err != nil {
		t.Fatal(err)
	}
	if !floats.EqualApprox(p.Mean(), mean, 1e-12) || !floats.EqualApprox(p.SD(), sd, 1e-12) {
		t.Errorf("moments %v, %v, want %v, %v", p.Mean(), p.SD(), mean, sd)
	}
	scores, err := p.Evaluate(data)
	if err != nil || scores.Accuracy < 0.6 || scores.LogLikelihood < -0.69 {
		t.Errorf("scores %+v, %v: no better than a coin", scores, err)
	}
	if m, err := cfg.Mechanism(); err != nil || m.Sampling != pvi.SamplingNone || m.Sensitivity != 2*m.Clip {
		t.Errorf("mechanism %+v, %v", m, err)
	}
}
