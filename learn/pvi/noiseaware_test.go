package pvi

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"choir/learn/bayes"
	"choir/learn/gauss"
	"choir/learn/model"
)

// oneRow is a logistic configuration of a record a shard with curvature rounds at the end.
func oneRow(rounds int) Config {
	c := logisticConfig()
	c.Beta = 0
	c.Clip = 3
	c.Damping = 0.2
	c.StartPrecision = 4
	c.Strategy = Virtual{Shards: 4096, ShardRows: 1, Fit: Fit{Optimiser: Natural, Steps: 1, LearningRate: 1}}
	c.CurvatureFrom = rounds + 1
	c.CurvatureBound = 3
	return c
}

// observe runs a configuration and returns what its rounds revealed.
func observe(t *testing.T, c Config, data bayes.Data, rounds int, sd float64) []Observation {
	t.Helper()
	l := learner(t, c, data, 1)
	r := rand.New(rand.NewPCG(7, 8))
	raw, state := c.Initial(), l.InitialState()
	var trace []Observation
	for round := 1; round <= rounds; round++ {
		p := propose(t, l, round, raw, state)
		sum := slices.Clone(p.Update)
		units := sd * math.Ldexp(1, int(c.FracBits))
		for i := range sum {
			sum[i] += int64(units * r.NormFloat64())
		}
		trace = append(trace, Observation{Round: round, Raw: raw, Sum: sum, Variance: units * units})
		state = settle(t, l, round, state, p)
		next, err := c.Fold(round, raw, sum)
		if err != nil {
			t.Fatal(err)
		}
		raw = next
	}
	return trace
}

// TestNoiseAwareReadsTheScore: the trace of a run gives the score of the data at the public
// points, however far the run is from its end, and the curvature of all records.
func TestNoiseAwareReadsTheScore(t *testing.T) {
	const rounds = 6
	c := oneRow(rounds)
	c.Clip = 0
	data := dense(c, 3, 200)
	r := reading{c: c, prior: c.floats(c.prior())}
	trace := observe(t, c, data, rounds+c.CurvatureSlices(), 0)
	for _, o := range trace {
		add := r.addRound
		if c.curvatureRound(o.Round) {
			add = r.addCurvature
		}
		if err := add(o); err != nil {
			t.Fatal(err)
		}
	}
	all := model.NewLogistic(c.Features, data.X, data.Y, 1, 1)
	q, _, err := c.repair(trace[rounds-1].Raw)
	if err != nil {
		t.Fatal(err)
	}
	m, err := c.space().Moments(c.floats(q))
	if err != nil {
		t.Fatal(err)
	}
	g, gSD := make([]float64, c.Features), make([]float64, c.Features)
	flat := make([]float64, c.Dim()) // a cavity that pulls nowhere
	all.Gradient(model.NewWorkspace(c.Features, data.Rows()), g, gSD, m.Mean, m.Variance, flat)
	for i, want := range g {
		if got := r.score(rounds - 1)[i]; math.Abs(got-want) > 1e-3 {
			t.Errorf("score %d is %v, want %v", i, got, want)
		}
	}
	curvature, ok := r.curvature()
	if !ok || curvature.SD != 0 {
		t.Fatalf("%v, %+v", ok, curvature)
	}
	last, err := c.Posterior(trace[rounds].Raw)
	if err != nil {
		t.Fatal(err)
	}
	n := c.Features * (c.Features + 1) / 2
	want := make([]float64, n)
	all.Curvature(model.NewWorkspace(c.Features, data.Rows()), want, 0, last.Mean(), square(last.SD()))
	at := 0
	for i := range c.Features {
		for j := i; j < c.Features; j++ {
			w := want[at]
			if at++; i != j {
				w /= math.Sqrt2
			}
			if got := curvature.Matrix.At(i, j); math.Abs(got-w) > 1e-3 {
				t.Errorf("curvature %d, %d is %v, want %v", i, j, got, w)
			}
		}
	}
}

