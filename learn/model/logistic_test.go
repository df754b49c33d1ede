package model

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/floats"
	"pgregory.net/rapid"
)

// records are n rows over d weights, the last one a bias, and labels drawn from the model.
func records(seed uint64, n, d int) (x, y []float64) {
	r := rand.New(rand.NewPCG(seed, 1))
	w := make([]float64, d)
	for i := range w {
		w[i] = r.NormFloat64()
	}
	x, y = make([]float64, n*d), make([]float64, n)
	for i := range n {
		row := x[i*d : (i+1)*d]
		for j := range row {
			row[j] = r.NormFloat64()
		}
		row[d-1] = 1
		if r.Float64() < sigmoid(floats.Dot(row, w)) {
			y[i] = 1
		}
	}
	return x, y
}

// natural are mean-field natural parameters.
func natural(mean, variance []float64) []float64 {
	d := len(mean)
	v := make([]float64, 2*d)
	for i := range d {
		v[i], v[d+i] = mean[i]/variance[i], -0.5/variance[i]
	}
	return v
}

func moments(v []float64) (mean, variance []float64) {
	d := len(v) / 2
	mean, variance = make([]float64, d), make([]float64, d)
	for i := range d {
		variance[i] = -0.5 / v[d+i]
		mean[i] = v[i] * variance[i]
	}
	return mean, variance
}

// cavityGen draws natural parameters that may well be improper.
func cavityGen(d int) *rapid.Generator[[]float64] {
	return rapid.SliceOfN(rapid.Float64Range(-4, 4), 2*d, 2*d)
}

func TestGradientMatchesDifferences(t *testing.T) {
	const d, n = 4, 9
	x, y := records(3, n, d)
	l := NewLogistic(d, x, y, 1, 0.1)
	ws := NewWorkspace(d, n)
	rapid.Check(t, func(t *rapid.T) {
		mean := rapid.SliceOfN(rapid.Float64Range(-2, 2), d, d).Draw(t, "mean")
		logSD := rapid.SliceOfN(rapid.Float64Range(-2, 1), d, d).Draw(t, "logsd")
		cavity := cavityGen(d).Draw(t, "cavity")
		gMean, gLogSD := make([]float64, d), make([]float64, d)
		l.Gradient(ws, gMean, gLogSD, mean, expTwice(logSD), cavity)
		// Central differences: h^2/6 times third derivatives of some 1e3 at the
		// corner of the range, so 1e-6 at h = 1e-4 is exceeded only by a wrong
		// formula.
		const h = 1e-4
		for i := range d {
			at := func(x []float64, by float64) float64 {
				old := x[i]
				x[i] += by
				e := l.Energy(ws, mean, expTwice(logSD), cavity)
				x[i] = old
				return e
			}
			byMean := (at(mean, h) - at(mean, -h)) / (2 * h)
			byLogSD := (at(logSD, h) - at(logSD, -h)) / (2 * h)
			if math.Abs(byMean-gMean[i]) > 3e-6 || math.Abs(byLogSD-gLogSD[i]) > 3e-6 {
				t.Fatalf("coordinate %d: gradient (%v, %v), differences (%v, %v)", i, gMean[i], gLogSD[i],
					byMean, byLogSD)
			}
		}
	})
}

func expTwice(logSD []float64) []float64 {
	v := make([]float64, len(logSD))
	for i, x := range logSD {
		v[i] = math.Exp(2 * x)
	}
	return v
}

func TestLogisticUpdateReachesTheOptimum(t *testing.T) {
	const d, n = 5, 60
	x, y := records(5, n, d)
	l := NewLogistic(d, x, y, 6000, 0.01)
	ws := NewWorkspace(d, n)
	prior := natural(make([]float64, d), []float64{1, 1, 1, 1, 1})
	dst := make([]float64, 2*d)
	l.Update(ws, dst, prior, prior)
	floats.Add(dst, prior)
	mean, variance := moments(dst)
	gMean, gLogSD := make([]float64, d), make([]float64, d)
	l.Gradient(ws, gMean, gLogSD, mean, variance, prior)
	// The free energy is concave in (mean, sd) and its curvature in the mean is at
	// least the prior's 1: a gradient of 1e-6 is a distance of at most 1e-6.
	if g := math.Max(floats.Norm(gMean, 2), floats.Norm(gLogSD, 2)); g > 1e-6 {
		t.Errorf("gradient %g at the end, want 0", g)
	}
}

func TestLogisticUpdateClimbs(t *testing.T) {
	const d, n = 6, 20
	x, y := records(7, n, d)
	l := NewLogistic(d, x, y, 5, 0.05)
	ws := NewWorkspace(d, n)
	q := natural(make([]float64, d), []float64{1, 1, 1, 1, 1, 1})
	before := l.Energy(ws, make([]float64, d), []float64{1, 1, 1, 1, 1, 1}, q)
	dst := make([]float64, 2*d)
	l.Update(ws, dst, q, q)
	floats.Add(dst, q)
	mean, variance := moments(dst)
	if after := l.Energy(ws, mean, variance, q); after <= before {
		t.Errorf("free energy %v after the steps, %v before", after, before)
	}
}

