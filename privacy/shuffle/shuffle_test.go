package shuffle

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"testing"

	"choir/privacy/pld"
)

// TestContinuousReports: the blanket of Laplace and Gaussian reports, by the curve at one epsilon, and what
// neighbours attain.
func TestContinuousReports(t *testing.T) {
	for _, c := range []struct {
		name         string
		round        Round
		e            float64
		lo, hi, real float64
	}{
		{"laplace", Round{Kind: Laplace, Users: 100, Eps0: 1}, 0.1, 0.01183808, 0.01183955, 0.00760756},
		{"far laplace", Round{Kind: Laplace, Users: 1000, Eps0: 3}, 0.8, 9.181114e-9, 9.19202e-9, 6.78206e-11},
		{"levels", Round{Kind: Laplace, Users: 100, Eps0: 1, Levels: 4000}, 0.1, 0.01183808, 0.01183955, 0.0076},
		{"gaussian", Round{Kind: Gaussian, Users: 100, Sigma: 2}, 0.3, 1.47386e-8, 1.47388e-8, 0},
		{"seven gaussians", Round{Kind: Gaussian, Users: 7, Sigma: 2}, 0.3, 0, 1, 0.00695411},
	} {
		t.Run(c.name, func(t *testing.T) {
			law := c.round.ratioOf(1e-16)
			upper := c.round.upperDelta(law, c.e, scales, 17)
			lower := math.Max(c.round.lowerDelta(law, c.e, scales, 17, false),
				c.round.lowerDelta(law, c.e, scales, 17, true))
			if !(upper >= c.lo && upper <= c.hi*1.002) {
				t.Errorf("delta at most %.9g, want %.9g to %.9g", upper, c.lo, c.hi)
			}
			if !(lower <= upper) || c.round.Kind == Gaussian && c.real > 0 && math.Abs(lower/c.real-1) > 1e-2 {
				t.Errorf("delta at least %.9g, want %.9g", lower, c.real)
			}
		})
	}
}

// TestNarrowNoiseIsEnclosed: if noise is small against the distance of the values, few reports hide the
// victim's, and bounds on one round are close. Bounds on several lie on their sides.
func TestNarrowNoiseIsEnclosed(t *testing.T) {
	for _, c := range []struct {
		round Round
		share float64 // of the lower bound in the upper one, at least
	}{
		{Round{Kind: Gaussian, Users: 1000, Sigma: 0.5}, 0.97},
		{Round{Kind: Laplace, Users: 10, Eps0: 8}, 0.97},
		{Round{Kind: Gaussian, Users: 500, Sigma: 0.05}, 0.9},
		{Round{Kind: Laplace, Users: 50, Eps0: 25}, 0.8},
	} {
		r := c.round
		r.Count = 1
		t.Run(fmt.Sprintf("%d %v", r.Users, r.Sigma+r.Eps0), func(t *testing.T) {
			if testing.Short() && !r.exposed() {
				return // transforms of 2^19 points
			}
			local := r.LocalEpsilon()
			if r.Kind == Gaussian {
				local = 0.5/r.Sigma/r.Sigma + 4.76/r.Sigma // more than the curve of N(0, 1) and N(1/sigma, 1) has
			}
			upper, err := Upper([]Round{r}, nil, 1e-6, pld.Precision{})
			if err != nil {
				t.Fatal(err)
			}
			upper = math.Min(upper, local)
			lower, err := Lower([]Round{r}, 1e-6, upper, pld.Precision{})
			if err != nil || !(lower <= upper && lower >= c.share*upper) {
				t.Errorf("epsilon is %v to %v, %v", lower, upper, err)
			}
			if r.Count = 3; !r.exposed() {
				return
			}
			three, err := Lower([]Round{r}, 1e-6, 3*upper, pld.Precision{})
			if err != nil || !(three >= lower*(1-1e-2) && three <= 3*local) {
				t.Errorf("epsilon of three rounds is at least %v, of one %v, %v", three, lower, err)
			}
		})
	}
}

