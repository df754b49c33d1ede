package model

import (
	"math"
	"math/rand/v2"
	"testing"

	"choir/learn/gauss"
)

// regression is a small shard of n records over d weights.
func regression(family gauss.Family, d, n int) *LinearRecords {
	r := rand.New(rand.NewPCG(7, 1))
	x, y := make([]float64, n*d), make([]float64, n)
	for i := range x {
		x[i] = r.NormFloat64()
	}
	for i := range y {
		y[i] = 2*x[i*d] + 0.5*r.NormFloat64()
	}
	return newLinearRecords(gauss.Space{Family: family, Features: d}, x, y, 0.7, 1)
}

// freeEnergy is E log p(data | w) + entropy + E log cavity, up to a constant, computed from
// moments: the reference for the charts' gradients.
func freeEnergy(l *LinearRecords, natural, cavity []float64) float64 {
	full := gauss.Space{Family: gauss.Full, Features: l.space.Features}
	m, err := l.space.Moments(natural)
	if err != nil {
		return math.NaN()
	}
	cov := func(i, j int) float64 {
		if m.Covariance != nil {
			return m.Covariance.At(i, j)
		}
		if i == j {
			return m.Variance[i]
		}
		return 0
	}
	d := full.Features
	var e float64
	for row, y := range l.y {
		x := l.x[row*d : (row+1)*d]
		r, spread := y, 0.0
		for i, xi := range x {
			r -= xi * m.Mean[i]
			for j, xj := range x {
				spread += xi * cov(i, j) * xj
			}
		}
		e -= l.weight * (r*r + spread) / 2
	}
	p := l.space.Precision(cavity)
	for i := range d {
		e += cavity[i] * m.Mean[i]
		for j := range d {
			e -= p.At(i, j) * (m.Mean[i]*m.Mean[j] + cov(i, j)) / 2
		}
	}
	return e + entropy(l.space, natural)
}

// entropy is half the log determinant of the covariance.
func entropy(s gauss.Space, natural []float64) float64 {
	var e float64
	if s.Family == gauss.MeanField {
		for i := range s.Features {
			e -= math.Log(-2*natural[s.Index(i, i)]) / 2
		}
		return e
	}
	// Gaussian elimination without pivots: positive definite.
	p := s.Precision(natural)
	for k := range s.Features {
		e -= math.Log(p.At(k, k)) / 2
		for i := k + 1; i < s.Features; i++ {
			for j := i; j < s.Features; j++ {
				p.SetSym(i, j, p.At(i, j)-p.At(i, k)*p.At(k, j)/p.At(k, k))
			}
		}
	}
	return e
}

func charts() map[gauss.Family]func(*LinearRecords) Chart {
	return map[gauss.Family]func(*LinearRecords) Chart{
		gauss.MeanField: func(l *LinearRecords) Chart { return NewMeanFieldChart(l, 0.25) },
		gauss.Full:      NewCholeskyChart,
	}
}

// some is a proper Gaussian of no special form, and an improper cavity.
func some(s gauss.Space) (q, cavity []float64) {
	q, cavity = make([]float64, s.Dim()), make([]float64, s.Dim())
	for i := range q {
		q[i], cavity[i] = 0.3*math.Sin(float64(i)), 0.4*math.Cos(float64(i))
	}
	for i := range s.Features {
		q[s.Index(i, i)] = -2 - float64(i)
	}
	return q, cavity
}

