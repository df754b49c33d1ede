package model

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/floats"
	"pgregory.net/rapid"

	"choir/learn/gauss"
)

// network is a small shard with its settings and a proper posterior.
func network(seed uint64, rows, samples int) (n *neural, s Settings, mean, logSD []float64) {
	s = Settings{Family: gauss.MeanField, Features: 3, Hidden: 4, Samples: samples, Steps: 5,
		LearningRate: 0.05, Floor: 1}
	x, y := records(seed, rows, s.Features)
	d := networkKind().Weights(s)
	r := rand.New(rand.NewPCG(seed, 7))
	mean, logSD = make([]float64, d), make([]float64, d)
	for i := range d {
		mean[i], logSD[i] = r.NormFloat64(), -1+0.5*r.NormFloat64()
	}
	return newNetwork(s, x, y), s, mean, logSD
}

// estimate is the expected log-likelihood for the samples that seed gives: what
// gradient is the derivative of.
func (n *neural) estimate(mean, variance []float64, seed uint64) float64 {
	ws, h := new(Workspace), n.hidden
	a, s := n.inputs(ws, mean, variance)
	p := n.newPass(ws, mean, variance)
	var e float64
	for i, y := range n.y {
		for j, v := range s.Data[i*h : (i+1)*h] {
			p.sd[j] = math.Sqrt(v)
		}
		from := normals{state: seed ^ n.seed[i]}
		for k := range n.samples {
			from.antithetic(p.eps, k)
			mu, v := p.forward(a.Data[i*h : (i+1)*h])
			e += (y*mu - expectSoftplus(mu, v)) / float64(n.samples)
		}
	}
	return e
}

// Back-propagation against central differences of the same samples' estimate. The estimate
// is smooth except for the units' kinks; a difference across one is off by the step times a
// slope, so the step is small: with h = 1e-6 rounding is some 1e-15 * 20 / 1e-6 = 2e-8 and
// kinks are at most 1e-6 times a few tens.
func TestNetworkGradientMatchesDifferences(t *testing.T) {
	const h = 1e-6
	for seed := range uint64(6) {
		n, _, mean, logSD := network(seed, 7, 1+int(seed))
		d := len(mean)
		gMean, gLogSD := make([]float64, d), make([]float64, d)
		n.gradient(NewWorkspace(d, 7), gMean, gLogSD, mean, expTwice(logSD), 42)
		check := func(name string, x, g []float64) {
			for i := range x {
				at := func(by float64) float64 {
					old := x[i]
					x[i] += by
					e := n.estimate(mean, expTwice(logSD), 42)
					x[i] = old
					return e
				}
				if want := (at(h) - at(-h)) / (2 * h); math.Abs(g[i]-want) > 1e-5 {
					t.Errorf("seed %d, %s %d: gradient %v, difference %v", seed, name, i, g[i], want)
				}
			}
		}
		check("mean", mean, gMean)
		check("log sd", logSD, gLogSD)
	}
}

// The estimate's expectation against drawing all weights, which shares no code with
// it: agreement within 5 standard errors of both (false alarm 6e-7).
func TestNetworkEstimateIsUnbiased(t *testing.T) {
	n, s, mean, logSD := network(3, 2, 4000)
	got := n.estimate(mean, expTwice(logSD), 5)
	const draws = 200000
	r := rand.New(rand.NewPCG(1, 2))
	var sum, square float64
	w := make([]float64, len(mean))
	for range draws {
		for i := range w {
			w[i] = mean[i] + math.Exp(logSD[i])*r.NormFloat64()
		}
		var e float64
		for i, y := range n.y {
			f := output(s, w, n.x.Data[i*s.Features:(i+1)*s.Features])
			e += y*f - softplus(f)
		}
		sum += e
		square += e * e
	}
	want := sum / draws
	se := math.Sqrt((square/draws - want*want) / draws)
	t.Logf("estimate %.5f, weights drawn %.5f +- %.5f", got, want, se)
	// Half of the estimate's 4000 samples are fresh, and each has at most the plain
	// average's variance (Rao-Blackwell), so its standard error is at most
	// se sqrt(draws/2000): 5 of the two together. Antithetic pairs do better.
	if math.Abs(got-want) > 5*se*math.Sqrt(1+draws/2000) {
		t.Errorf("estimate %v, want %v +- %v", got, want, se)
	}
}