// TestAveragingReadsTheScore: the mean of the updates of shards that count their data as often as there are
// shards observes what virtual clients' sum does. A second step would be at a shard's own point.
func TestAveragingReadsTheScore(t *testing.T) {
	const rounds = 6
	c := oneRow(rounds)
	c.Clip, c.CurvatureFrom, c.CurvatureBound = 0, 0, 0
	c.Strategy = Averaging{Shards: 4, Fit: Fit{Optimiser: Natural, Steps: 1, LearningRate: 1}}
	data := dense(c, 3, 200)
	r := reading{c: c, prior: c.floats(c.prior())}
	for _, o := range observe(t, c, data, rounds, 0) {
		if err := r.addRound(o); err != nil {
			t.Fatal(err)
		}
	}
	all := model.NewLogistic(c.Features, data.X, data.Y, 1, 1)
	g, gSD, flat := make([]float64, c.Features), make([]float64, c.Features), make([]float64, c.Dim())
	all.Gradient(model.NewWorkspace(c.Features, data.Rows()), g, gSD, r.points[rounds-1], r.spreads[rounds-1],
		flat)
	for i, want := range g {
		if got := r.score(rounds - 1)[i]; math.Abs(got-want) > 1e-3 {
			t.Errorf("score %d is %v, want %v", i, got, want)
		}
	}
	c.CurvatureFrom, c.CurvatureBound = rounds+1, 3
	if err := c.Validate(); !errors.Is(err, ErrConfig) {
		t.Errorf("curvature rounds: %v, want ErrConfig", err)
	}
	c.CurvatureFrom, c.CurvatureBound = 0, 0
	c.Strategy = Averaging{Shards: 4, Fit: Fit{Optimiser: Natural, Steps: 2, LearningRate: 1}}
	if _, err := c.NoiseAware(nil); !errors.Is(err, ErrUncorrected) {
		t.Errorf("two steps: %v, want ErrUncorrected", err)
	}
}

func square(v []float64) []float64 {
	out := make([]float64, len(v))
	for i, x := range v {
		out[i] = x * x
	}
	return out
}

// TestCurvatureRoundsKeepTheState: neither the public state nor a factor changes.
func TestCurvatureRoundsKeepTheState(t *testing.T) {
	c := oneRow(2)
	l := learner(t, c, dense(c, 4, 30), 1)
	if p := keepsState(t, c, l, 3); slices.Max(p.Update) == 0 {
		t.Error("the update is empty")
	}
}

// keepsState returns what a learner proposes in its first round, under this number, which must change
// neither the public state nor a factor.
func keepsState(t *testing.T, c Config, l *Learner, round int) Proposal {
	t.Helper()
	state := l.InitialState()
	p := propose(t, l, round, c.Initial(), state)
	next, err := c.Fold(round, c.Initial(), p.Update)
	if err != nil || !slices.Equal(next, c.Initial()) {
		t.Errorf("state %v, update %v, %v", next, p.Update, err)
	}
	before, err := l.factors(state)
	if err != nil {
		t.Fatal(err)
	}
	after, err := l.factors(settle(t, l, round, state, p))
	if err != nil || !slices.EqualFunc(before, after, slices.Equal) {
		t.Errorf("factors changed, %v", err)
	}
	return p
}

// TestCurvatureSensitivity: one record moves the sum of a curvature round by at most the
// sensitivity, however large the record is.
func TestCurvatureSensitivity(t *testing.T) {
	c := oneRow(2)
	data := dense(c, 5, 30)
	limit, err := c.Sensitivity(ReplaceRecord)
	if err != nil {
		t.Fatal(err)
	}
	most := 0.0
	for _, factor := range []float64{-30, 0.1, 1e3, 1e200} {
		other := bayes.Data{X: slices.Clone(data.X), Y: slices.Clone(data.Y)}
		for j := range c.Features {
			other.X[7*c.Features+j] *= factor
		}
		a, b := learner(t, c, data, 1), learner(t, c, other, 1)
		for round := 3; round < 3+c.CurvatureSlices(); round++ {
			pa, pb := propose(t, a, round, c.Initial(), a.InitialState()), propose(t, b, round, c.Initial(),
				b.InitialState())
			square := 0.0
			for i, x := range pa.Update {
				d := float64(x - pb.Update[i])
				square += d * d
			}
			most = max(most, math.Sqrt(square)/float64(limit))
		}
	}
	if most > 1 || most < 0.05 {
		t.Errorf("a record moves the sum by %.3f of the sensitivity", most)
	}
}

