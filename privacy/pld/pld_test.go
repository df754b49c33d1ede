package pld

import (
	"errors"
	"math"
	"testing"

	"gonum.org/v1/gonum/dsp/fourier"
	"pgregory.net/rapid"
)

func phi(x float64) float64 { return math.Erfc(-x/math.Sqrt2) / 2 }

// gaussianDelta is the closed form of [BW18].
func gaussianDelta(mu, e float64) float64 {
	return phi(mu/2-e/mu) - math.Exp(e)*phi(-mu/2-e/mu)
}

// singleDelta is a single step's curve at epsilon >= 0, in closed form: the set that attains it is
// a half line, where the loss exceeds epsilon.
func singleDelta(t Term, e float64) float64 {
	p := t.pieces(1e-300)[0]
	z := p.where(e)
	q, mu := t.Rate, t.Mu
	above := func(shift float64) float64 { return phi(shift - z) }
	switch t.Kind {
	case Remove:
		return (1-q)*above(0) + q*above(mu) - math.Exp(e)*above(0)
	case Add: // coordinates are reflected
		if e >= -math.Log1p(-q) {
			return 0
		}
		return above(0) - math.Exp(e)*((1-q)*above(0)+q*above(-mu))
	}
	return (1-q)*above(0) + q*above(mu) - math.Exp(e)*((1-q)*above(0)+q*above(-mu))
}

func epsilonOf(delta float64, curve func(float64) float64) float64 {
	lo, hi := 0.0, 2000.0
	for range 60 {
		if mid := (lo + hi) / 2; curve(mid) > delta {
			lo = mid
		} else {
			hi = mid
		}
	}
	return hi
}

func TestBracketsSingleSteps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		term := Term{
			Kind:  rapid.SampledFrom([]Kind{Remove, Add, Replace}).Draw(t, "kind"),
			Mu:    math.Exp(rapid.Float64Range(-2.5, 1.2).Draw(t, "ln mu")),
			Rate:  math.Exp(rapid.Float64Range(-4, 0).Draw(t, "ln rate")),
			Count: 1,
		}
		delta := math.Exp(rapid.Float64Range(-21, -3).Draw(t, "ln delta"))
		exact := epsilonOf(delta, func(e float64) float64 { return singleDelta(term, e) })
		bracket(t, []Term{term}, delta, exact, 0.03)
	})
}

// bracket checks lower <= exact <= upper, and that the relative gap is small or the gap below
// 0.08. The lower bound gets a finer grid: a coarse one that suits the largest terms merges
// small ones away.
func bracket(t interface {
	Helper()
	Fatalf(string, ...any)
}, terms []Term, delta, exact, gap float64) {
	t.Helper()
	hi, err := Upper(terms, delta, Precision{Cells: 40, MaxBits: 13})
	if err != nil {
		t.Fatalf("upper: %v", err)
	}
	lo, err := Lower(terms, delta, Precision{Cells: 200, MaxBits: 16})
	if err != nil {
		t.Fatalf("lower: %v", err)
	}
	if alone(terms) { // what composition makes of one step, too
		if lo < exact*(1-1e-9)-1e-11 || hi > exact*(1+1e-9)+1e-11 {
			t.Fatalf("%+v at %v: [%v, %v] is not %v", terms, delta, lo, hi, exact)
		}
		hi = upperOnGrid(terms, delta, Precision{Cells: 40, MaxBits: 13})
		lo = lowerOnGrid(terms, delta, Precision{Cells: 40, MaxBits: 12})
		gap = math.Inf(1) // the gap is tested for compositions only
	}
	if lo > exact*(1+1e-12)+1e-13 || hi < exact*(1-1e-12)-1e-13 {
		t.Fatalf("%+v at %v: [%v, %v] misses %v", terms, delta, lo, hi, exact)
	}
	if hi-lo > math.Max(0.08, gap*exact) {
		t.Fatalf("%+v at %v: [%v, %v] is wide", terms, delta, lo, hi)
	}
}

// Heterogeneous Gaussian steps have a closed form ([Dissertation], Theorem 29).
func TestBracketsGaussianCompositions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var terms []Term
		var square float64
		for range rapid.IntRange(1, 3).Draw(t, "terms") {
			x := Term{
				Kind:  rapid.SampledFrom([]Kind{Remove, Add, Replace}).Draw(t, "kind"),
				Mu:    math.Exp(rapid.Float64Range(-5, 0).Draw(t, "ln mu")),
				Rate:  1,
				Count: rapid.IntRange(1, 300).Draw(t, "count"),
			}
			mu := x.Mu
			if x.Kind == Replace {
				mu *= 2
			}
			square += mu * mu * float64(x.Count)
			terms = append(terms, x)
		}
		delta := math.Exp(rapid.Float64Range(-60, -3).Draw(t, "ln delta"))
		mu := math.Sqrt(square)
		if mu > 15 {
			return // the reference formula cancels
		}
		exact := epsilonOf(delta, func(e float64) float64 { return gaussianDelta(mu, e) })
		if delta < 1e-12 {
			exact = epsilonOf(delta, func(e float64) float64 { return smallDelta(mu, e) })
		}
		bracket(t, terms, delta, exact, 6e-3)
	})
}

