package shuffle

import (
	_ "embed"
	"encoding/csv"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	"choir/privacy/pld"
)

// values has figures that were computed independently of this package, with numpy: by exact enumeration of
// small rounds, by sums over all outputs of large ones, and by discretised losses of compositions, which are
// brackets lo to hi. Sides: upper is the curve of a dominating pair, exact the same for a few users, lower
// that of neighbours that exist, and worst the largest delta over the values of all others.
//
//go:embed testdata/values.tsv
var values string

// figure is a line of the table.
type figure struct {
	given, side, mechanism string
	round                  Round
	epsilon, delta, lo, hi float64
}

func figures(t *testing.T) []figure {
	t.Helper()
	r := csv.NewReader(strings.NewReader(values))
	r.Comma = '\t'
	rows, err := r.ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]Kind{"k-rr": RandomisedResponse, "strong": StrongResponse, "ldp": LDP,
		"ldp-2021": LDP2021, "laplace": Laplace, "gaussian": Gaussian}
	var all []figure
	for _, row := range rows[1:] {
		number := func(i int) float64 {
			if row[i] == "" {
				return 0
			}
			x, err := strconv.ParseFloat(row[i], 64)
			if err != nil {
				t.Fatalf("%v: %v", row, err)
			}
			return x
		}
		f := figure{given: row[0], side: row[1], mechanism: row[2], epsilon: number(11), delta: number(12),
			lo: number(13), hi: number(14)}
		f.round = Round{Kind: kinds[row[2]], Users: int(number(3)), Categories: int(number(4)), Gamma: number(5),
			Eps0: number(6), Sigma: number(7), SelfRate: number(8), Population: int(number(9)), Count: int(number(10))}
		if f.lo == 0 { // digits of the table
			x := f.delta
			if f.given == "delta" {
				x = f.epsilon
			}
			f.lo, f.hi = x, x
		}
		all = append(all, f)
	}
	return all
}

func (f figure) String() string {
	r := f.round
	return fmt.Sprintf("%s %s n=%d k=%d gamma=%v eps0=%.3g x%d, epsilon %.4g, delta %.4g", f.side, f.mechanism,
		r.Users, r.Categories, r.Gamma, r.Eps0+r.Sigma, r.Count, f.epsilon, f.delta)
}

// slow reports whether a figure takes long enough to be left to the full tests.
func (f figure) slow() bool {
	r := f.round
	return f.round.continuous() || r.Count > 1 || r.Users >= 10_000 || r.Users*r.Categories > 2000
}

// TestFigures runs the whole table: bounds are bounds, and not farther than 10^-6 (compositions of samples
// than 2 10^-6) from what the table has.
func TestFigures(t *testing.T) {
	for _, f := range figures(t) {
		if testing.Short() && f.slow() {
			continue
		}
		t.Run(f.String(), func(t *testing.T) {
			switch {
			case f.given == "order":
				f.renyi(t)
			case f.side == "worst":
				f.enumerated(t)
			case f.side == "exact":
				f.exact(t)
			case f.side == "lower":
				f.lower(t)
			default:
				f.upper(t)
			}
		})
	}
}

// digits is the error of the table's figures, which have 6 digits or more.
const digits = 1e-9

func (f figure) tolerance() float64 {
	if f.round.Population > 0 && f.round.Count > 1 {
		return 2e-6
	}
	return 1e-6
}

// pairs has the lattices of rounds that several figures compose.
var pairs = map[Round]*pld.Lattice{}

// composed is Upper, with the lattice of the round from pairs.
func (f figure) composed(delta float64) (float64, error) {
	if f.round.Count == 1 {
		return Upper([]Round{f.round}, nil, delta, pld.Precision{})
	}
	one := f.round
	one.Count = 1
	l := pairs[one]
	if l == nil {
		var err error
		if l, err = one.dominating(1e-22, finePoints); err != nil {
			return 0, err
		}
		pairs[one] = l
	}
	term := pld.Term{Kind: pld.Discrete, Count: f.round.Count, Lattice: l}
	return pld.Upper([]pld.Term{term}, delta, fill(pld.Precision{}, []Round{f.round}))
}

