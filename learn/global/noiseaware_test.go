package global

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"choir/learn/bayes"
	"choir/learn/model"
	"choir/learn/pvi"
	"choir/learn/pvi/reading"
)

// curved is a configuration with curvature rounds after the given number of rounds.
func curved(rounds int, optimiser Optimiser, rate float64) Config {
	c := Config{Model: bayes.Logistic, Features: 4, PriorPrecision: 1, InitialSD: 0.1, Clip: 20, FracBits: 20,
		SampleRate: 1, Records: 3000, MaxRecords: 3000, Optimiser: optimiser, LearningRate: rate,
		CurvatureFrom: rounds + 1, CurvatureBound: 2}
	if optimiser == Natural {
		c.SDUnit = 1
		c.PrecisionFloor = 1
	}
	return c
}

// revealed runs a configuration with noise of this standard deviation on the sums.
func revealed(t *testing.T, c Config, data bayes.Data, rounds int, sd float64) []reading.Observation {
	t.Helper()
	l := learner(t, c, data)
	r := rand.New(rand.NewPCG(11, 12))
	raw := c.Initial()
	units := math.Ldexp(sd, int(c.FracBits))
	var trace []reading.Observation
	for round := 1; round <= rounds; round++ {
		p, err := l.Propose(t.Context(), round, raw, seeded(byte(round)))
		if err != nil {
			t.Fatal(err)
		}
		sum := slices.Clone(p.Update)
		for i := range sum {
			sum[i] += int64(units * r.NormFloat64())
		}
		trace = append(trace, reading.Observation{Round: round, Raw: raw, Sum: sum, Variance: units * units})
		if raw, err = c.Fold(round, raw, sum); err != nil {
			t.Fatal(err)
		}
	}
	return trace
}

// maximum of the log posterior by Newton's method.
func maximum(t *testing.T, c Config, data bayes.Data) []float64 {
	t.Helper()
	m := make([]float64, c.Features)
	for range 300 { // a quasi-Newton step by the diagonal converges for few columns
		g, h := make([]float64, c.Features), make([]float64, c.Features)
		for i, y := range data.Y {
			x := data.X[i*c.Features : (i+1)*c.Features]
			a := 0.0
			for j, v := range x {
				a += v * m[j]
			}
			p := 1 / (1 + math.Exp(-a))
			for j, v := range x {
				g[j] += (y - p) * v
				h[j] += p * (1 - p) * v * v
			}
		}
		for j := range m {
			m[j] += 0.5 * (g[j] - m[j]) / (h[j] + 1)
		}
	}
	return m
}

// TestNoiseAware: with noise, samples and both kinds of steps, the weights of the data are within
// the intervals, whose widths grow with the noise.
func TestNoiseAware(t *testing.T) {
	data := classes(5, 3000, 4)
	for _, tc := range []struct {
		name      string
		optimiser Optimiser
		rate      float64
		sample    float64
		sd        float64
	}{{"adam", Adam, 0.05, 1, 30}, {"samples", Adam, 0.05, 0.3, 10}, {"natural", Natural, 0.2, 1, 1}} {
		t.Run(tc.name, func(t *testing.T) {
			c := curved(60, tc.optimiser, tc.rate)
			c.SampleRate = tc.sample
			want := maximum(t, c, data)
			q, err := c.NoiseAware(revealed(t, c, data, 60+2*c.CurvatureSlices(), tc.sd))
			if err != nil {
				t.Fatal(err)
			}
			plain := 1 / math.Sqrt(float64(data.Rows())) // about the width of the data
			for i, m := range q.Mean() {
				if z := (m - want[i]) / q.SD()[i]; math.Abs(z) > 4 || q.SD()[i] < plain || q.SD()[i] > 0.5 {
					t.Errorf("weight %d is %.2f sd from %.3f; sd %.4f", i, z, want[i], q.SD()[i])
				}
			}
		})
	}
}

// TestCurvatureOfRecords: without noise a curvature round's sums are the curvature's entries, the
// state does not change, and an enormous record moves a sum by at most the clip.
func TestCurvatureOfRecords(t *testing.T) {
	c := curved(1, Adam, 0.05)
	c.CurvatureBound = 50
	data := classes(6, 200, 4)
	trace := revealed(t, c, data, 1+c.CurvatureSlices(), 0)
	all := model.NewLogistic(c.Features, data.X, data.Y, 1, 1)
	s, err := c.open(trace[1].Raw)
	if err != nil {
		t.Fatal(err)
	}
	mean, logSD := c.parameters(s.param)
	variance := make([]float64, len(logSD))
	for i, v := range logSD {
		variance[i] = math.Exp(2 * v)
	}
	n := c.Features * (c.Features + 1) / 2
	want := make([]float64, n)
	all.Curvature(model.NewWorkspace(c.Features, data.Rows()), want, 0, mean, variance)
	e := newEntries(c, attended(trace))
	for i, o := range trace[1:] {
		e.add(o, i+1)
		if !slices.Equal(o.Raw, trace[1].Raw) {
			t.Errorf("round %d changed the state", o.Round)
		}
	}
	for i, w := range want {
		if math.Abs(e.sum[i]-w) > 1e-3*(1+math.Abs(w)) {
			t.Errorf("entry %d is %v, want %v", i, e.sum[i], w)
		}
	}
	huge := bayes.Data{X: slices.Clone(data.X), Y: data.Y}
	for j := range c.Features {
		huge.X[j] *= 1e160
	}
	p, err := learner(t, c, huge).Propose(t.Context(), 2, trace[1].Raw, seeded(1))
	if err != nil {
		t.Fatal(err)
	}
	square := 0.0
	for i, v := range p.Update {
		d := float64(v - trace[1].Sum[i])
		square += d * d
	}
	if limit, err := c.sensitivity(); err != nil || math.Sqrt(square) > float64(limit) {
		t.Errorf("a record moves the sum by %v, the sensitivity is %v, %v", math.Sqrt(square), limit, err)
	}
}