// The losses of small steps lie within one cell of the grid for large ones. The lower bound then omits
// them, and is not much smaller for it.
func TestBracketsSmallAndLargeSteps(t *testing.T) {
	for _, small := range []Term{
		{Kind: Remove, Mu: 0.0067, Rate: 1, Count: 19},
		{Kind: Replace, Mu: 0.001, Rate: 1, Count: 300},
		{Kind: Add, Mu: 0.02, Rate: 1, Count: 300},
		{Kind: Remove, Mu: 0.05, Rate: 1, Count: 100},
	} {
		large := Term{Kind: Replace, Mu: 1, Rate: 1, Count: 22}
		mu := small.Mu
		if small.Kind == Replace {
			mu *= 2
		}
		mu = math.Sqrt(4*22 + mu*mu*float64(small.Count))
		exact := epsilonOf(0.003, func(e float64) float64 { return gaussianDelta(mu, e) })
		bracket(t, []Term{large, small}, 0.003, exact, 6e-3)
	}
}

// smallDelta is gaussianDelta by quadrature, for deltas where the difference cancels.
func smallDelta(mu, e float64) float64 {
	a := e/mu - mu/2
	var s float64
	const n = 12000 // Simpson's rule, so that its error is of order 10^-12
	for k := range n + 1 {
		x, w := 12*float64(k)/n, float64(2+k%2*2)
		if k == 0 || k == n {
			w = 1
		}
		s += w * math.Exp(-(x+a)*(x+a)/2) * invSqrt2Pi * -math.Expm1(-mu*x)
	}
	return s * 12 / n / 3
}

// Two sampled steps against a two-dimensional sum: nothing in common with the accountant.
func TestBracketsTwoSampledSteps(t *testing.T) {
	for _, kind := range []Kind{Remove, Add, Replace} {
		a := Term{Kind: kind, Mu: 1.2, Rate: 0.15, Count: 1}
		b := Term{Kind: kind, Mu: 0.7, Rate: 0.4, Count: 1}
		const h = 0.04
		type point struct{ loss, mass float64 }
		points := func(t Term) (out []point) {
			p := t.pieces(1e-20)[0]
			for z := p.lo + h/2; z < p.hi; z += h {
				l, density := p.at(z)
				out = append(out, point{l, density * h})
			}
			return out
		}
		pa, pb := points(a), points(b)
		exact := epsilonOf(1e-3, func(e float64) float64 {
			var s float64
			for _, x := range pa {
				for _, y := range pb {
					if l := x.loss + y.loss; l > e {
						s += x.mass * y.mass * -math.Expm1(e-l)
					}
				}
			}
			return s
		})
		prec := Precision{Cells: 400}
		hi, err1 := Upper([]Term{a, b}, 1e-3, prec)
		lo, err2 := Lower([]Term{b, a}, 1e-3, prec)
		// The sum's kink at the edge of the set makes its own error about h^2.
		if err1 != nil || err2 != nil || math.Abs(hi-exact) > 4e-4*exact || math.Abs(lo-exact) > 4e-4*exact ||
			lo > hi {
			t.Errorf("kind %d: [%v, %v], the sum is %v (%v, %v)", kind, lo, hi, exact, err1, err2)
		}
	}
}

// Discretised curves lie on their side of the true one, everywhere: the property that
// composition rests on.
func TestDiscretisedCurvesDominate(t *testing.T) {
	curve := func(d *pmf, e float64) float64 {
		s := d.infinite
		for i, m := range d.mass {
			if l := float64(d.first+i)*d.step + d.shift; l > e {
				s += m * -math.Expm1(e-l)
			}
		}
		return s
	}
	rapid.Check(t, func(t *rapid.T) {
		term := Term{
			Kind:  rapid.SampledFrom([]Kind{Remove, Add, Replace, Amplified}).Draw(t, "kind"),
			Mu:    math.Exp(rapid.Float64Range(-2, 1).Draw(t, "ln mu")),
			Rate:  rapid.Float64Range(0.01, 1).Draw(t, "rate"),
			Count: 1,
		}
		step := rapid.Float64Range(0.003, 0.1).Draw(t, "step")
		above := dominate(term, step, 1e-16)
		real := term
		if term.Kind == Amplified {
			real.Kind = Remove // its curve at epsilon >= 0
		}
		below := merged(real, step, 1e-16)
		for range 20 {
			e := rapid.Float64Range(0, 4).Draw(t, "epsilon")
			exact := singleDelta(real, e)
			if a := curve(above, e); a < exact-1e-12 {
				t.Fatalf("dominating curve %v < %v at %v", a, exact, e)
			}
			if b := curve(below, e); b > exact+1e-12 {
				t.Fatalf("merged curve %v > %v at %v", b, exact, e)
			}
		}
		var total float64
		for _, m := range above.mass {
			total += m
		}
		if math.Abs(total+above.infinite-1) > 1e-12 {
			t.Fatalf("mass %v", total+above.infinite)
		}
	})
}