// TestNoiseAwareCovers: with noise that swamps the plain posterior the weights of the data stay
// within the intervals, in the mean field and in the full family of a linear model.
func TestNoiseAwareCovers(t *testing.T) {
	full := clippedLinear(gauss.Full)
	full.Clip = 0
	full.Beta = 0
	for _, c := range []Config{oneRow(12), full} {
		rounds := 12
		if c.CurvatureFrom > 0 {
			rounds += c.CurvatureSlices()
		}
		data := dense(c, 6, 400)
		clean := c
		clean.Clip = 0
		exact, err := clean.NoiseAware(observe(t, clean, data, rounds, 0))
		if err != nil {
			t.Fatal(err)
		}
		noisy := observe(t, c, data, rounds, 20)
		q, err := c.NoiseAware(noisy)
		if err != nil {
			t.Fatal(err)
		}
		for i, m := range q.Mean() {
			if z := (m - exact.Mean()[i]) / q.SD()[i]; math.Abs(z) > 4 || q.SD()[i] <= exact.SD()[i] {
				t.Errorf("%s: weight %d is %v sd from that of the data; sd %v, without noise %v", c.Model, i, z,
					q.SD()[i], exact.SD()[i])
			}
		}
	}
}

// TestClipHidesTheData: where a party's clip is far below its factor, the sums say nothing and the
// posterior is the prior; with a clip that does not bind it is not.
func TestClipHidesTheData(t *testing.T) {
	c := oneRow(0)
	c.CurvatureFrom = 0
	c.CurvatureBound = 0
	c.Strategy = Dataset{Fit: Fit{Optimiser: Natural, Steps: 1, LearningRate: 1}}
	data := dense(c, 8, 400)
	for _, clip := range []float64{0.5, 4000} {
		c.Clip = clip
		trace := observe(t, c, data, 8, 0.1)
		for i := range trace {
			trace[i].Parties = 1
		}
		q, err := c.NoiseAware(trace)
		if err != nil {
			t.Fatal(err)
		}
		if prior := q.SD()[0] == 1 && q.Mean()[0] == 0; prior != (clip < 1) {
			t.Errorf("clip %v: mean %v, sd %v", clip, q.Mean(), q.SD())
		}
	}
}

// TestUncorrected: methods without a correction say so.
func TestUncorrected(t *testing.T) {
	adam := logisticConfig()
	if _, err := adam.NoiseAware(nil); !errors.Is(err, ErrUncorrected) {
		t.Errorf("error %v, want ErrUncorrected", err)
	}
	bad := oneRow(3)
	bad.Strategy = Perturbation{bad.Strategy.(Virtual).Fit}
	if err := bad.Validate(); !errors.Is(err, ErrConfig) {
		t.Errorf("curvature rounds with local noise: %v, want ErrConfig", err)
	}
	if _, err := oneRow(3).NoiseAware([]Observation{{Round: 1}}); !errors.Is(err, bayes.ErrShape) {
		t.Errorf("error %v, want ErrShape", err)
	}
}