func (f figure) upper(t *testing.T) {
	if f.round.continuous() {
		f.reports(t)
		return
	}
	at := func(delta float64) float64 {
		e, err := f.composed(delta)
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	if f.given == "delta" {
		if got := at(f.delta); !(got >= f.lo*(1-digits) && got <= f.hi*(1+f.tolerance())) {
			t.Errorf("epsilon %.10g is not in %.10g to %.10g", got, f.lo, f.hi)
		}
		return
	}
	// At the lower end of the bracket of delta, epsilon is at least the table's, and at the upper end at most.
	if got := at(f.lo); !(got >= f.epsilon*(1-digits)) {
		t.Errorf("epsilon %.10g at delta %.10g is below %.10g", got, f.lo, f.epsilon)
	}
	if got := at(f.hi); !(got <= f.epsilon*(1+f.tolerance())) {
		t.Errorf("epsilon %.10g at delta %.10g is above %.10g", got, f.hi, f.epsilon)
	}
}

// reports compares a single round with the blanket's curve by a contour integral, and for few reports, with
// which that converges slowly, with the table. The table's transforms have errors that its brackets do not
// count: the curve is 9.21767 10^-10 and 9.19223 10^-9 where two begin and end at 9.21778 and 9.19202.
func (f figure) reports(t *testing.T) {
	lo, hi := f.lo, f.hi
	if f.round.Users >= 100 {
		delta, cut := f.round.contour(f.epsilon)
		if lo, hi = delta, delta+cut; !(lo >= f.lo*(1-3e-5) && hi <= f.hi*(1+3e-5)) {
			t.Errorf("the curve is %.10g to %.10g, the table has %.10g to %.10g", lo, hi, f.lo, f.hi)
		}
	}
	delta, err := UpperDelta([]Round{f.round}, nil, f.epsilon, pld.Precision{})
	if err != nil || !(delta >= lo && delta <= hi*(1+1e-5)) {
		t.Errorf("delta %.10g is not in %.10g to %.10g: %v", delta, lo, hi, err)
	}
	epsilon, err := Upper([]Round{f.round}, nil, hi, pld.Precision{})
	if err != nil || !(epsilon >= f.epsilon*(1-digits) && epsilon <= f.epsilon*(1+f.tolerance())) {
		t.Errorf("epsilon %.10g at delta %.10g, want %.10g: %v", epsilon, hi, f.epsilon, err)
	}
}

func (f figure) lower(t *testing.T) {
	got, err := Lower([]Round{f.round}, f.delta, 10, pld.Precision{})
	if err != nil {
		t.Fatal(err)
	}
	if !(got <= f.hi*(1+1e-6) || f.given == "epsilon" && got <= f.epsilon*(1+1e-5)) {
		t.Errorf("epsilon %.10g is above what the neighbours attain, %.10g", got, f.epsilon)
	}
	if !(got >= f.epsilon*(1-5e-6)) {
		t.Errorf("epsilon %.10g is far below what the neighbours attain, %.10g", got, f.epsilon)
	}
}

// exact compares a delta.
func (f figure) exact(t *testing.T) {
	l, err := f.round.dominating(1e-30, finePoints)
	if err != nil {
		t.Fatal(err)
	}
	if lo, hi := l.Delta(f.epsilon); math.IsInf(f.epsilon, 1) {
		if math.Abs(l.Infinite/f.delta-1) > 1e-10 {
			t.Errorf("mass %v at infinite loss, want %v", l.Infinite, f.delta)
		}
	} else if !(lo <= f.delta*(1+1e-10) && hi >= f.delta*(1-1e-10) && hi-lo < 1e-9*hi) {
		t.Errorf("delta %.14g to %.14g, want %.14g", lo, hi, f.delta)
	}
}

func (f figure) renyi(t *testing.T) {
	l, err := f.round.Listed(1e-60)
	if err != nil {
		t.Fatal(err)
	}
	l.Infinite = 0
	if got := l.Renyi(f.epsilon); math.Abs(got/f.delta-1) > 1e-6 {
		t.Errorf("Renyi divergence %.12g of order %v, want %.12g", got, f.epsilon, f.delta)
	}
}

// enumerated compares the largest delta over all values of the others, and checks that the bound covers it.
func (f figure) enumerated(t *testing.T) {
	r := f.round
	worst := 0.0
	var visit func(reports [][]float64, least int)
	visit = func(reports [][]float64, least int) {
		if len(reports) == r.Users-1 {
			p := shuffled(append(reports, response(r.Categories, 0, r.Gamma, 1)))
			q := shuffled(append(reports, response(r.Categories, 1, r.Gamma, 1)))
			x := math.Exp(f.epsilon)
			worst = math.Max(worst, math.Max(hockey(p, q, x), hockey(q, p, x)))
			return
		}
		for v := least; v < r.Categories; v++ {
			visit(append(reports[:len(reports):len(reports)], response(r.Categories, v, r.Gamma, 1)), v)
		}
	}
	visit(nil, 0)
	if math.Abs(worst/f.delta-1) > 1e-9 {
		t.Errorf("the largest delta is %.14g, want %.14g", worst, f.delta)
	}
	l, err := r.dominating(1e-30, finePoints)
	if err != nil {
		t.Fatal(err)
	}
	if _, hi := l.Delta(f.epsilon); hi < worst*(1-1e-10) {
		t.Errorf("delta %.14g is promised, and %.14g attained", hi, worst)
	}
}

// TestMixedFigures: compositions of different rounds.
func TestMixedFigures(t *testing.T) {
	if testing.Short() {
		return // curves of large pairs
	}
	krr := Round{Kind: RandomisedResponse, Users: 1000, Categories: 4, Gamma: 0.25, Count: 4}
	eight := Round{Kind: RandomisedResponse, Users: 500, Categories: 8, Gamma: 0.5, Count: 2}
	for _, c := range []struct {
		rounds []Round
		lo, hi float64
	}{
		{[]Round{krr, eight}, 1.403862838, 1.403863011},
	} {
		got, err := Upper(c.rounds, nil, 1e-6, pld.Precision{})
		if err != nil {
			t.Fatal(err)
		}
		if !(got >= c.lo && got <= c.hi*(1+1e-6)) {
			t.Errorf("%+v: epsilon %.10g is not in %.10g to %.10g", c.rounds, got, c.lo, c.hi)
		}
	}
}
