package pvi

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/optimize"

	"choir/learn/bayes"
	"choir/learn/gauss"
	"choir/learn/model"
)

// exactPosterior is the natural parameters of the exact full-covariance posterior
// of linear regression, by the textbook.
func exactPosterior(c Config, d bayes.Data) []float64 {
	full := gauss.Space{Family: gauss.Full, Features: c.Features}
	v := make([]float64, full.Dim())
	precision := mat.NewSymDense(c.Features, nil)
	for i := range c.Features {
		precision.SetSym(i, i, c.PriorPrecision)
	}
	w := 1 / (c.NoiseSD * c.NoiseSD)
	for r, y := range d.Y {
		row := mat.NewVecDense(c.Features, slices.Clone(d.X[r*c.Features:(r+1)*c.Features]))
		precision.SymRankOne(precision, w, row)
		floats.AddScaled(v[:c.Features], w*y, row.RawVector().Data)
	}
	full.SetPrecision(v, precision)
	return v
}

// party makes n parties of different sizes, and all their data.
func parties(t testing.TB, c Config, n int) (ls []*Learner, all bayes.Data) {
	t.Helper()
	for i := range n {
		d := dense(c, uint64(i), 10+7*i)
		ls = append(ls, learner(t, c, d, 1/float64(n)))
		all.X, all.Y = append(all.X, d.X...), append(all.Y, d.Y...)
	}
	return ls, all
}