// TestRoundsWithOthersLeaveTheirNoise: rounds with other parties are no observations, and the noise that
// they left in the state is in those of later rounds as before.
func TestRoundsWithOthersLeaveTheirNoise(t *testing.T) {
	const rounds, others = 8, 3
	c := oneRow(rounds)
	data := dense(c, 6, 300)
	trace := observe(t, c, data, rounds+c.CurvatureSlices(), 5)
	read := func(trace []Observation) *reading {
		r := &reading{c: c, prior: c.floats(c.prior())}
		for _, o := range trace[:rounds] {
			if err := r.addRound(o); err != nil {
				t.Fatal(err)
			}
		}
		return r
	}
	all := read(trace).covariance()
	for i := range others {
		trace[i].Others = true
		trace[i].Sum = make([]int64, c.Dim()) // it is not read
	}
	r := read(trace)
	part := r.covariance()
	if len(r.points) != rounds-others || part.SymmetricDim() != rounds-others {
		t.Fatalf("%d points, %d noises", len(r.points), part.SymmetricDim())
	}
	for i := range rounds - others {
		for j := range rounds - others {
			if x, y := part.At(i, j), all.At(others+i, others+j); x != y || x == 0 {
				t.Errorf("covariance of rounds %d and %d: %v, want %v", others+i+1, others+j+1, x, y)
			}
		}
	}
	if q, err := c.NoiseAware(trace); err != nil || q.SD()[0] <= 0 {
		t.Errorf("%v, %v", q, err)
	}
	trace = trace[:others]
	if _, err := c.NoiseAware(trace); err == nil {
		t.Error("a posterior without an observation")
	}
}

// TestCovarianceIsThatOfTheLoads: the covariance of the observations' noise is the product of their loads
// with themselves: each has its own noise and what all rounds before left in the state.
func TestCovarianceIsThatOfTheLoads(t *testing.T) {
	const rounds, others = 40, 3
	for _, factors := range []Factors{FactorsTied, FactorsNoisy} {
		c := oneRow(rounds)
		c.Beta, c.Factors = 0.3, factors
		if factors == FactorsNoisy {
			c = as(c, NameDataset, func(p *Params) { p.Local = true })
		}
		r := reading{c: c}
		rnd := rand.New(rand.NewPCG(1, 2))
		for at := range rounds {
			r.moved = append(r.moved, rnd.ExpFloat64())
			if at%others != 0 {
				r.points = append(r.points, nil)
				r.rounds = append(r.rounds, at)
				r.variances = append(r.variances, rnd.ExpFloat64())
			}
		}
		if c.released() != (factors == FactorsNoisy) {
			t.Fatalf("%v: released: %t", factors, c.released())
		}
		n := len(r.points)
		loads, want := mat.NewDense(n, rounds, nil), mat.NewSymDense(n, nil)
		for s, at := range r.rounds {
			loads.Set(s, at, math.Sqrt(r.variances[s])/r.whole(s))
			for j := range at {
				if !c.released() {
					loads.Set(s, j, (1-c.Beta)*r.moved[j]/r.whole(s))
				}
			}
		}
		want.SymOuterK(1, loads)
		got := r.covariance()
		for s := range n {
			for u := range n {
				if x, y := got.At(s, u), want.At(s, u); math.Abs(x-y) > 1e-12*y {
					t.Errorf("%v: covariance of %d and %d: %v, want %v", factors, s, u, x, y)
				}
			}
		}
	}
}

// TestSparse: where rounds count less than half of the parties each weight stands by itself.
func TestSparse(t *testing.T) {
	const rounds = 6
	c := oneRow(rounds)
	trace := observe(t, c, dense(c, 3, 60), rounds+c.CurvatureSlices(), 0)
	for _, k := range []struct {
		sets   [][]int
		sparse bool
	}{{[][]int{{0}, {1}, {2}}, true}, {[][]int{{0, 1}, {1, 2}, {2, 0}}, false}} {
		for i := range trace {
			trace[i].Set = k.sets[i%len(k.sets)]
		}
		q, err := c.NoiseAware(trace)
		if err != nil {
			t.Fatal(err)
		}
		if alone := q.Moments().Covariance == nil; alone != k.sparse {
			t.Errorf("sets %v: without the curvature is %v", k.sets, alone)
		}
		for i := range trace[rounds:] { // everybody is in the curvature rounds
			trace[rounds+i].Set = []int{0, 1, 2}
		}
		if got := c.sparse(trace); got != k.sparse {
			t.Errorf("sets %v: sparse is %v", k.sets, got)
		}
	}
}
