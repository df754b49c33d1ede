package noiseaware

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"choir/learn/gauss"
	"choir/learn/noiseaware/internal/logistic"
	"choir/learn/noiseaware/internal/shrink"
)

// TestGainIsABound: any share of logits gains at least what a gain has of the same sums, and at the share
// that it calls sure, with the sums known, no more than the slack is lost.
func TestGainIsABound(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	for range 200 {
		const n = 300
		signal, length := 2*r.NormFloat64(), 4*r.Float64()
		logits, classes := make([]float64, n), make([]float64, n)
		g := gain{records: n}
		for i := range n {
			z := r.NormFloat64()
			logits[i] = length * z
			if r.Float64() < 1/(1+math.Exp(-signal*z)) {
				classes[i] = 1
			}
			g.linear += (classes[i] - 0.5) * logits[i]
			g.rest += (classes[i] - 1/(1+math.Exp(-logits[i]))) * logits[i]
			g.square += logits[i] * logits[i] / 4
		}
		over := func(k float64) float64 {
			out := 0.0
			for i, l := range logits {
				out += classes[i]*k*l - math.Log1p(math.Exp(k*l)) + math.Ln2
			}
			return out
		}
		for _, k := range []float64{0.1, 0.5, 1, 2} {
			if bound := k*g.linear - n*logistic.LogCosh(k*math.Sqrt(g.square/n)); over(k) < bound-1e-9 {
				t.Fatalf("gain %v at the share %v, bound %v", over(k), k, bound)
			}
		}
		if k := g.share(); over(k) < -shrink.Slack*n-1e-9 {
			t.Fatalf("loses %v at the share %v", -over(k), k)
		}
	}
}

// TestLongLogitsAreKept: with noise of a few records' length a mean at which scores are 0 is kept whole,
// however long its logits are: the bound by the scores where all weights are 0 alone keeps .4 of logits of
// standard deviation 8.
func TestLongLogitsAreKept(t *testing.T) {
	r := rand.New(rand.NewPCG(17, 18))
	for _, length := range []float64{1, 3, 8} {
		g := gain{records: 5000, sd: 10, own: 5}
		for range 5000 {
			l := length * r.NormFloat64()
			g.linear += (1/(1+math.Exp(-l)) - 0.5) * l
			g.square += l * l / 4
		}
		if k := g.share(); k != 1 {
			t.Errorf("keeps %.3f of logits of standard deviation %v", k, length)
		}
	}
}

// drowned are 400 records of 60 columns under noise of three times the sampling's, with the weight of each
// column.
func drowned(r *rand.Rand, weight float64) Diagonal {
	const d, n = 60, 400
	out := Diagonal{Prior: 1, Point: make([]float64, d), Origin: make([]float64, d),
		PrecisionNoise: make([]float64, d), Records: n}
	for range d {
		out.Precision = append(out.Precision, n/4)
		out.ScoreNoise = append(out.ScoreNoise, 9*n/4)
		out.Scores = append(out.Scores, n/4*weight+math.Sqrt(10*n/4)*r.NormFloat64())
	}
	return out
}

// Of noise alone a mean is shortened so far that new records lose more than .01 nats each in less than one
// of ten sessions: the gain is below 1.5 standard deviations of its error in one of fifteen, and 400 draws
// have a standard error of .013. Without it more lose.
func TestAssuredOfNoise(t *testing.T) {
	r := rand.New(rand.NewPCG(13, 14))
	const draws = 400
	lost := func(m *gauss.Moments) bool { // records have standard normal columns, and no signal
		v := floats.Dot(m.Mean, m.Mean)
		spread := floats.Sum(m.Variance)
		return v/(1+spread/logistic.Probit)/8 > 0.01
	}
	var before, after float64
	for range draws {
		d := drowned(r, 0)
		if m, _ := d.Kept(); lost(m) {
			after += 1. / draws
		}
		d.Records = 0
		if m, _ := d.Kept(); lost(m) {
			before += 1. / draws
		}
	}
	if after > 0.1 || before < 2*after {
		t.Errorf("loses with the share %.3f of sessions, and %.3f without", after, before)
	}
}

// A signal far beyond the noise is kept as it is: logits of standard deviation 1.2 in 20,000 records.
func TestAssuredOfSignal(t *testing.T) {
	d := drowned(rand.New(rand.NewPCG(15, 16)), 0)
	d.Records = 20000
	for i := range d.Scores {
		d.Precision[i] *= 50
		d.Scores[i] += 0.15 * d.Precision[i]
	}
	m, _ := d.Kept()
	d.Records = 0
	whole, _ := d.Kept()
	if !floats.EqualApprox(m.Mean, whole.Mean, 1e-12) {
		t.Errorf("mean of length %v, %v before", floats.Norm(m.Mean, 2), floats.Norm(whole.Mean, 2))
	}
}

