package noiseaware

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// TestAnswers: the share of scores that clips leave is that of drawn records, near the weights and far from
// them, to .03, and scores over it less what they have beside are those of whole records, to .02 of their
// length and five standard deviations of their sampling.
func TestAnswers(t *testing.T) {
	const d, n, observation, observed = 5, 40_000, 2.0, 0.5
	r := rand.New(rand.NewPCG(3, 8))
	xs := correlatedRecords(r, n, d)
	trace := Trace{Observation: observation, Observed: observed,
		Curvature: Curvature{Matrix: products(xs, observation)}}
	w := []float64{0.5, -0.4, 0.3, 0.6, -1}
	clips := []float64{2, 4, 8, 4}
	for _, far := range []float64{0.1, 0.1, 0.1, 1} {
		point := make([]float64, d)
		for i, v := range w {
			point[i] = v * (1 - far)
		}
		trace.Points = append(trace.Points, point)
	}
	const unit = 0.25
	got, beside, err := trace.Answers(w, clips, unit, 0.1)
	if err != nil {
		t.Fatal(err)
	}
	for s, clip := range clips {
		way, score, whole := make([]float64, d), 0.0, 0.0
		floats.SubTo(way, w, trace.Points[s])
		var all, clipped mat.VecDense // scores of all records, without and with the clip
		all.MulVec(trace.Curvature.Matrix, mat.NewVecDense(d, way))
		clipped.CloneFromVec(mat.NewVecDense(d, nil))
		for _, x := range xs {
			a := floats.Dot(x, way)
			e := a + math.Sqrt(observed/observation)*r.NormFloat64()
			square := 0.0
			for i, v := range x {
				p := unit * observation * (v*v - trace.Curvature.Matrix.At(i, i)/(n*observation)) / 2
				square += observation*observation*e*e*v*v + p*p
			}
			left := min(1, clip/math.Sqrt(square)) * e
			clipped.AddScaledVec(&clipped, observation*left, mat.NewVecDense(d, x))
			score += left * a
			whole += a * a
		}
		clipped.ScaleVec(1/got[s], &clipped)
		clipped.SubVec(&clipped, mat.NewVecDense(d, beside[s]))
		clipped.SubVec(&clipped, &all)
		if off, of := clipped.Norm(2), all.Norm(2); off > 0.02*of+5*math.Sqrt(n*d*observation) {
			t.Errorf("clip %g: scores are %.0f off, of %.0f", clip, off, of)
		}
		if want := score / whole; math.Abs(got[s]-want) > 0.03 {
			t.Errorf("clip %g, %.2g away: %.3f of the scores are left, want %.3f", clip, floats.Norm(way, 2),
				got[s], want)
		}
	}
}

// TestLengthened: a linear model's curvature of correlated columns is found again from what clips leave of
// it, of which they take a tenth and more.
func TestLengthened(t *testing.T) {
	const d, n, observation = 5, 20_000, 2.0
	xs := correlatedRecords(rand.New(rand.NewPCG(5, 1)), n, d)
	slices := Slices{Size: 2 * d, Bound: 14}
	whole, shown := products(xs, observation), mat.NewSymDense(d, nil)
	for _, x := range xs {
		shown.AddSym(shown, shownOf(slices, observation, x))
	}
	if share := mat.Trace(shown) / mat.Trace(whole); share > 0.9 {
		t.Fatalf("clips leave %.3f", share)
	}
	trace := Trace{Points: [][]float64{make([]float64, d)}, Terms: &slices, Observation: observation,
		Curvature: Curvature{Matrix: shown}}
	h, err := trace.Lengthened()
	if err != nil {
		t.Fatal(err)
	}
	for i := range d {
		for j := range d {
			if off := h.Matrix.At(i, j) - whole.At(i, j); math.Abs(off) > 0.015*n*observation {
				t.Errorf("entry %d, %d is %.0f, want %.0f; clips left %.0f", i, j, h.Matrix.At(i, j),
					whole.At(i, j), shown.At(i, j))
			}
		}
	}
}

// correlatedRecords are normal columns, neighbours correlated by .6, and a bias.
func correlatedRecords(r *rand.Rand, n, d int) (xs [][]float64) {
	for range n {
		x := make([]float64, d)
		for j := range d - 1 {
			x[j] = r.NormFloat64()
			if j > 0 {
				x[j] = 0.6*x[j-1] + 0.8*x[j]
			}
		}
		x[d-1] = 1
		xs = append(xs, x)
	}
	return xs
}

// products is the sum of x x' over the columns, times a factor.
func products(xs [][]float64, times float64) *mat.SymDense {
	out := mat.NewSymDense(len(xs[0]), nil)
	for _, x := range xs {
		out.SymRankOne(out, times, mat.NewVecDense(len(x), x))
	}
	return out
}
