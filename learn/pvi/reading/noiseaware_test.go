package reading

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"choir/learn/bayes"
	"choir/learn/gauss"
	"choir/learn/model"
	"choir/learn/pvi"
)

// oneRow is a logistic configuration of a record a shard with curvature rounds at the end.
func oneRow(rounds int) pvi.Config {
	c := logisticConfig()
	c.Beta = 0
	c.Clip = 3
	c.Damping = 0.2
	c.StartPrecision = 4
	c.Strategy = pvi.Virtual{Shards: 4096, ShardRows: 1,
		Fit: pvi.Fit{Optimiser: pvi.Natural, Steps: 1, LearningRate: 1}}
	c.CurvatureFrom = rounds + 1
	c.CurvatureBound = 3
	return c
}

// observe runs a configuration and returns what its rounds revealed.
func observe(t *testing.T, c pvi.Config, data bayes.Data, rounds int, sd float64) []Observation {
	t.Helper()
	l := learner(t, c, data, 1)
	r := rand.New(rand.NewPCG(7, 8))
	raw, state := c.Initial(), l.InitialState()
	var trace []Observation
	for round := 1; round <= rounds; round++ {
		sum := make([]int64, c.Dim())
		state = add(t, sum, l, round, raw, state)
		units := sd * math.Ldexp(1, int(c.FracBits))
		for i := range sum {
			sum[i] += int64(units * r.NormFloat64())
		}
		trace = append(trace, Observation{Round: round, Raw: raw, Sum: sum, Variance: units * units})
		raw = fold(t, c, round, raw, sum)
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
	r := reading{c: c, prior: priorOf(c)}
	trace := observe(t, c, data, rounds+c.CurvatureSlices(), 0)
	for _, o := range trace {
		add := r.addRound
		if c.CurvatureRound(o.Round) {
			add = r.addCurvature
		}
		if err := add(o); err != nil {
			t.Fatal(err)
		}
	}
	all := model.NewLogistic(c.Features, data.X, data.Y, 1, 1)
	q, err := c.Posterior(trace[rounds-1].Raw)
	if err != nil {
		t.Fatal(err)
	}
	m := q.Moments()
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
	c.Strategy = pvi.Averaging{Shards: 4, Fit: pvi.Fit{Optimiser: pvi.Natural, Steps: 1, LearningRate: 1}}
	data := dense(c, 3, 200)
	r := reading{c: c, prior: priorOf(c)}
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
	if err := c.Validate(); !errors.Is(err, pvi.ErrConfig) {
		t.Errorf("curvature rounds: %v, want pvi.ErrConfig", err)
	}
	c.CurvatureFrom, c.CurvatureBound = 0, 0
	c.Strategy = pvi.Averaging{Shards: 4, Fit: pvi.Fit{Optimiser: pvi.Natural, Steps: 2, LearningRate: 1}}
	if _, err := NoiseAware(c, nil); !errors.Is(err, pvi.ErrUncorrected) {
		t.Errorf("two steps: %v, want pvi.ErrUncorrected", err)
	}
}

func square(v []float64) []float64 {
	out := make([]float64, len(v))
	for i, x := range v {
		out[i] = x * x
	}
	return out
}

// TestNoiseAwareCovers: with noise that swamps the plain posterior the weights of the data stay
// within the intervals, in the mean field and in the full family of a linear model.
func TestNoiseAwareCovers(t *testing.T) {
	full := clippedLinear(gauss.Full)
	full.Clip = 0
	full.Beta = 0
	for _, c := range []pvi.Config{oneRow(12), full} {
		rounds := 12
		if c.CurvatureFrom > 0 {
			rounds += c.CurvatureSlices()
		}
		data := dense(c, 6, 400)
		clean := c
		clean.Clip = 0
		exact, err := NoiseAware(clean, observe(t, clean, data, rounds, 0))
		if err != nil {
			t.Fatal(err)
		}
		noisy := observe(t, c, data, rounds, 20)
		q, err := NoiseAware(c, noisy)
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
	c.Strategy = pvi.Dataset{Fit: pvi.Fit{Optimiser: pvi.Natural, Steps: 1, LearningRate: 1}}
	data := dense(c, 8, 400)
	for _, clip := range []float64{0.5, 4000} {
		c.Clip = clip
		trace := observe(t, c, data, 8, 0.1)
		for i := range trace {
			trace[i].Parties = 1
		}
		q, err := NoiseAware(c, trace)
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
	if _, err := NoiseAware(adam, nil); !errors.Is(err, pvi.ErrUncorrected) {
		t.Errorf("error %v, want pvi.ErrUncorrected", err)
	}
	bad := oneRow(3)
	bad.Strategy = pvi.Perturbation{Fit: bad.Strategy.(pvi.Virtual).Fit}
	if err := bad.Validate(); !errors.Is(err, pvi.ErrConfig) {
		t.Errorf("curvature rounds with local noise: %v, want pvi.ErrConfig", err)
	}
	if _, err := NoiseAware(oneRow(3), []Observation{{Round: 1}}); !errors.Is(err, bayes.ErrShape) {
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
		r := &reading{c: c, prior: priorOf(c)}
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
	if q, err := NoiseAware(c, trace); err != nil || q.SD()[0] <= 0 {
		t.Errorf("%v, %v", q, err)
	}
	trace = trace[:others]
	if _, err := NoiseAware(c, trace); err == nil {
		t.Error("a posterior without an observation")
	}
}

// TestCovarianceIsThatOfTheLoads: the covariance of the observations' noise is the product of their loads
// with themselves: each has its own noise and what all rounds before left in the state.
func TestCovarianceIsThatOfTheLoads(t *testing.T) {
	const rounds, others = 40, 3
	for _, factors := range []pvi.Factors{pvi.FactorsTied, pvi.FactorsNoisy} {
		c := oneRow(rounds)
		c.Beta, c.Factors = 0.3, factors
		if factors == pvi.FactorsNoisy {
			c.Strategy = pvi.Dataset{Fit: c.Strategy.(pvi.Virtual).Fit, Local: true}
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
		if c.Released() != (factors == pvi.FactorsNoisy) {
			t.Fatalf("%v: released: %t", factors, c.Released())
		}
		n := len(r.points)
		loads, want := mat.NewDense(n, rounds, nil), mat.NewSymDense(n, nil)
		for s, at := range r.rounds {
			loads.Set(s, at, math.Sqrt(r.variances[s])/r.whole(s))
			for j := range at {
				if !c.Released() {
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
		q, err := NoiseAware(c, trace)
		if err != nil {
			t.Fatal(err)
		}
		if alone := q.Moments().Covariance == nil; alone != k.sparse {
			t.Errorf("sets %v: without the curvature is %v", k.sets, alone)
		}
		for i := range trace[rounds:] { // everybody is in the curvature rounds
			trace[rounds+i].Set = []int{0, 1, 2}
		}
		if got := sparse(c, trace); got != k.sparse {
			t.Errorf("sets %v: sparse is %v", k.sets, got)
		}
	}
}