// output is the network's logit for given weights, as the package comment orders them.
func output(s Settings, w, x []float64) float64 {
	h, cols := s.Hidden, s.Features
	f := w[h*cols+h]
	for i := range h {
		f += w[h*cols+i] * max(0, floats.Dot(w[i*cols:(i+1)*cols], x))
	}
	return f
}

func TestNetworkRecordGradientsAddUp(t *testing.T) {
	n, _, mean, logSD := network(4, 6, 3)
	d := len(mean)
	ws := NewWorkspace(d, 6)
	want := make([]float64, 2*d)
	n.gradient(ws, want[:d], want[d:], mean, expTwice(logSD), digest(digest(0, mean), expTwice(logSD)))
	got := make([]float64, 2*d)
	err := n.RecordGradients(ws, mean, logSD, []int{5, 4, 3, 2, 1, 0}, func(_ int, g []float64) error {
		floats.Add(got, g)
		clear(g) // the caller may
		return nil
	})
	if err != nil || !floats.EqualApprox(got, want, 1e-11) {
		t.Errorf("%v, %v, want %v", got, err, want)
	}
}

// A record's gradient does not depend on other records.
func TestNetworkRecordIsIndependent(t *testing.T) {
	n, s, mean, logSD := network(5, 6, 3)
	one := func(n *neural, row int) (out []float64) {
		err := n.RecordGradients(NewWorkspace(len(mean), 6), mean, logSD, []int{row},
			func(_ int, g []float64) error {
				out = append(out, g...)
				return nil
			})
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	alone := newNetwork(s, n.x.Data[4*s.Features:5*s.Features], n.y[4:5])
	want, got := one(alone, 0), one(n, 4)
	if !floats.Equal(got, want) || floats.Norm(want, 2) == 0 {
		t.Errorf("gradient %v among others, %v alone", got, want)
	}
	if floats.Equal(one(n, 3), want) {
		t.Error("two records have one gradient")
	}
}

// Updates are functions of their arguments, finite under improper cavities, and
// proper posteriors.
func TestNetworkUpdateIsTame(t *testing.T) {
	n, _, _, _ := network(6, 9, 2)
	d := networkKind().Weights(Settings{Features: 3, Hidden: 4})
	ws := NewWorkspace(d, 9)
	rapid.Check(t, func(t *rapid.T) {
		q := natural(rapid.SliceOfN(rapid.Float64Range(-3, 3), d, d).Draw(t, "mean"),
			rapid.SliceOfN(rapid.Float64Range(0.01, 4), d, d).Draw(t, "variance"))
		cavity := cavityGen(d).Draw(t, "cavity")
		dst, again := make([]float64, 2*d), make([]float64, 2*d)
		n.Update(ws, dst, q, cavity)
		n.Update(NewWorkspace(d, 9), again, q, cavity)
		if !floats.Equal(dst, again) {
			t.Fatal("two updates from the same arguments differ")
		}
		for i, u := range dst {
			if math.IsNaN(u) || math.IsInf(u, 0) || (i >= d && !(q[i]+u < 0)) {
				t.Fatalf("coordinate %d: update %v of %v", i, u, q[i])
			}
		}
	})
}

func TestNetworkWithoutRows(t *testing.T) {
	_, s, mean, logSD := network(7, 1, 1)
	s.Steps = 1 // Adam turns rounding errors after the first into full steps
	n := newNetwork(s, nil, nil)
	d := len(mean)
	q := natural(mean, expTwice(logSD))
	dst := make([]float64, 2*d)
	n.Update(NewWorkspace(d, 0), dst, q, q)
	if n.Rows() != 0 || floats.Norm(dst, math.Inf(1)) > 1e-6 {
		t.Errorf("a shard without records moves q by %v", dst)
	}
}

// exclusiveOr is a problem that no linear model can solve.
func exclusiveOr(seed uint64, rows int) (x, y []float64) {
	r := rand.New(rand.NewPCG(seed, 3))
	for range rows {
		a, b := r.NormFloat64(), r.NormFloat64()
		x = append(x, a, b, 1)
		if a*b > 0 {
			y = append(y, 1)
		} else {
			y = append(y, 0)
		}
	}
	return x, y
}

// TestNetworkLearnsExclusiveOr: from small weights of broken symmetry, the network
// gets right what a linear model guesses.
func TestNetworkLearnsExclusiveOr(t *testing.T) {
	s := Settings{Family: gauss.MeanField, Features: 3, Hidden: 12, Samples: 2, Steps: 400,
		LearningRate: 0.03, Floor: 1}
	x, y := exclusiveOr(1, 600)
	kind := networkKind()
	d := kind.Weights(s)
	prior, q := make([]float64, 2*d), make([]float64, 2*d)
	r := rand.New(rand.NewPCG(9, 9))
	for i := range d {
		prior[d+i] = -0.5
		q[d+i] = -0.5 / 0.01
		q[i] = r.NormFloat64() * 0.3 / 0.01
	}
	dst := make([]float64, 2*d)
	newNetwork(s, x, y).Update(NewWorkspace(d, len(y)), dst, q, prior)
	floats.Add(dst, q)
	m, err := gauss.Space{Family: gauss.MeanField, Features: d}.Moments(dst)
	if err != nil {
		t.Fatal(err)
	}
	p := kind.Predictor(s, m)
	testX, testY := exclusiveOr(2, 500)
	right := 0
	for i, label := range testY {
		if mean, _ := p.Score(testX[3*i:3*i+3], label); (mean > 0.5) == (label == 1) {
			right++
		}
	}
	t.Logf("%d of %d right", right, len(testY))
	if right < 450 {
		t.Errorf("%d of %d right, a linear model gets 250", right, len(testY))
	}
}

// The predictive probability against drawing all weights: 5 standard errors of both
// averages together, at most 1/2/sqrt(100) and 1/2/sqrt(draws).
func TestNetworkPredictive(t *testing.T) {
	_, s, mean, logSD := network(11, 1, 1)
	p := networkKind().Predictor(s, &gauss.Moments{Mean: mean, Variance: expTwice(logSD)})
	r := rand.New(rand.NewPCG(5, 6))
	w := make([]float64, len(mean))
	for _, x := range [][]float64{{0.3, -1, 1}, {2, 2, 1}, {0, 0, 0}} {
		const draws = 100000
		var sum, square float64
		for range draws {
			for i := range w {
				w[i] = mean[i] + math.Exp(logSD[i])*r.NormFloat64()
			}
			v := sigmoid(output(s, w, x))
			sum += v
			square += v * v
		}
		want := sum / draws
		sd := math.Sqrt(square/draws - want*want)
		got := p.Predict(x)
		tol := 5 * sd / math.Sqrt(predictiveSamples)
		if math.Abs(got.Mean-want) > tol || math.Abs(got.MeanSD-sd) > 0.5*sd {
			t.Errorf("at %v: %+v, want probability %v, its spread %v", x, got, want, sd)
		}
		for _, y := range []float64{0, 1} {
			if prob, l := p.Score(x, y); math.Abs(prob-got.Mean) > 1e-9 ||
				math.Abs(math.Exp(l)-math.Abs(1-y-got.Mean)) > 1e-9 {
				t.Errorf("at %v, target %v: probability %v, log density %v, predicted %v", x, y, prob, l,
					got.Mean)
			}
		}
	}
}

// The stream's normals have the moments of normals: five standard errors.
func TestNormals(t *testing.T) {
	const n = 200000
	x := make([]float64, n)
	from := normals{state: 3}
	from.fill(x)
	var m [5]float64
	for _, v := range x {
		m[1] += v / n
		m[2] += v * v / n
		m[3] += v * v * v / n
		m[4] += v * v * v * v / n
	}
	// mean and variance of z^k
	for k, want := range map[int][2]float64{1: {0, 1}, 2: {1, 2}, 3: {0, 15}, 4: {3, 96}} {
		if math.Abs(m[k]-want[0]) > 5*math.Sqrt(want[1]/n) {
			t.Errorf("moment %d is %v, want %v", k, m[k], want[0])
		}
	}
	from.antithetic(x, 1)
	if math.Abs(floats.Sum(x)/n+m[1]) > 1e-12 {
		t.Error("the second sample isn't the mirror image of the first")
	}
}

func BenchmarkNetworkGradient(b *testing.B) {
	s := Settings{Features: 109, Hidden: 50, Samples: 4}
	x, y := records(1, 244, s.Features)
	n := newNetwork(s, x, y)
	d := networkKind().Weights(s)
	mean := make([]float64, d)
	variance := make([]float64, d)
	g := make([]float64, 2*d)
	for i := range variance {
		mean[i], variance[i] = 0.01*float64(i%7-3), 0.01
	}
	ws := NewWorkspace(d, len(y))
	for b.Loop() {
		n.gradient(ws, g[:d], g[d:], mean, variance, 1)
	}
}