func run(t testing.TB, c Config, ls []*Learner, noise func(round, party int) []int64, rounds int) History {
	t.Helper()
	h, err := Run(context.Background(), c, ls, noise, rounds)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// TestLinearFullIsExact: in the conjugate model one undamped round of PVI is the
// exact posterior, in floating point to 1e-9 and on the grid to half a unit a
// shard.
func TestLinearFullIsExact(t *testing.T) {
	for _, shards := range []int{1, 3} {
		c := linearConfig(gauss.Full)
		if shards > 1 {
			c = as(c, NameVirtual, func(p *Params) { p.Shards = shards })
		}
		ls, all := parties(t, c, 3)
		want := exactPosterior(c, all)
		post, err := runReal(context.Background(), c, ls, 1)
		if err != nil {
			t.Fatal(err)
		}
		if !floats.EqualApprox(post.Natural(), want, 1e-9) {
			t.Errorf("%d shards: %v, want %v", shards, post.Natural(), want)
		}
		got := c.Reals(run(t, c, ls, nil, 2).Final())
		half := float64(3*shards) * math.Ldexp(0.51, -int(c.FracBits))
		if !floats.EqualApprox(got, want, half) {
			t.Errorf("%d shards on the grid: %v, want %v", shards, got, want)
		}
	}
}

func TestDampedLinearConverges(t *testing.T) {
	c := linearConfig(gauss.Full)
	c.Damping = 0.3
	ls, all := parties(t, c, 3)
	want := exactPosterior(c, all)
	// The distance shrinks by 0.7 a round: 0.7^80 is 4e-13, times a distance of 500.
	post, err := runReal(context.Background(), c, ls, 80)
	if err != nil {
		t.Fatal(err)
	}
	if !floats.EqualApprox(post.Natural(), want, 1e-9) {
		t.Errorf("%v, want %v", post.Natural(), want)
	}
	half := 3 * math.Ldexp(0.51, -int(c.FracBits))
	if got := c.Reals(run(t, c, ls, nil, 80).Final()); !floats.EqualApprox(got, want, half) {
		t.Errorf("on the grid: %v, want %v", got, want)
	}
}

// The best independent Gaussian has the exact posterior's mean and the diagonal of
// its precision (Bishop 2006, section 10.1.2).
func TestLinearMeanFieldReachesTheFixedPoint(t *testing.T) {
	c := linearConfig(gauss.MeanField)
	c.Damping = 0.3
	ls, all := parties(t, c, 3)
	exact := exactPosterior(c, all)
	full := gauss.Space{Family: gauss.Full, Features: c.Features}
	m, err := full.Moments(exact)
	if err != nil {
		t.Fatal(err)
	}
	post, err := runReal(context.Background(), c, ls, 120)
	if err != nil {
		t.Fatal(err)
	}
	grid, err := c.Posterior(run(t, c, ls, nil, 120).Final())
	if err != nil {
		t.Fatal(err)
	}
	for i := range c.Features {
		sd := math.Sqrt(-0.5 / exact[full.Index(i, i)])
		if math.Abs(post.Mean()[i]-m.Mean[i]) > 1e-9 || math.Abs(post.SD()[i]-sd) > 1e-9 {
			t.Errorf("weight %d: N(%v, sd %v), want N(%v, sd %v)", i, post.Mean()[i], post.SD()[i], m.Mean[i],
				sd)
		}
		// Three factors, half a unit each, over precisions of at least 50: 1e-5
		// leaves a factor of 100 for the conditioning of the mean.
		if math.Abs(grid.Mean()[i]-m.Mean[i]) > 1e-5 || math.Abs(grid.SD()[i]-sd) > 1e-5 {
			t.Errorf("weight %d on the grid: N(%v, sd %v), want N(%v, sd %v)", i, grid.Mean()[i],
				grid.SD()[i], m.Mean[i], sd)
		}
	}
}

// globalVI maximises the free energy of all data at once, by a quasi-Newton method
// that shares nothing with the local optimiser but the (separately tested) free
// energy.
func globalVI(t *testing.T, c Config, all bayes.Data) (mean, sd []float64) {
	t.Helper()
	d := c.Features
	site := model.NewLogistic(d, all.X, all.Y, 1, 1)
	ws := model.NewWorkspace(d, all.Rows())
	prior := c.Reals(c.Initial())
	variance := make([]float64, d)
	at := func(x []float64) []float64 {
		for i := range variance {
			variance[i] = math.Exp(2 * x[d+i])
		}
		return variance
	}
	problem := optimize.Problem{
		Func: func(x []float64) float64 { return -site.Energy(ws, x[:d], at(x), prior) },
		Grad: func(g, x []float64) {
			site.Gradient(ws, g[:d], g[d:], x[:d], at(x), prior)
			floats.Scale(-1, g)
		},
	}
	res, err := optimize.Minimize(problem, make([]float64, 2*d), &optimize.Settings{GradientThreshold: 1e-7},
		&optimize.BFGS{})
	if err != nil {
		t.Fatal(err)
	}
	sd = make([]float64, d)
	for i := range sd {
		sd[i] = math.Exp(res.X[d+i])
	}
	return res.X[:d], sd
}

func TestLogisticReachesGlobalVI(t *testing.T) {
	for _, name := range []string{"dataset", "virtual", "natural"} {
		c := logisticConfig()
		c.Clip, c.Beta = 0, 0
		c.Damping, c.DampingDecay = 0.3, 0
		c.FracBits = 30
		c = as(c, c.name(), func(p *Params) {
			p.Steps = 200
			p.LearningRate = 0.03
		})
		switch name {
		case "dataset":
			c = as(c, NameDataset)
		case "virtual":
			c.Damping = 0.2
		case "natural":
			c.Damping = 0.2
			c.Strategy = Virtual{Shards: 3, Fit: Fit{Optimiser: Natural, Steps: 1, LearningRate: 1}}
		}
		ls, all := parties(t, c, 3)
		mean, sd := globalVI(t, c, all)
		post, err := runReal(context.Background(), c, ls, 60)
		if err != nil {
			t.Fatal(err)
		}
		grid, err := c.Posterior(run(t, c, ls, nil, 60).Final())
		if err != nil {
			t.Fatal(err)
		}
		for way, p := range map[string]*bayes.Posterior{"real": post, "grid": grid} {
			dm, ds := floats.Distance(p.Mean(), mean, math.Inf(1)), floats.Distance(p.SD(), sd, math.Inf(1))
			t.Logf("%s, %s: distances %.2g in the mean, %.2g in the sd", name, way, dm, ds)
			// 60 damped rounds leave some 1e-4 of the slowest direction of nine
			// shards; the posterior sds are 0.35 and more.
			if dm > 1e-3 || ds > 1e-3 {
				t.Errorf("%s, %s: N(%v, %v), want global VI's N(%v, %v)", name, way, p.Mean(), p.SD(), mean,
					sd)
			}
		}
	}
}

// TestInvariant is decision 10 on the integers: global - prior - sum of factors is
// exactly the damped noise of the rounds.
func TestInvariant(t *testing.T) {
	for _, c := range []Config{logisticConfig(), clippedLinear(gauss.MeanField), clippedLinear(gauss.Full)} {
		ls, _ := parties(t, c, 4)
		r := rand.New(rand.NewPCG(8, 8))
		want := make([]int64, c.Dim())
		noise := func(round, _ int) []int64 {
			v := make([]int64, c.Dim())
			for i := range v {
				v[i] = int64(r.NormFloat64() * 3 * c.Clip * math.Ldexp(1, int(c.FracBits)))
				want[i] += c.DampingUnits(round) * v[i]
			}
			return v
		}
		h := run(t, c, ls, noise, 10)
		if len(h.Raw) != 11 {
			t.Fatalf("%d states after 10 rounds", len(h.Raw))
		}
		got := slices.Clone(h.Final())
		for i, x := range c.Initial() {
			got[i] -= x
		}
		moved := false
		for p, l := range ls {
			factors, err := l.factors(h.States[p])
			if err != nil {
				t.Fatal(err)
			}
			for _, row := range factors {
				for i, x := range row {
					got[i] -= x
					moved = moved || x != 0
				}
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s %s: what is left is not the noise", c.Model, c.Family)
		}
		if !moved {
			t.Errorf("%s %s: no factor ever moved", c.Model, c.Family)
		}
	}
}

// A driver that calls the public steps, like a session, and one in which a party drops out
// and does not settle, keep the invariant.
func TestAbsentPartyKeepsItsFactor(t *testing.T) {
	c := logisticConfig()
	ls, _ := parties(t, c, 2)
	raw, states := c.Initial(), [][]byte{ls[0].InitialState(), ls[1].InitialState()}
	total := make([]int64, c.Dim())
	for round := 1; round <= 6; round++ {
		sum := make([]int64, c.Dim())
		for i, l := range ls {
			p := propose(t, l, round, raw, states[i])
			if i == 1 && round%2 == 0 {
				continue // not in the set: proposed, not counted, not settled
			}
			for j, u := range p.Update {
				sum[j] += u
			}
			states[i] = settle(t, l, round, states[i], p)
		}
		next, err := c.Fold(round, raw, sum)
		if err != nil {
			t.Fatal(err)
		}
		raw = next
	}
	for i, l := range ls {
		factors, err := l.factors(states[i])
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range factors {
			for j, x := range row {
				total[j] += x
			}
		}
	}
	for i, x := range c.Initial() {
		total[i] += x
	}
	if !slices.Equal(total, raw) {
		t.Error("prior plus factors isn't the global state")
	}
}

func TestRunIsRepeatable(t *testing.T) {
	c := logisticConfig()
	ls, _ := parties(t, c, 3)
	a, b := run(t, c, ls, nil, 5), run(t, c, ls, nil, 5)
	for s := range a.Raw {
		if !slices.Equal(a.Raw[s], b.Raw[s]) {
			t.Fatalf("state %d differs between two runs", s)
		}
	}
}

func TestRunRefuses(t *testing.T) {
	c := logisticConfig()
	ls, _ := parties(t, c, 2)
	ctx := context.Background()
	if _, err := Run(ctx, c, nil, nil, 1); !errors.Is(err, ErrConfig) {
		t.Errorf("no learners: %v, want ErrConfig", err)
	}
	other := c
	other.Clip = 0.06
	if _, err := Run(ctx, other, ls, nil, 1); !errors.Is(err, ErrConfig) {
		t.Errorf("another configuration: %v, want ErrConfig", err)
	}
	short := func(int, int) []int64 { return make([]int64, 1) }
	if _, err := Run(ctx, c, ls, short, 1); !errors.Is(err, bayes.ErrShape) {
		t.Errorf("short noise: %v, want ErrShape", err)
	}
	huge := func(int, int) []int64 {
		v := make([]int64, c.Dim())
		v[3] = math.MaxInt64 / 2
		return v
	}
	if _, err := Run(ctx, c, ls, huge, 1); !errors.Is(err, ErrOverflow) {
		t.Errorf("huge noise: %v, want ErrOverflow", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := Run(ctx, c, ls, nil, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled context: %v, want context.Canceled", err)
	}
	if _, err := runReal(ctx, c, ls, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled context, real: %v, want context.Canceled", err)
	}
}

func TestNonPrivate(t *testing.T) {
	for _, tc := range []struct {
		cfg     Config
		parties int
		damping float64
	}{
		{logisticConfig(), 1, 1}, {logisticConfig(), 2, 0.5}, {logisticConfig(), 10, 0.2},
		{logisticConfig(), 1 << 20, 1.0 / (1 << 16)},
		{clippedLinear(gauss.MeanField), 10, 0.2}, {clippedLinear(gauss.Full), 10, 1},
	} {
		c := tc.cfg.nonPrivate(tc.parties)
		if err := c.Validate(); err != nil {
			t.Error(err)
		}
		if c.Clip != 0 || c.params().Shards != 1 || c.Damping != tc.damping || c.Model != tc.cfg.Model ||
			c.PriorPrecision != tc.cfg.PriorPrecision {
			t.Errorf("%s %s, %d parties: %+v", tc.cfg.Model, tc.cfg.Family, tc.parties, c)
		}
	}
	c := logisticConfig().nonPrivate(3)
	ls, all := parties(t, c, 3)
	mean, sd := globalVI(t, c, all)
	post, err := c.Posterior(run(t, c, ls, nil, 25).Final())
	if err != nil {
		t.Fatal(err)
	}
	// Posterior sds are 0.35 and more: a hundredth of that is what a reference may be off.
	if dm, ds := floats.Distance(post.Mean(), mean, math.Inf(1)),
		floats.Distance(post.SD(), sd, math.Inf(1)); dm > 5e-3 || ds > 5e-3 {
		t.Errorf("distances %v and %v to global VI after 25 rounds", dm, ds)
	}
}