// TestTakenByClips: what rounds reveal of clipped records and what the clips take of them add up to the
// records' curvature, but for the grid.
func TestTakenByClips(t *testing.T) {
	c := curved(1, Adam, 0.05)
	c.CurvatureBound = 0.5
	data := classes(6, 200, 4)
	trace := revealed(t, c, data, 1+c.CurvatureSlices(), 0)
	e := newEntries(c, attended(trace))
	for at, o := range trace[1:] {
		e.add(o, 1+at)
	}
	shown, ok := e.curvature()
	if !ok {
		t.Fatal("entries are missing")
	}
	s, err := c.open(trace[1].Raw)
	if err != nil {
		t.Fatal(err)
	}
	mean, logSD := c.parameters(s.param)
	d := c.Features
	variance := make([]float64, d)
	for i, v := range logSD {
		variance[i] = math.Exp(2 * v)
	}
	all := model.NewLogistic(d, data.X, data.Y, 1, 1)
	sum, want := mat.NewSymDense(d, nil), mat.NewSymDense(d, nil)
	slope := make([]float64, 1) // the last entry, of the column of ones
	for i := range data.Y {
		all.RecordCurvature(slope, d*(d+1)/2-1, i, mean, variance)
		x := data.X[i*d : (i+1)*d]
		c.terms().Taken(sum, slope[0], x)
		want.SymRankOne(want, slope[0], mat.NewVecDense(d, x))
	}
	if share := mat.Trace(sum) / mat.Trace(want); share < 0.05 {
		t.Fatalf("the clips take %.3f: the check is idle", share)
	}
	sum.AddSym(sum, shown.Matrix)
	if !mat.EqualApprox(sum, want, 1e-3) {
		t.Errorf("%v, want %v", mat.Formatted(sum), mat.Formatted(want))
	}
}

func TestNoiseAwareNeedsTheCurvature(t *testing.T) {
	c := curved(2, Adam, 0.05)
	none := c
	none.CurvatureFrom = 0
	none.CurvatureBound = 0
	for _, tc := range []Config{c, none} {
		if _, err := tc.NoiseAware(revealed(t, tc, classes(7, 50, 4), 2, 1)); !errors.Is(err, pvi.ErrUncorrected) {
			t.Errorf("error %v, want ErrUncorrected", err)
		}
	}
	bad := c
	bad.Model = bayes.BNN
	bad.Hidden = 2
	bad.Samples = 1
	if err := bad.Validate(); !errors.Is(err, ErrConfig) {
		t.Errorf("a network with curvature rounds: %v, want ErrConfig", err)
	}
}

// TestDrowned: the posterior is the prior if the noise on the mean score is longer than the number
// of records, and not if it is shorter.
func TestDrowned(t *testing.T) {
	const rounds = 16
	data := classes(5, 300, 4)
	for _, tc := range []struct {
		name  string
		times float64 // the records
		prior bool
	}{{"longer", 1.1, true}, {"shorter", 0.1, false}} {
		t.Run(tc.name, func(t *testing.T) {
			c := curved(rounds, Adam, 0.05)
			c.Records = 300
			whole := rounds + c.CurvatureSlices()
			sd := tc.times * 300 * math.Sqrt(rounds) / math.Sqrt(float64(c.weights()))
			q, err := c.NoiseAware(revealed(t, c, data, whole, sd))
			if err != nil {
				t.Fatal(err)
			}
			prior := true
			for i, m := range q.Mean() {
				prior = prior && m == 0 && q.SD()[i] == 1
			}
			if prior != tc.prior {
				t.Errorf("mean %v, sd %v", q.Mean(), q.SD())
			}
		})
	}
}

// TestPredictsNearTheAverage: where noise hides the curvature predictions stay near those of the averaged
// means. Those at the last of steps that noise throws far lose .03 nats or more.
func TestPredictsNearTheAverage(t *testing.T) {
	data := classes(5, 3000, 4)
	c := curved(60, Adam, 0.3)
	c.Averaging = 3
	c.CurvatureBound = 1000 // far too much noise
	trace := revealed(t, c, data, 60+c.CurvatureSlices(), 500)
	raw := trace[len(trace)-1].Raw
	thrown := slices.Clone(raw)
	copy(thrown[3*c.Dim():], raw[:c.Dim()])
	var scores []float64
	for _, state := range [][]int64{raw, thrown} {
		q, err := c.Posterior(state)
		scores = append(scores, likelihood(t, q, err, data))
	}
	q, err := c.NoiseAware(trace)
	scores = append(scores, likelihood(t, q, err, data))
	if at, last, got := scores[0], scores[1], scores[2]; !(last < at-0.03 && got > at-0.01) {
		t.Errorf("averaged means predict %.3f, the last %.3f, with the noise counted %.3f", at, last, got)
	}
}

// likelihood is the mean log-likelihood of data.
func likelihood(t *testing.T, q *bayes.Posterior, err error, data bayes.Data) float64 {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	s, err := q.Evaluate(data)
	if err != nil {
		t.Fatal(err)
	}
	return s.LogLikelihood
}
