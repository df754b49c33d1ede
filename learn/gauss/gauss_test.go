package gauss

import (
	"errors"
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distmv"
	"pgregory.net/rapid"
)

func spaces() []Space {
	return []Space{{MeanField, 1}, {MeanField, 5}, {Full, 1}, {Full, 2}, {Full, 7}}
}

func TestIndexIsABijection(t *testing.T) {
	for _, s := range spaces() {
		seen := make([]bool, s.Dim())
		for i := range s.Features {
			seen[i] = true // the linear part
		}
		for i := range s.Features {
			for j := i; j < s.Features && (j == i || s.Family == Full); j++ {
				at := s.Index(i, j)
				if at < s.Features || at >= s.Dim() || seen[at] {
					t.Fatalf("%+v: index (%d, %d) = %d is out of range or taken", s, i, j, at)
				}
				seen[at] = true
			}
		}
		for i, ok := range seen {
			if !ok {
				t.Errorf("%+v: coordinate %d is nobody's", s, i)
			}
		}
	}
}

// draw is a proper Gaussian of moderate conditioning.
func draw(t *rapid.T, s Space) *Moments {
	d := s.Features
	x := rapid.SliceOfN(rapid.Float64Range(-2, 2), d*d, d*d).Draw(t, "x")
	m := &Moments{
		Mean:     rapid.SliceOfN(rapid.Float64Range(-5, 5), d, d).Draw(t, "mean"),
		Variance: make([]float64, d), Covariance: mat.NewSymDense(d, nil),
	}
	m.Covariance.SymOuterK(1, mat.NewDense(d, d, x))
	for i := range d {
		m.Covariance.SetSym(i, i, m.Covariance.At(i, i)+0.3)
		m.Variance[i] = m.Covariance.At(i, i)
	}
	if s.Family == MeanField {
		m.Covariance = nil
	}
	return m
}

func TestMomentsInvertNatural(t *testing.T) {
	for _, s := range spaces() {
		rapid.Check(t, func(t *rapid.T) {
			want := draw(t, s)
			v, err := s.Natural(want)
			if err != nil {
				t.Fatal(err)
			}
			got, err := s.Moments(v)
			if err != nil {
				t.Fatal(err)
			}
			// The covariance has eigenvalues in [0.3, 4 d^2 + 0.3], so a condition
			// below 700 and errors of some 1e3 * 1e-16 * 200.
			near(t, "mean", got.Mean, want.Mean, 1e-9)
			near(t, "variance", got.Variance, want.Variance, 1e-9)
			if s.Family == Full && !mat.EqualApprox(got.Covariance, want.Covariance, 1e-9) {
				t.Fatalf("covariance differs")
			}
		})
	}
}

// The log density from the coordinates and the sufficient statistics must be
// gonum's, up to a constant.
func TestCoordinatesAreNatural(t *testing.T) {
	for _, s := range spaces() {
		rapid.Check(t, func(t *rapid.T) {
			m := draw(t, s)
			v, err := s.Natural(m)
			if err != nil {
				t.Fatal(err)
			}
			cov := m.Covariance
			if cov == nil {
				cov = mat.NewSymDense(s.Features, nil)
				for i, x := range m.Variance {
					cov.SetSym(i, i, x)
				}
			}
			oracle, ok := distmv.NewNormal(m.Mean, cov, nil)
			if !ok {
				t.Fatal("not a covariance")
			}
			x := rapid.SliceOfN(rapid.Float64Range(-3, 3), s.Features, s.Features).Draw(t, "point")
			got := exponent(s, v, x) - exponent(s, v, m.Mean)
			want := oracle.LogProb(x) - oracle.LogProb(m.Mean)
			if math.Abs(got-want) > 1e-8*(1+math.Abs(want)) {
				t.Fatalf("log density ratio %v, want %v", got, want)
			}
		})
	}
}

// exponent is the inner product of v with the sufficient statistics at x.
func exponent(s Space, v, x []float64) float64 {
	var e float64
	for i, xi := range x {
		e += v[i]*xi + v[s.Index(i, i)]*xi*xi
		for j := i + 1; j < len(x) && s.Family == Full; j++ {
			e += v[s.Index(i, j)] * xi * x[j]
		}
	}
	return e
}

func TestSetPrecisionInvertsPrecision(t *testing.T) {
	for _, s := range spaces() {
		v := make([]float64, s.Dim())
		for i := range v {
			v[i] = float64(i*i) - 7 // any numbers: improper is fine
		}
		w := make([]float64, s.Dim())
		copy(w[:s.Features], v[:s.Features])
		s.SetPrecision(w, s.Precision(v))
		near(t, "coordinates", w, v, 0)
	}
}

func TestPrior(t *testing.T) {
	for _, s := range spaces() {
		v := make([]float64, s.Dim())
		v[0] = 3 // must be overwritten
		s.Prior(v, 4)
		m, err := s.Moments(v)
		if err != nil {
			t.Fatal(err)
		}
		for i := range s.Features {
			if m.Mean[i] != 0 || math.Abs(m.Variance[i]-0.25) > 1e-15 {
				t.Errorf("%+v: weight %d is N(%v, %v), want N(0, 1/4)", s, i, m.Mean[i], m.Variance[i])
			}
		}
	}
}

func TestImproperIsRefused(t *testing.T) {
	for _, s := range spaces() {
		for _, bad := range []float64{0, 1, math.NaN(), math.Inf(1), math.Inf(-1)} {
			v := make([]float64, s.Dim())
			s.Prior(v, 1)
			v[s.Index(s.Features-1, s.Features-1)] = bad
			if _, err := s.Moments(v); !errors.Is(err, ErrImproper) {
				t.Errorf("%+v with %v: error %v, want ErrImproper", s, bad, err)
			}
		}
		if _, err := s.Moments(make([]float64, s.Dim()+1)); err == nil {
			t.Errorf("%+v: a longer vector was taken", s)
		}
	}
	indefinite := []float64{0, 0, -0.5, -2, -0.5} // precision [[1, 2], [2, 1]]
	if _, err := (Space{Full, 2}).Moments(indefinite); !errors.Is(err, ErrImproper) {
		t.Errorf("an indefinite matrix: error %v, want ErrImproper", err)
	}
	if _, err := (Space{MeanField, 1}).Natural(&Moments{Mean: []float64{0},
		Variance: []float64{-1}}); !errors.Is(err, ErrImproper) {
		t.Errorf("a negative variance: error %v, want ErrImproper", err)
	}
}

type fataler interface {
	Helper()
	Fatalf(string, ...any)
}

func near(t fataler, what string, got, want []float64, tol float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: length %d, want %d", what, len(got), len(want))
	}
	for i := range got {
		if !(math.Abs(got[i]-want[i]) <= tol) {
			t.Fatalf("%s %d: %v, want %v", what, i, got[i], want[i])
		}
	}
}