// Charts' gradients, record by record and added up, are the derivatives of the free
// energy: central differences of step 1e-5 err by about 1e-9 here.
func TestChartGradientsMatchDifferences(t *testing.T) {
	for family, make_ := range charts() {
		l := regression(family, 3, 6)
		c, s := make_(l), l.space
		q, cavity := some(s)
		theta, g := make([]float64, s.Dim()), make([]float64, s.Dim())
		if err := c.Open(theta, q); err != nil {
			t.Fatal(err)
		}
		seen := 0
		err := c.RecordGradients(NewWorkspace(3, 0), theta, []int{0, 1, 2, 3, 4, 5},
			func(_ int, r []float64) error {
				seen++
				for i, x := range r {
					g[i] += x
				}
				return nil
			})
		if err != nil || seen != 6 {
			t.Fatal(seen, err)
		}
		c.Pull(g, theta, cavity)
		at := func(i int, h float64) float64 {
			moved, natural := append([]float64(nil), theta...), make([]float64, s.Dim())
			moved[i] += h
			if err := c.Natural(natural, moved); err != nil {
				t.Fatal(err)
			}
			return freeEnergy(l, natural, cavity)
		}
		for i := range theta {
			const h = 1e-5
			if want := (at(i, h) - at(i, -h)) / (2 * h); math.Abs(g[i]-want) > 1e-6*(1+math.Abs(want)) {
				t.Errorf("%s, coordinate %d: %v, differences say %v", family, i, g[i], want)
			}
		}
	}
}

// Natural undoes Open.
func TestChartRoundTrip(t *testing.T) {
	for family, make_ := range charts() {
		l := regression(family, 4, 1)
		q, _ := some(l.space)
		theta, back := make([]float64, len(q)), make([]float64, len(q))
		c := make_(l)
		if err := c.Open(theta, q); err != nil {
			t.Fatal(err)
		}
		start := append([]float64(nil), theta...)
		c.Confine(theta, start)
		if err := c.Natural(back, theta); err != nil {
			t.Fatal(err)
		}
		for i := range q {
			if math.Abs(back[i]-q[i]) > 1e-12*(1+math.Abs(q[i])) {
				t.Errorf("%s: %v became %v", family, q[i], back[i])
			}
		}
		theta[l.space.Index(0, 0)], theta[1] = 1e9, -1e300
		c.Confine(theta, start)
		if got := theta[l.space.Index(0, 0)] - start[l.space.Index(0, 0)]; got != maxLogSD &&
			got != maxLogSD/0.25 {
			t.Errorf("%s: confined to %v", family, got)
		}
		if theta[1] != -maxStep {
			t.Errorf("%s: a mean of %v", family, theta[1])
		}
		q[l.space.Index(0, 0)] = 1
		if err := c.Open(theta, q); err == nil {
			t.Errorf("%s: an improper q opens", family)
		}
	}
}

// The records' statistics add up to the likelihood.
func TestRecordStatisticsAddUp(t *testing.T) {
	for _, family := range []gauss.Family{gauss.MeanField, gauss.Full} {
		l := regression(family, 3, 5)
		sum := make([]float64, l.space.Dim())
		if err := l.RecordStatistics(NewWorkspace(3, 0), []int{4, 3, 2, 1, 0},
			func(_ int, v []float64) error {
				for i, x := range v {
					sum[i] += x
				}
				return nil
			}); err != nil {
			t.Fatal(err)
		}
		for i, x := range l.like {
			if math.Abs(sum[i]-x) > 1e-12*(1+math.Abs(x)) {
				t.Errorf("%s, coordinate %d: %v, want %v", family, i, sum[i], x)
			}
		}
	}
}

// Two steps of each rule by hand, on the gradients (4, -1) and then (3, 0).
func TestOptimisersByHand(t *testing.T) {
	root := math.Sqrt((0.999*0.001*16 + 0.001*9) / (1 - 0.999*0.999))
	adam := []float64{0.1 + 0.1*((0.9*0.1*4+0.1*3)/(1-0.81))/root,
		-0.1 - 0.1*((0.9*0.1)/(1-0.81))/math.Sqrt(0.999*0.001/(1-0.999*0.999))}
	for name, c := range map[string]struct {
		o    Optimiser
		want []float64
	}{
		"sgd":     {NewSGD(0.1), []float64{0.7, -0.1}},
		"adagrad": {NewAdagrad(2, 0.1), []float64{0.1 + 0.1*3/5, -0.1}},
		"adam":    {NewAdam(2, 0.1), adam},
	} {
		t.Run(name, func(t *testing.T) {
			x := make([]float64, 2)
			c.o.Step(x, []float64{4, -1})
			c.o.Step(x, []float64{3, 0})
			for i := range x {
				if math.Abs(x[i]-c.want[i]) > 1e-8 {
					t.Errorf("%v, want %v", x, c.want)
				}
			}
		})
	}
}
