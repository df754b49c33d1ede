package bayes_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"choir/learn/bayes"
	"choir/learn/gauss"
)

// TestUntoldIsExact compares with the exact posterior of linear regression on a column of numbers, two
// categories and the bias, which Told and Untold leave as it is. What noise adds along shifts of a category's
// levels against the bias goes, whatever it is.
func TestUntoldIsExact(t *testing.T) {
	const prior = 0.7
	levels := [][2]int{{1, 3}, {3, 7}}
	rnd := rand.New(rand.NewPCG(45, 1))
	precision, linear := mat.NewSymDense(8, nil), mat.NewVecDense(8, nil)
	for i := range 8 {
		precision.SetSym(i, i, 1/prior)
	}
	for range 200 {
		x := mat.NewVecDense(8, nil)
		x.SetVec(0, rnd.NormFloat64())
		x.SetVec(1+rnd.IntN(2), 1)
		x.SetVec(3+rnd.IntN(4), 1)
		x.SetVec(7, 1)
		precision.SymRankOne(precision, 1, x)
		linear.AddScaledVec(linear, x.AtVec(0)-x.AtVec(2)+2*x.AtVec(5)+rnd.NormFloat64(), x)
	}
	exact := gaussian(t, precision, linear)
	for _, noise := range []float64{0, 30, -0.3} {
		noisyPrecision, noisyLinear := mat.NewSymDense(8, nil), mat.NewVecDense(8, nil)
		noisyPrecision.CopySym(precision)
		noisyLinear.CopyVec(linear)
		for k, l := range levels {
			shift := mat.NewVecDense(8, nil)
			for i := l[0]; i < l[1]; i++ {
				shift.SetVec(i, 1)
			}
			shift.SetVec(7, -1)
			shift.ScaleVec(1/mat.Norm(shift, 2), shift)
			noisyPrecision.SymRankOne(noisyPrecision, noise, shift)
			noisyLinear.AddScaledVec(noisyLinear, noise*float64(k+3), shift)
		}
		q := posteriorOf(t, gaussian(t, noisyPrecision, noisyLinear))
		got := q.Told(levels).Untold(prior)
		c, sd, worst := got.Covariance(), got.SD(), 0.0
		for i, m := range got.Mean() {
			worst = max(worst, math.Abs(m-exact.Mean[i]), math.Abs(sd[i]*sd[i]-exact.Variance[i]))
			for j := range i {
				worst = max(worst, math.Abs(c.At(i, j)-exact.Covariance.At(i, j)))
			}
		}
		if worst > 1e-9 {
			t.Errorf("noise %g: %g from the exact posterior", noise, worst)
		}
		record := []float64{0.5, 1, 0, 0, 1, 0, 0, 1}
		before, err := q.Predict(record)
		after, err2 := got.Predict(record)
		if err != nil || err2 != nil || before != after || !slices.Equal(got.Fitted(), q.Fitted()) {
			t.Errorf("noise %g: prediction %v of %v (%v, %v)", noise, after, before, err, err2)
		}
	}
}

// gaussian are the moments of a normal law by its precision and its linear part.
func gaussian(t *testing.T, precision *mat.SymDense, linear *mat.VecDense) *gauss.Moments {
	t.Helper()
	var root mat.Cholesky
	if !root.Factorize(precision) {
		t.Fatal("not positive definite")
	}
	d := precision.SymmetricDim()
	m := &gauss.Moments{Covariance: mat.NewSymDense(d, nil), Variance: make([]float64, d)}
	var mean mat.VecDense
	if err := root.SolveVecTo(&mean, linear); err != nil {
		t.Fatal(err)
	}
	if err := root.InverseTo(m.Covariance); err != nil {
		t.Fatal(err)
	}
	m.Mean = mean.RawVector().Data
	for i := range d {
		m.Variance[i] = m.Covariance.At(i, i)
	}
	return m
}