// TestJoint: the covariance of the mean with the noise is the derivative of the mean by the scores times the
// noise, by differences of the posterior itself.
func TestJoint(t *testing.T) {
	const d = 4
	h := mat.NewSymDense(d, []float64{90, 20, 5, 10, 20, 60, 9, 4, 5, 9, 70, 8, 10, 4, 8, 100})
	t0 := Trace{Prior: 1, Points: [][]float64{{0.1, -0.2, 0.3, 0.1}}, Scores: [][]float64{{30, -20, 10, 25}},
		Noise: mat.NewSymDense(1, []float64{400}), Curvature: Curvature{Matrix: h}}
	t0.Variance = func([]float64) []float64 { return []float64{400, 400, 400, 400} }
	at := revealed{curvature: estimate{matrix: h}, weights: []float64{1}, prior: []float64{1, 1, 1, 1}}
	whole := func(scores []float64) *gauss.Moments {
		moved := t0
		moved.Scores = [][]float64{scores}
		m, err := moved.along(line(h), at)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	m := whole(t0.Scores[0])
	joint, noise, err := t0.joint(m, t0.relation(line(h), at), at)
	if err != nil {
		t.Fatal(err)
	}
	slope := mat.NewDense(d, d, nil)
	for j := range d {
		up := append([]float64(nil), t0.Scores[0]...)
		up[j]++
		for i, x := range whole(up).Mean {
			slope.Set(i, j, x-m.Mean[i])
		}
	}
	var want mat.Dense
	want.Mul(slope, noise)
	if !mat.EqualApprox(joint, &want, 1e-9) {
		t.Errorf("covariance %v, want %v", mat.Formatted(joint), mat.Formatted(&want))
	}
	for i := range d {
		if math.Abs(noise.At(i, i)-h.At(i, i)-400) > 1e-9 {
			t.Errorf("noise %v of score %d, want %v", noise.At(i, i), i, h.At(i, i)+400)
		}
	}
}

// TestMixedJoint: the covariance with the noise of a mean that is that of a chord and an arc is the
// derivative by the scores times the noise, by differences, but for the change of the arc's slope. The arc
// alone has .4 of it where a posterior is wide.
func TestMixedJoint(t *testing.T) {
	const d = 4
	h := mat.NewSymDense(d, []float64{90, 20, 5, 10, 20, 60, 9, 4, 5, 9, 70, 8, 10, 4, 8, 100})
	spread := []float64{0.1, 0.1, 0.1, 0.1}
	t0 := Trace{Prior: 0.02, Points: [][]float64{{0.1, -0.2, 0.3, 0.1}}, Scores: [][]float64{{30, -20, 10, 25}},
		Spread: [][]float64{spread}, Noise: mat.NewSymDense(1, []float64{400000}), Curvature: Curvature{Matrix: h}}
	t0.Variance = func([]float64) []float64 { return []float64{400000, 400000, 400000, 400000} }
	e := estimate{matrix: h}
	at := revealed{curvature: e, weights: []float64{1}, prior: []float64{0.02, 0.02, 0.02, 0.02}}
	bends := []bend{chord(h, spread, make([]float64, len(spread))), arc(e, t0.Points[0], spread, 0, 0)}
	whole := func(scores []float64) []float64 {
		moved := t0
		moved.Scores = [][]float64{scores}
		m, err := moved.mixed(bends, &at)
		if err != nil {
			t.Fatal(err)
		}
		return m.Mean
	}
	joint, noise, err := t0.mixedJoint(bends, at)
	if err != nil {
		t.Fatal(err)
	}
	alone, _, err := t0.mixedJoint(bends[1:], at)
	if err != nil {
		t.Fatal(err)
	}
	slope := mat.NewDense(d, d, nil)
	before := whole(t0.Scores[0])
	for j := range d {
		up := append([]float64(nil), t0.Scores[0]...)
		up[j]++
		for i, x := range whole(up) {
			slope.Set(i, j, x-before[i])
		}
	}
	var want mat.Dense
	want.Mul(slope, noise)
	got, of := mat.Trace(joint)/mat.Trace(&want), mat.Trace(alone)/mat.Trace(&want)
	if math.Abs(got-1) > 0.02 || of > 0.6 {
		t.Errorf("%.3f of the derivative, and %.3f by the arc alone", got, of)
	}
}