// One Adam step moves every coordinate by the rate, up to its epsilon.
func TestFirstStepIsTheRate(t *testing.T) {
	const d, n, rate = 3, 8, 0.05
	x, y := records(9, n, d)
	l := NewLogistic(d, x, y, 1, rate)
	q := natural([]float64{0.5, -0.2, 0.1}, []float64{1, 2, 0.5})
	dst := make([]float64, 2*d)
	l.Update(NewWorkspace(d, n), dst, q, q)
	floats.Add(dst, q)
	mean, variance := moments(dst)
	m0, v0 := moments(q)
	for i := range d {
		if dm := math.Abs(mean[i] - m0[i]); math.Abs(dm-rate) > 1e-6 {
			t.Errorf("mean %d moved by %v, want %v", i, dm, rate)
		}
		if ds := 0.5 * math.Abs(math.Log(variance[i]/v0[i])); math.Abs(ds-rate) > 1e-6 {
			t.Errorf("log sd %d moved by %v, want %v", i, ds, rate)
		}
	}
}

func TestImproperCavitiesStayFinite(t *testing.T) {
	const d, n = 3, 4
	x, y := records(11, n, d)
	ws := NewWorkspace(d, n)
	for _, steps := range []int{1, 5, 20000} {
		for _, p := range []float64{0, 1e-300, 3, 1e6, 1e150} {
			l := NewLogistic(d, x, y, steps, 0.05)
			q := natural(make([]float64, d), []float64{1, 1, 1})
			cavity := []float64{1, -1, 0, p, p, p} // precisions -2p
			dst := make([]float64, 2*d)
			l.Update(ws, dst, q, cavity)
			for i, u := range dst {
				if math.IsNaN(u) || math.IsInf(u, 0) {
					t.Fatalf("%d steps, precision %v: coordinate %d is %v", steps, -2*p, i, u)
				}
			}
		}
	}
}

func TestEmptyShardMovesToTheCavity(t *testing.T) {
	const d = 2
	l := NewLogistic(d, nil, nil, 5000, 0.01)
	q := natural([]float64{0, 0}, []float64{1, 1})
	cavity := natural([]float64{0.5, -0.3}, []float64{0.5, 1.5})
	dst := make([]float64, 2*d)
	l.Update(NewWorkspace(d, 0), dst, q, cavity)
	floats.Add(dst, q)
	if !floats.EqualApprox(dst, cavity, 1e-5) {
		t.Errorf("an empty shard went to %v, want the cavity %v", dst, cavity)
	}
	l.Update(NewWorkspace(d, 0), dst, q, q)
	if floats.Norm(dst, 2) != 0 {
		t.Errorf("an empty shard with q as its cavity moved by %v", dst)
	}
}

// A workspace carries nothing from one shard to the next.
func TestWorkspaceIsScratch(t *testing.T) {
	const d = 4
	xa, ya := records(1, 30, d)
	xb, yb := records(2, 12, d)
	big, small := NewLogistic(d, xa, ya, 5, 0.05), NewLogistic(d, xb, yb, 5, 0.05)
	q := natural([]float64{1, 0, 0, -1}, []float64{1, 2, 3, 4})
	want, got := make([]float64, 2*d), make([]float64, 2*d)
	small.Update(NewWorkspace(d, 12), want, q, q)
	ws := NewWorkspace(d, 30)
	big.Update(ws, got, q, q)
	small.Update(ws, got, q, q)
	if !floats.Equal(got, want) {
		t.Errorf("%v after another shard, %v in fresh memory", got, want)
	}
}

func TestLogisticUpdateDoesNotAllocate(t *testing.T) {
	const d, n = 10, 12
	x, y := records(4, n, d)
	l := NewLogistic(d, x, y, 5, 0.05)
	ws := NewWorkspace(d, n)
	q, dst := make([]float64, 2*d), make([]float64, 2*d)
	for i := range d {
		q[d+i] = -0.5
	}
	if allocs := testing.AllocsPerRun(20, func() { l.Update(ws, dst, q, q) }); allocs > 2 {
		t.Errorf("%v allocations per update, want none but the optimiser's header", allocs)
	}
}

// BenchmarkLogisticShard is one virtual client of the Adult data: 12 rows, 109
// weights, 5 steps. A round with 10 parties is 2000 of them.
func BenchmarkLogisticShard(b *testing.B) {
	const d, n = 109, 12
	x, y := records(4, n, d)
	l := NewLogistic(d, x, y, 5, 0.05)
	ws := NewWorkspace(d, n)
	q, dst := make([]float64, 2*d), make([]float64, 2*d)
	for i := range d {
		q[d+i] = -0.5
	}
	b.ReportAllocs()
	for b.Loop() {
		l.Update(ws, dst, q, q)
	}
}