// TestUntoldOfSingleWeights: also of weights of their own moments, and without correlations, differences of
// levels keep their law, a shift against the bias has the prior's, and a standard deviation that is the
// prior's stays.
func TestUntoldOfSingleWeights(t *testing.T) {
	const prior = 1.0
	levels := [][2]int{{0, 3}}
	for _, m := range []*gauss.Moments{
		{Mean: []float64{2, -1, 0.5, 1}, Variance: []float64{0.01, 0.02, 0.04, 0.09}},
		{Mean: []float64{2, -1, 0.5, 1}, Variance: []float64{0.04, 0.04, 0.04, 0.04},
			Covariance: mat.NewSymDense(4, []float64{.04, .01, .01, .01, .01, .04, .01, .01,
				.01, .01, .04, .01, .01, .01, .01, .04})},
		{Mean: []float64{0, 0, 0, 0}, Variance: []float64{1, 1, 1, 1}},
	} {
		q := posteriorOf(t, m).WithWeights([]float64{1, 2, 3, 4}, []float64{1, 0.9, 0.1, 0.3})
		if m.Mean[0] == 0 {
			q = posteriorOf(t, m)
		}
		got := q.Told(levels).Untold(prior)
		for _, difference := range [][]float64{{1, -1, 0, 0}, {0, 1, -1, 0}, {1, 1, -2, 0}} {
			mean, variance := form(difference, q.Mean(), q.Covariance())
			newMean, newVariance := form(difference, got.Mean(), got.Covariance())
			if math.Abs(mean-newMean) > 1e-12 || math.Abs(variance-newVariance) > 1e-12 {
				t.Errorf("difference %v: %g (%g), want %g (%g)", difference, newMean, newVariance, mean, variance)
			}
		}
		if mean, v := form([]float64{.5, .5, .5, -.5}, got.Mean(), got.Covariance()); math.Abs(mean) > 1e-12 ||
			math.Abs(v-prior) > 1e-12 {
			t.Errorf("shift: %g (%g), want 0 (%g)", mean, v, prior)
		}
		if m.Mean[0] != 0 {
			continue
		}
		for i, s := range got.Unshrunk([]float64{1, 1, 1, 1}).SD() {
			if math.Abs(s-1) > 1e-9 || math.Abs(got.Shrunk()[i]-1) > 1e-9 {
				t.Errorf("weight %d has the standard deviation %g, under the prior %g", i, s, got.Shrunk()[i])
			}
		}
	}
	q := posteriorOf(t, &gauss.Moments{Mean: []float64{1, 2}, Variance: []float64{1, 1}})
	if q.Told(nil) != q || q.Untold(prior) != q {
		t.Error("another posterior without categories")
	}
}

// TestUntoldOfManyWeights: of more weights than have a covariance the standard deviations are those that they
// have with one.
func TestUntoldOfManyWeights(t *testing.T) {
	const d = bayes.MostCovaried + 1
	levels := [][2]int{{2, 5}, {5, 7}, {7, 300}}
	rnd := rand.New(rand.NewPCG(45, 2))
	m := &gauss.Moments{Mean: make([]float64, d), Variance: make([]float64, d)}
	covariance := mat.NewSymDense(d, nil)
	for i := range d {
		m.Mean[i], m.Variance[i] = rnd.NormFloat64(), 0.1+rnd.Float64()/2
		covariance.SetSym(i, i, m.Variance[i])
	}
	q := posteriorOf(t, m)
	if q.Told(levels).Untold(1).Covariance().At(2, 3) != 0 {
		t.Error("a covariance of so many weights")
	}
	alone := q.Told(levels).Untold(1)
	whole := q.WithCovariance(covariance).Told(levels).Untold(1)
	for i, sd := range alone.SD() {
		if math.Abs(sd-whole.SD()[i]) > 1e-12 || math.Abs(alone.Mean()[i]-whole.Mean()[i]) > 1e-12 {
			t.Fatalf("weight %d: %g (%g), want %g (%g)", i, alone.Mean()[i], sd, whole.Mean()[i], whole.SD()[i])
		}
	}
}

// TestUnshrunkOfLevels: what is told of a weight is unshrunk by its own part of the prior. Differences of
// levels whose standard deviations are small next to the prior stay, however much of a single weight is
// untold.
func TestUnshrunkOfLevels(t *testing.T) {
	const prior = 1.0
	told := []float64{.02, .03, .04, .05} // variances of four levels without what is untold
	m := &gauss.Moments{Mean: []float64{1, 2, 3, 4, 5}, Variance: make([]float64, 5),
		Covariance: mat.NewSymDense(5, nil)}
	for i := range 5 {
		for j := range 5 {
			v := prior / 5
			if (i == 4) != (j == 4) {
				v = -v
			}
			if i == j && i < 4 {
				v += told[i]
			} else if i == j {
				v += 0.01
			}
			m.Covariance.SetSym(i, j, v)
		}
		m.Variance[i] = m.Covariance.At(i, i)
	}
	priors := []float64{prior, prior, prior, prior, prior}
	q := posteriorOf(t, m)
	got := q.Told([][2]int{{0, 4}}).Unshrunk(priors).Untold(prior)
	_, want := form([]float64{1, -1, 0, 0, 0}, q.Mean(), q.Covariance())
	if _, v := form([]float64{1, -1, 0, 0, 0}, got.Mean(), got.Covariance()); v < want || v > 1.1*want {
		t.Errorf("variance of a difference %g, want %g to %g", v, want, 1.1*want)
	}
	_, whole := form([]float64{1, -1, 0, 0, 0}, q.Mean(), q.Unshrunk(priors).Covariance())
	if whole < 1.2*want {
		t.Errorf("variance %g of weights that are unshrunk whole: the comparison is empty", whole)
	}
}

// form is the mean and the variance of a linear form.
func form(by, mean []float64, covariance *mat.SymDense) (m, variance float64) {
	v := mat.NewVecDense(len(by), by)
	return mat.Dot(v, mat.NewVecDense(len(mean), mean)), mat.Inner(v, covariance, v)
}