// Amplified equals the larger of Remove and Add for one step, and is above both composed.
func TestAmplifiedDominatesBothDirections(t *testing.T) {
	for _, count := range []int{1, 50} {
		hi, err := Upper([]Term{{Amplified, 0.5, 0.1, count, nil}}, 1e-5, Precision{})
		if err != nil {
			t.Fatal(err)
		}
		for _, kind := range []Kind{Remove, Add} {
			lo, err := Lower([]Term{{kind, 0.5, 0.1, count, nil}}, 1e-5, Precision{})
			if err != nil || lo > hi {
				t.Errorf("kind %d x %d: %v above %v (%v)", kind, count, lo, hi, err)
			}
		}
	}
	if _, err := Lower([]Term{{Amplified, 1, 0.1, 1, nil}}, 1e-5, Precision{}); !errors.Is(err, ErrTerm) {
		t.Errorf("a lower bound from a curve without a pair: %v", err)
	}
}

// The stated bound on a transform's coefficients against sums taken one by one.
func TestTransformErrorHolds(t *testing.T) {
	d := dominate(Term{Remove, 1, 0.05, 1, nil}, 1e-3, 1e-20)
	const bits = 14
	n := 1 << bits
	fold := make([]float64, n)
	d.fold(fold, 2, d.cumulant(2))
	got := fourier.NewFFT(n).Coefficients(nil, fold)
	for k := 0; k <= n/2; k += 37 {
		var re, im, total float64
		for i, m := range fold {
			sin, cos := math.Sincos(2 * math.Pi * float64(i*k%n) / float64(n))
			re, im, total = re+m*cos, im-m*sin, total+m
		}
		if math.Abs(total-1) > 1e-12 {
			t.Fatalf("tilted mass %v", total)
		}
		if e := math.Hypot(real(got[k])-re, imag(got[k])-im); e > transformError(bits)+1e-14 {
			t.Fatalf("coefficient %d errs by %v, bound %v", k, e, transformError(bits))
		}
	}
}

func TestRejections(t *testing.T) {
	ok := Term{Remove, 1, 0.5, 1, nil}
	for name, bad := range map[string]func() error{
		"kind":     func() error { _, err := Upper([]Term{{9, 1, 1, 1, nil}}, 0.1, Precision{}); return err },
		"mu":       func() error { _, err := Upper([]Term{{Remove, 0, 1, 1, nil}}, 0.1, Precision{}); return err },
		"mu large": func() error { _, err := Lower([]Term{{Remove, 51, 1, 1, nil}}, 0.1, Precision{}); return err },
		"mu NaN": func() error {
			_, err := Lower([]Term{{Remove, math.NaN(), 1, 1, nil}}, 0.1, Precision{})
			return err
		},
		"rate": func() error {
			_, err := Upper([]Term{{Remove, 1, 1.5, 1, nil}}, 0.1, Precision{})
			return err
		},
		"count":    func() error { _, err := Upper([]Term{{Remove, 1, 1, 0, nil}}, 0.1, Precision{}); return err },
		"delta":    func() error { _, err := Upper([]Term{ok}, 1, Precision{}); return err },
		"no terms": func() error { _, err := Upper(nil, 0.1, Precision{}); return err },
		"cells":    func() error { _, err := Upper([]Term{ok}, 0.1, Precision{Cells: math.Inf(1)}); return err },
		"bits":     func() error { _, err := Lower([]Term{ok}, 0.1, Precision{MaxBits: 30}); return err },
	} {
		t.Run(name, func(t *testing.T) {
			if err := bad(); !errors.Is(err, ErrTerm) {
				t.Errorf("%v", err)
			}
		})
	}
	if e, err := Upper([]Term{ok}, 0.9, Precision{}); err != nil || e > 1e-12 {
		t.Errorf("delta .9: %v, %v", e, err)
	}
}
