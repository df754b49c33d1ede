package pvi

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"

	"choir/learn/bayes"
)

// newtonConfig is a configuration in which parties send Newton steps.
func newtonConfig() Config {
	c := logisticConfig()
	c.Beta = 0
	c.Clip = 4
	c.Damping = 1
	c.DampingDecay = 0.5
	c.StartPrecision = 20
	c.StepBound = 2
	c.StepDoublings = 1
	c.StepKept = 1
	c.Strategy = Dataset{Fit: Fit{Optimiser: Newton, Steps: 1, LearningRate: 1}}
	return c
}

// TestNewtonSlopes: the slopes are the derivatives of the step by minus the public mean, where
// the step is clipped and where it is not. For a linear model that is exact.
func TestNewtonSlopes(t *testing.T) {
	for _, tc := range []struct {
		name    string
		bound   float64
		clipped bool
	}{{"whole", 64, false}, {"clipped", 0.125, true}} {
		t.Run(tc.name, func(t *testing.T) {
			c := newtonConfig()
			c.Model = bayes.Linear
			c.NoiseSD = 2
			c.Strategy = Dataset{Fit: Fit{Optimiser: Newton}}
			c.StepDoublings = 0
			c.StepBound = tc.bound
			l := learner(t, c, dense(c, 3, 40), 1)
			d := c.Features
			at := make([]float64, d)
			for i := range at {
				at[i] = 0.3 * float64(i%3-1)
			}
			stepUnit := tc.bound / (stepPart * c.Clip)
			slopeUnit := math.Sqrt(float64(d)) / (slopePart * c.Clip)
			term, clipped := l.newtonTerm(1, at)
			if clipped != tc.clipped {
				t.Fatalf("clipped: %v", clipped)
			}
			const h = 1e-4
			for i := range d {
				more, less := append([]float64(nil), at...), append([]float64(nil), at...)
				more[i] += h
				less[i] -= h
				a, _ := l.newtonTerm(1, more)
				b, _ := l.newtonTerm(1, less)
				want := (b[i] - a[i]) * stepUnit / (2 * h)
				if got := term[d+i] * slopeUnit; math.Abs(got-want) > 1e-4 || !(got >= 0 && got <= 1) {
					t.Errorf("slope %d is %v, want %v", i, got, want)
				}
			}
		})
	}
}

// TestNewtonIsTotal: whatever a party's records are, its term has at most the clip's norm and the
// party is in the round; neither state nor factor changes by it.
func TestNewtonIsTotal(t *testing.T) {
	c := newtonConfig()
	bound, err := c.clipUnits()
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(5, 6))
	for i := range 40 {
		data := dense(c, uint64(i), 1+i)
		for j := range data.X {
			data.X[j] *= math.Exp(20 * r.NormFloat64())
		}
		l := learner(t, c, data, 1)
		p := propose(t, l, 1+i%3, c.Initial(), l.InitialState())
		square := 0.0
		for _, x := range p.Update {
			square += float64(x) * float64(x)
		}
		if square > float64(bound)*float64(bound) {
			t.Errorf("records %d: norm %v, bound %d", i, math.Sqrt(square), bound)
		}
	}
}

// TestNewtonResiduals: a residual round of Newton steps has the mean square of a party's residuals at the
// public mean, within the interval of two clips whatever its records are, and changes no state.
func TestNewtonResiduals(t *testing.T) {
	c := newtonConfig()
	c.Model, c.NoiseSD, c.ResidualFrom = bayes.Linear, 0.7, 5
	c.Strategy = Dataset{Fit: Fit{Optimiser: Newton}}
	if err := c.Validate(); err != nil {
		t.Fatal(err)
	}
	bound, err := c.clipUnits()
	if err != nil {
		t.Fatal(err)
	}
	first := learner(t, c, dense(c, 1, 60), 1)
	raw, err := c.Fold(1, c.Initial(), propose(t, first, 1, c.Initial(), first.InitialState()).Update)
	if err != nil {
		t.Fatal(err)
	}
	q, err := c.Posterior(raw)
	if err != nil {
		t.Fatal(err)
	}
	mean := q.Mean()
	if floats.Norm(mean, 2) < 0.1 {
		t.Fatalf("the public mean %v is where residuals are the targets", mean)
	}
	r := rand.New(rand.NewPCG(7, 8))
	for i := range 40 {
		data := dense(c, uint64(i), 1+i)
		want := 0.0
		for j := range data.Y {
			if i > 20 {
				data.Y[j] *= math.Exp(200 * r.NormFloat64())
			}
			e := data.Y[j] - floats.Dot(data.X[j*c.Features:(j+1)*c.Features], mean)
			want += min(1, e*e/(ResidualLimit*c.NoiseSD*c.NoiseSD)) / float64(len(data.Y))
		}
		p := propose(t, learner(t, c, data, 1), 5, raw, learner(t, c, data, 1).InitialState())
		got := (float64(p.Update[0])/float64(bound) + 1) / 2
		if math.Abs(got-want) > 1e-3 || floats.Max(c.Reals(p.Update[1:])) != 0 {
			t.Errorf("records %d: share %v, want %v", i, got, want)
		}
		if u := p.Update[0]; u > int64(bound) || -u > int64(bound) {
			t.Errorf("records %d: %d, bound %d", i, u, bound)
		}
		if next, err := c.Fold(5, raw, p.Update); err != nil || !slices.Equal(next, raw) {
			t.Errorf("the state changes: %v", err)
		}
	}
	for _, relation := range []Relation{ReplaceParty, AddRemoveParty} {
		with, err := c.Sensitivity(relation)
		without := c
		without.ResidualFrom = 0
		if want, _ := without.Sensitivity(relation); err != nil || with != want {
			t.Errorf("%s: sensitivity %d, want %d, %v", relation, with, want, err)
		}
	}
}