// TestComposedReports: several rounds cost more than one, less than as many local guarantees, and
// no more than the same rounds of any randomiser.
func TestComposedReports(t *testing.T) {
	if testing.Short() {
		return // two hundred transforms
	}
	for _, c := range []struct {
		one, any Round
		least    float64 // of the lower bound in the upper one
	}{
		{Round{Kind: Laplace, Users: 10, Eps0: 1, Count: 4}, Round{Kind: LDP, Users: 10, Eps0: 1, Count: 4}, 0.7},
		{Round{Kind: Gaussian, Users: 300, Sigma: 0.5, Count: 3}, Round{}, 0.5},
	} {
		got, err := epsilon([]Round{c.one}, nil, 1e-4, pld.Precision{})
		if err != nil {
			t.Fatal(err)
		}
		any := math.Inf(1)
		if c.any.Users > 0 {
			if any, err = Upper([]Round{c.any}, nil, 1e-4, pld.Precision{}); err != nil {
				t.Fatal(err)
			}
		}
		if !(c.least*got.Upper < got.Lower && got.Lower < got.Upper && got.Upper < any) {
			t.Errorf("%+v: %+v, any randomiser %v", c.one, got, any)
		}
		at, err := UpperDelta([]Round{c.one}, nil, got.Upper, pld.Precision{})
		below, err2 := UpperDelta([]Round{c.one}, nil, got.Lower*(1-1e-6), pld.Precision{})
		if err != nil || err2 != nil || math.Abs(at/1e-4-1) > 1e-3 || !(below >= 1e-4) {
			t.Errorf("%+v: delta %v, %v at the bounds on epsilon at 1e-4: %v, %v", c.one, at, below, err, err2)
		}
	}
}

func TestRoundsOfSeveralKindsCompose(t *testing.T) {
	if testing.Short() {
		return // curves of large pairs
	}
	krr := Round{Kind: RandomisedResponse, Users: 1000, Categories: 4, Gamma: 0.25, Count: 3}
	ldp := Round{Kind: LDP, Users: 1000, Eps0: 1, Count: 5}
	prec := pld.Precision{}
	got, err := Upper([]Round{krr, ldp}, nil, 1e-6, prec)
	if err != nil {
		t.Fatal(err)
	}
	if !(got >= 1.064212057 && got <= 1.064212315*(1+1e-6)) {
		t.Errorf("epsilon %v", got)
	}
	// A Gaussian release adds to it, and is what remains without the rounds.
	gauss := pld.Term{Kind: pld.Remove, Mu: 0.5, Rate: 1, Count: 2}
	all, err := Upper([]Round{krr, ldp}, []pld.Term{gauss}, 1e-6, prec)
	if err != nil {
		t.Fatal(err)
	}
	alone, err := pld.Upper([]pld.Term{gauss}, 1e-6, prec)
	if err != nil {
		t.Fatal(err)
	}
	if !(all > got && all > alone && all < got+alone) {
		t.Errorf("together %v, rounds %v, releases %v", all, got, alone)
	}
	fair := krr
	fair.Gamma = 1 // reports say nothing
	with, err := Upper([]Round{fair}, []pld.Term{gauss}, 1e-6, prec)
	if err != nil || math.Abs(with/alone-1) > 1e-5 {
		t.Errorf("with empty rounds %v, %v, want %v", with, err, alone)
	}
}