// TestNewtonFindsTheWeights: without noise the public mean goes to where the parties' steps add up
// to nothing, the larger first steps counting as they are.
func TestNewtonFindsTheWeights(t *testing.T) {
	const rounds, n = 24, 24
	c := newtonConfig()
	c.Clip = (c.StartPrecision + c.PriorPrecision) * c.StepBound / (n * stepPart * 0.9)
	var ls []*Learner
	for i := range n {
		ls = append(ls, learner(t, c, dense(c, uint64(i), 60), 1.0/n))
	}
	h := run(t, c, ls, nil, rounds)
	last, err := c.Posterior(h.Final())
	if err != nil {
		t.Fatal(err)
	}
	sum, from := make([]float64, c.Dim()), make([]float64, c.Dim())
	for _, l := range ls {
		term, _ := l.newtonTerm(rounds, last.Mean())
		floats.Add(sum, term)
		term, _ = l.newtonTerm(rounds, make([]float64, c.Features))
		floats.Add(from, term)
	}
	d := c.Features
	if got, start := floats.Norm(sum[:d], 2), floats.Norm(from[:d], 2); got > 0.05*start {
		t.Errorf("steps add up to %v, from the start %v", got, start)
	}
}

// TestNewtonFits: configurations in which Newton steps have no meaning are refused.
func TestNewtonFits(t *testing.T) {
	for name, spoil := range map[string]func(c *Config){
		"no bound":      func(c *Config) { c.StepBound = 0 },
		"no clip":       func(c *Config) { c.Clip = 0 },
		"doublings":     func(c *Config) { c.StepDoublings = -1 },
		"nothing kept":  func(c *Config) { c.StepKept = 0 },
		"more is kept":  func(c *Config) { c.StepKept = 1.5 },
		"local noise":   func(c *Config) { c.Strategy = Dataset{Fit: c.Strategy.(Dataset).Fit, Local: true} },
		"many shards":   func(c *Config) { c.Strategy = Virtual{Shards: 2, Fit: c.Strategy.(Dataset).Fit} },
		"no optimiser":  func(c *Config) { c.Strategy = Dataset{Fit: Fit{Steps: 1, LearningRate: 1}} },
		"tied factors":  func(c *Config) { c.Beta = 0.5 },
		"curvature too": func(c *Config) { c.CurvatureFrom, c.CurvatureBound = 5, 1 },
	} {
		t.Run(name, func(t *testing.T) {
			c := newtonConfig()
			if err := c.Validate(); err != nil {
				t.Fatal(err)
			}
			spoil(&c)
			if err := c.Validate(); !errors.Is(err, ErrConfig) {
				t.Errorf("error %v", err)
			}
		})
	}
}

// TestNewtonFirstRounds: two rounds have each of the larger bounds, by which the public mean moves without
// the decay, and as if all of a slope were kept; then it decays.
func TestNewtonFirstRounds(t *testing.T) {
	c := newtonConfig()
	c.StepDoublings, c.StepKept, c.DampingBits = 2, 0.5, 12
	sum := make([]int64, c.Dim())
	sum[0], sum[1] = 1<<12, -3<<12
	for i, want := range []float64{2, 2, 1, 1, 1, 1 / 1.5, 1.0 / 2, 1 / 2.5} {
		round := i + 1
		if bound := math.Ldexp(c.StepBound, max(0, 2-i/2)); c.stepBound(round) != bound {
			t.Errorf("round %d: bound %v, want %v", round, c.stepBound(round), bound)
		}
		next, err := c.Fold(round, make([]int64, c.Dim()), sum)
		if err != nil {
			t.Fatal(err)
		}
		for j, x := range next {
			if got := math.Ldexp(float64(x), -int(c.DampingBits)); math.Abs(got-want*float64(sum[j])) > 4 {
				t.Errorf("round %d: coordinate %d moves by %v, want %v", round, j, got, want*float64(sum[j]))
			}
		}
		if got := c.StepScale(round) * c.DampingOf(round); math.Abs(got-want) > 1e-9 {
			t.Errorf("round %d: scale %v, want %v", round, got, want)
		}
	}
}