func TestIdentitiesAndOrder(t *testing.T) {
	upper := func(r Round) float64 {
		t.Helper()
		r.Count = 1
		e, err := Upper([]Round{r}, nil, 1e-5, pld.Precision{})
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	two := Round{Kind: RandomisedResponse, Users: 300, Categories: 2, Gamma: 0.3}
	clones := Round{Kind: LDP, Users: 300, Eps0: math.Log(1.7 / 0.3)}
	levels := Round{Kind: Laplace, Users: 300, Eps0: clones.Eps0, Levels: 2}
	if a, b, c := upper(two), upper(clones), upper(levels); math.Abs(a/b-1) > 1e-7 || math.Abs(a/c-1) > 1e-5 {
		t.Errorf("two values: %v, clones: %v, noise on two levels: %v", a, b, c)
	}
	base := Round{Kind: RandomisedResponse, Users: 100, Categories: 5, Gamma: 0.3}
	for name, better := range map[string]func(*Round){
		"more users":   func(r *Round) { r.Users++ },
		"larger gamma": func(r *Round) { r.Gamma += 0.01 },
		"a dummy":      func(r *Round) { r.Dummies++ },
		"check-in":     func(r *Round) { r.SelfRate = 0.99 },
		"a sample":     func(r *Round) { r.Population = 110 },
	} {
		t.Run(name, func(t *testing.T) {
			r := base
			if better(&r); !(upper(r) < upper(base)) {
				t.Errorf("%v, without %v", upper(r), upper(base))
			}
		})
	}
	newer, older := clones, clones
	older.Kind = LDP2021
	if !(upper(newer) <= upper(older)) {
		t.Errorf("clones %v, clones of 2021 %v", upper(newer), upper(older))
	}
	whole := base
	whole.Population = whole.Users
	if a, b := upper(whole), upper(base); a != b {
		t.Errorf("a sample of all: %v, want %v", a, b)
	}
}

// TestCurvesAgreeWithLists: pairs from their curves, as large ones are, lie close to the lists of their
// outputs, on the right side.
func TestCurvesAgreeWithLists(t *testing.T) {
	x := blanket{n: 150, g: 0.4, w: 0.25}
	const tail = 1e-18
	whole := mixture{side: above, rate: 1, cut: tail}
	whole.all, _ = x.pair(above, tail)
	for _, v := range []side{above, below} {
		m := mixture{side: v, rate: 1, cut: tail, points: finePoints}
		m.all, _ = x.pair(v, tail)
		l := merged(m.grid())
		if v == above {
			l = chords(m.grid())
		}
		for _, e := range []float64{0, 0.1, 0.3, 0.6} {
			_, a := whole.exact().Delta(e)
			_, b := l.Delta(e)
			if math.Abs(b/a-1) > 1e-4 || (v == above && b < a*(1-1e-9)) || (v == below && b > a*(1+1e-9)) {
				t.Errorf("side %v, epsilon %v: %.12g, whole %.12g", v, e, b, a)
			}
		}
	}
	for _, e := range []float64{0.1, 0.3} {
		_, a := whole.exact().Delta(e)
		if b := whole.curve([]float64{math.Expm1(e)})[0].delta; math.Abs(b/a-1) > 1e-9 {
			t.Errorf("epsilon %v: curve %.12g, list %.12g", e, b, a)
		}
	}
}

func TestBinomialRows(t *testing.T) {
	for _, b := range []binomial{{40, 0.3, 0.7}, {3000, 0.5, 0.5}, {3000, 1e-3, 1 - 1e-3}} {
		lo, hi := b.tails(1e-30)
		row := b.row(lo, hi)
		p, q := big.NewFloat(b.p).SetPrec(200), big.NewFloat(b.q).SetPrec(200)
		exact := new(big.Float).SetPrec(200).SetInt(new(big.Int).Binomial(int64(b.n), int64(lo)))
		for range lo {
			exact.Mul(exact, p)
		}
		for range b.n - lo {
			exact.Mul(exact, q)
		}
		for k := lo; k <= hi; k++ {
			want, _ := exact.Float64()
			if got := row[k-lo]; math.Abs(got/want-1) > 0x1p-40 {
				t.Fatalf("%+v: P(%d) = %v, want %v", b, k, got, want)
			}
			if got := b.mass(k); math.Abs(got/want-1) > 0x1p-40 {
				t.Fatalf("%+v: mass(%d) = %v, want %v", b, k, got, want)
			}
			exact.Mul(exact, p).Mul(exact, big.NewFloat(float64(b.n-k)))
			exact.Quo(exact, q).Quo(exact, big.NewFloat(float64(k+1)))
		}
	}
}

func TestImpossibleRounds(t *testing.T) {
	for name, r := range map[string]Round{
		"kind":        {Kind: 9, Users: 1, Count: 1},
		"users":       {Kind: LDP, Eps0: 1, Count: 1},
		"count":       {Kind: LDP, Users: 5, Eps0: 1},
		"eps0":        {Kind: LDP, Users: 5, Eps0: math.NaN(), Count: 1},
		"categories":  {Kind: RandomisedResponse, Users: 5, Categories: 1, Gamma: 0.5, Count: 1},
		"gamma":       {Kind: RandomisedResponse, Users: 5, Categories: 3, Gamma: 1.5, Count: 1},
		"no gamma":    {Kind: RandomisedResponse, Users: 5, Categories: 3, Count: 1},
		"dummies":     {Kind: LDP, Users: 5, Eps0: 1, Dummies: 1, Count: 1},
		"self":        {Kind: Laplace, Users: 5, Eps0: 1, SelfRate: 0.5, Count: 1},
		"population":  {Kind: LDP, Users: 5, Eps0: 1, Population: 4, Count: 1},
		"all collude": {Kind: LDP, Users: 5, Eps0: 1, Population: 8, Colluders: 8, Count: 1},
		"levels":      {Kind: Laplace, Users: 5, Eps0: 1, Levels: 1, Count: 1},
		"more levels": {Kind: LDP, Users: 5, Eps0: 1, Levels: 9, Count: 1},
		"sigma":       {Kind: Gaussian, Users: 5, Count: 1},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := Upper([]Round{r}, nil, 1e-5, pld.Precision{}); !errors.Is(err, ErrRound) {
				t.Error(err)
			}
		})
	}
}

// epsilon encloses the epsilon at delta of all rounds together with other steps, which bound it from above
// only: the lower bound is that of the rounds alone.
func epsilon(rounds []Round, others []pld.Term, delta float64, prec pld.Precision) (pld.Span, error) {
	upper, err := Upper(rounds, others, delta, prec)
	if err != nil || math.IsInf(upper, 1) {
		return pld.Span{Upper: upper}, err
	}
	lower, err := Lower(rounds, delta, upper, prec)
	return pld.Span{Lower: math.Min(lower, upper), Upper: upper}, err
}
