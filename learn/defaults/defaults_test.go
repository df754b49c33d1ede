package defaults

import (
	"math"
	"strings"
	"testing"

	"choir/learn/dataset"
	"choir/learn/pvi"
)

// world is the facts of a plan over standardised columns whose noise is about that of
// (epsilon, 1e-5).
func world(parties int, records int64, columns int, epsilon float64) Facts {
	s := &dataset.Schema{}
	for range columns {
		s.Columns = append(s.Columns, dataset.Standardised("x", -4, 4, 0, 1))
	}
	f := Of(s)
	f.Parties = parties
	f.Records = records
	f.Noise = 7.5 / epsilon
	return f
}

func TestOf(t *testing.T) {
	s := &dataset.Schema{Columns: []dataset.Column{
		dataset.Standardised("a", -4, 4, 0, 1), dataset.Numeric("b", 0, 10), dataset.Categorical("c", "x", "y",
			"z")}}
	f := Of(s)
	if want := math.Sqrt(1 + 1 + 1.0/3 + 1); math.Abs(f.Norm-want) > 1e-12 {
		t.Errorf("norm %v, want %v", f.Norm, want)
	}
	if f.Aligned != 1+0.5+1+1 {
		t.Errorf("alignment %v", f.Aligned)
	}
}

// TestVirtualScales: the noise that a run ends with doesn't depend on its rounds, steps are
// stable whatever the columns are, and the settings grow with the signal and stop.
func TestVirtualScales(t *testing.T) {
	weak, strong, stronger := world(10, 400, 20, 0.2), world(10, 50_000, 20, 2), world(10, 500_000, 20, 8)
	a, b, c := weak.Virtual(), strong.Virtual(), stronger.Virtual()
	if !(a.Clip < b.Clip) || b.Clip != c.Clip || b.Damping != c.Damping {
		t.Errorf("settings %+v, %+v, %+v", a, b, c)
	}
	for _, columns := range []int{3, 20, 100, 400} {
		f := world(10, 20_000, columns, 1)
		v := f.Virtual()
		if v.Damping*f.Aligned > 2 || v.Rounds < leastRounds || v.Rounds > mostRounds {
			t.Errorf("%d columns: %+v", columns, v)
		}
		f.Rounds = 2 * v.Rounds
		w := f.Virtual()
		if p, q := v.Damping*float64(v.Rounds), w.Damping*float64(w.Rounds); v.Rounds < mostRounds &&
			math.Abs(p/q-1) > 0.02 {
			t.Errorf("%d columns: %v passes in %d rounds, %v in %d", columns, p, v.Rounds, q, w.Rounds)
		}
	}
}

// TestVirtualClasses: two classes have more passes where the noise of the state stays below a fifth of the
// records' own scatter, no more than 120 rounds make, and otherwise those of numbers.
func TestVirtualClasses(t *testing.T) {
	for _, c := range []struct {
		rows    int64
		columns int
		epsilon float64
		more    bool
	}{{16_000, 20, 1, false}, {50_000, 20, 1, false}, {50_000, 20, 2, true}, {50_000, 5, 4, true},
		{50_000, 5, 8, true}, {2_000_000, 5, 8, true}, {50_000, 60, 1, false}} {
		f := world(10, c.rows, c.columns, c.epsilon)
		four, v := f.Virtual(), f.VirtualClasses()
		passes := v.Damping * float64(v.Rounds)
		if more := v.Rounds > four.Rounds; more != c.more || !more && v != four || v.Rounds > mostRounds {
			t.Errorf("%+v: %+v, and for numbers %+v", c, v, four)
		}
		noise := f.Noise * v.Clip * passes
		scatter := math.Sqrt(float64(c.rows) * f.Spread * logitCurve)
		if c.more && noise > 1.01*quiet*scatter {
			t.Errorf("%+v: noise %.1f, scatter %.1f", c, noise, scatter)
		}
	}
	f := world(10, 50_000, 5, 8)
	f.Noise = 0
	if f.Virtual() != f.VirtualClasses() {
		t.Errorf("without noise: %+v", f.VirtualClasses())
	}
}

func TestPrecisions(t *testing.T) {
	f := world(10, 20_000, 20, 1)
	small, large := f.Precisions(1, false), f.Precisions(10, false)
	if !(small.Floor < large.Floor) || !(large.Start > large.Floor) {
		t.Errorf("%+v, %+v", small, large)
	}
	if p := f.Precisions(1e9, false); !(p.Floor <= mostFloor) {
		t.Errorf("the floor %v is more than a plan may have", p.Floor)
	}
	if p := f.Precisions(0, false); p.Floor != 1 || !(p.Start > 0) {
		t.Errorf("without noise: %+v", p)
	}
}

// TestLinearPrecisions: of all precisions, the floor is about that of least error for weights of which the
// records explain half of the target, where the noise hides it; the unit of the target changes nothing else.
func TestLinearPrecisions(t *testing.T) {
	f := world(10, 2000, 20, 1)
	like := Gaussian(0.5)
	h := f.expected(like)
	lost := func(p, s float64) float64 { // error of a weight, in units of Target^2/Norm^2
		shrunk := 1 - h/p
		return shrunk*shrunk/2 + math.Pow(f.Norm*s/p, 2)
	}
	for _, s := range []float64{h / f.Norm, 3 * h / f.Norm, 10 * h / f.Norm} {
		floor := f.LinearPrecisions(s, like).Floor
		for p := h; p < 1000*h; p *= 1.1 {
			if lost(floor, s) > lost(p, s)+0.04 {
				t.Fatalf("noise %g: floor %g has the error %g, %g has %g", s, floor, lost(floor, s), p, lost(p, s))
			}
		}
	}
	if p := f.LinearPrecisions(0, like); p.Floor != 1 || !(p.Start > 0) {
		t.Errorf("without noise: %+v", p)
	}
	most := f.LinearPrecisions(1e12, like).Floor
	if matrix := f.MatrixFloor(1e12, like); most != round3(mostRidge) || matrix != most {
		t.Errorf("floors %v and %v, want %v", most, matrix, mostRidge)
	}
	if got := f.VirtualLinearOutlook(h/f.Norm/3.1, like); got != "" {
		t.Error(got)
	}
	if got := f.VirtualLinearOutlook(h/f.Norm/1.5, like); !strings.Contains(got, "it takes about 400") {
		t.Error(got)
	}
}

// TestShowsResiduals: a round for residuals is for plans of several rounds whose records tell their mean
// square.
func TestShowsResiduals(t *testing.T) {
	for _, tc := range []struct {
		name    string
		facts   Facts
		rounds  int
		planned bool
	}{
		{"plenty", world(10, 16_000, 20, 1), 40, true},
		{"few records", world(10, 60, 20, 1), 40, false},
		{"strict", world(10, 300, 20, 0.2), 40, false},
		{"few rounds", world(10, 16_000, 20, 1), 9, false},
		{"no noise", Facts{Parties: 3, Records: 100}, 20, true},
	} {
		if got := tc.facts.ShowsResiduals(tc.rounds, 6); got != tc.planned {
			t.Errorf("%s: %v", tc.name, got)
		}
	}
}

// TestNoiseSD: over all shares of the target's variance that columns may explain, no other standard
// deviation predicts better than the mean of the targets by more.
func TestNoiseSD(t *testing.T) {
	for _, c := range []dataset.Column{dataset.Standardised("y", -4, 4, 0, 1), dataset.Numeric("y", 0, 10)} {
		f := Of(&dataset.Schema{Target: c})
		mean := func(sd float64) (sum float64) {
			v := sd * sd / (f.Target * f.Target)
			for s := 0.005; s < 1; s += 0.01 {
				sum += 1 - math.Log(v) - (1-s)/v
			}
			return sum
		}
		sd := f.NoiseSD()
		for _, factor := range []float64{0.7, 0.95, 1.05, 1.4} {
			if mean(sd) < mean(factor*sd) {
				t.Errorf("target %v: %g times %g gains more", c.Numeric, factor, sd)
			}
		}
	}
}

func TestOutlook(t *testing.T) {
	for _, tc := range []struct {
		name    string
		facts   Facts
		dataset bool
		want    string
	}{
		{"plenty", world(25, 8000, 20, 1), false, ""},
		{"few records", world(5, 400, 20, 0.2), false, "records, or"},
		{"no noise", Facts{Parties: 3}, true, ""},
		{"ten factors", world(10, 8000, 20, 1), true, "it takes about 45 parties"},
		{"a hundred factors", world(100, 30_000, 20, 1), true, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := tc.facts.Outlook(tc.dataset)
			if (got == "") != (tc.want == "") || !strings.Contains(got, tc.want) {
				t.Errorf("outlook %q, want %q in it", got, tc.want)
			}
		})
	}
}

func TestJudge(t *testing.T) {
	const k = 20
	fill := func(v float64) []float64 {
		out := make([]float64, k+1)
		for j := range out {
			out[j] = v * float64(1-2*(j%2))
		}
		return out
	}
	away := fill(0.5)
	for j := range away {
		away[j] += 0.3
	}
	regression := func(doubt float64) *Regression {
		return &Regression{NoiseSD: 0.5, Spread: 0.5, SD: make([]float64, k+1), Doubt: doubt}
	}
	longer := regression(1)
	longer.Target = 1
	for _, tc := range []struct {
		name string
		o    Outcome
		want Finding
	}{
		{"a regression", Outcome{Mean: fill(0.5), Noise: fill(0.1), Prior: 1, Regression: regression(1)}, Fine},
		{"a regression of long noise", Outcome{Mean: fill(0.5), Noise: fill(0.3), Prior: 1,
			Regression: regression(1)}, Outweighed},
		{"a regression of doubtful noise", Outcome{Mean: fill(0.5), Noise: fill(0.1), Prior: 1,
			Regression: regression(5)}, Outweighed},
		{"a regression of a longer target", Outcome{Mean: fill(0.1), Noise: fill(0.01), Prior: 1,
			Regression: longer}, Outweighed},
		{"two classes", Outcome{Mean: fill(0.5), Noise: fill(0.3), Prior: 1}, Fine},
		{"well found", Outcome{Mean: fill(0.5), Noise: fill(0.05), Prior: 1}, Fine},
		{"noise", Outcome{Mean: fill(0.05), Noise: fill(0.05), Prior: 1}, Swamped},
		{"far beyond the prior", Outcome{Mean: fill(3), Noise: fill(0.05), Prior: 1}, Diverged},
		{"not a number", Outcome{Mean: fill(math.NaN()), Noise: fill(0.05), Prior: 1}, Diverged},
		{"to and fro", Outcome{Mean: fill(1), Before: fill(0.2), Earlier: fill(1), Noise: fill(0.05),
			Step: fill(0.01), Prior: 1}, Diverged},
		{"on its way", Outcome{Mean: fill(1), Before: fill(0.6), Earlier: fill(0.2), Noise: fill(0.05),
			Step: fill(0.01), Prior: 1}, Fine},
		{"start of a network", Outcome{Mean: fill(0.5), Noise: fill(0.05), Start: fill(2), Prior: 1}, Swamped},
		{"away from the start", Outcome{Mean: away, Noise: fill(0.05), Start: fill(2), Prior: 1, Share: 0.1}, Fine},
		{"a rare class", Outcome{Mean: away, Noise: fill(0.2185), Start: fill(2), Prior: 1, Share: 0.1}, Rare},
		{"equal classes", Outcome{Mean: away, Noise: fill(0.2185), Start: fill(2), Prior: 1, Share: 0.5}, Fine},
		{"correlated", Outcome{Mean: fill(0.05), Noise: fill(0.05), Prior: 1, White: fill(3)}, Fine},
		{"noise unknown", Outcome{Mean: fill(0.05), Prior: 1}, Fine},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for j := range tc.o.Noise {
				tc.o.Noise[j] = math.Abs(tc.o.Noise[j])
			}
			if got := Judge(tc.o); got != tc.want {
				t.Errorf("finding %q, want %q", got, tc.want)
			}
		})
	}
	same := Outcome{Mean: make([]float64, k+1), Noise: make([]float64, k+1), Prior: 1}
	for j := range same.Mean {
		same.Mean[j] = 0.05
		same.Noise[j] = 0.05
	}
	if got := Judge(same); got != Fine {
		t.Errorf("weak weights that all agree: %q", got)
	}
}

// TestNewton: a step is bounded by what an average party's step is, the public mean moves by the
// mean step, and where the noise decides the damping is small and the first bound isn't larger.
func TestNewton(t *testing.T) {
	f := world(300, 16_000, 20, 1)
	many := f.Newton(0, 0)
	f.Parties, f.Records = 4, 16_000
	few := f.Newton(0, 0)
	if !(many.Damping > 0.5 && few.Damping < 0.2 && few.Doublings == 0 && few.Noise > 5*many.Noise) {
		t.Errorf("%+v, %+v", many, few)
	}
	f = world(300, 300_000, 20, 1)
	large := f.Newton(0, 0)
	if !(large.StepBound < many.StepBound && large.Noise < many.Noise && large.Doublings > 0) {
		t.Errorf("large parties %+v, small ones %+v", large, many)
	}
	for _, n := range []int64{300, 3_000, 3_000_000} {
		s := world(300, n, 40, 1).Newton(4, 0)
		if !(s.StepBound > 0 && s.Clip > 0 && s.Damping > 0 && s.Damping <= 1 && s.Precision > 0) {
			t.Errorf("%d records: %+v", n, s)
		}
	}
}

// TestNewtonBounds: bounds are tight where the noise is long over the parties' own errors, and what they
// keep of a step is known. A bound that a plan names has its own share, and rounds that it names leave half
// of them with the last bound.
func TestNewtonBounds(t *testing.T) {
	loud, quiet := world(300, 16_000, 20, 1), world(300, 16_000, 20, 100)
	tight, loose := loud.Newton(0, 0), quiet.Newton(0, 0)
	if got := tight.StepBound / loose.StepBound; math.Abs(got-stepTight/stepSlack) > 0.01 {
		t.Errorf("bounds %v and %v", tight.StepBound, loose.StepBound)
	}
	if !(tight.Kept < 0.6 && loose.Kept > 0.8) {
		t.Errorf("kept %v and %v", tight.Kept, loose.Kept)
	}
	few := world(3_000, 30_000, 20, 1) // records each
	if s := few.Newton(0, 0); s.Kept != loose.Kept {
		t.Errorf("of many parties of few records %v are kept", s.Kept)
	}
	named := loud.Newton(0, loose.StepBound)
	if named.StepBound != loose.StepBound || named.Kept != loose.Kept || named.Noise <= tight.Noise {
		t.Errorf("%+v, not tight %+v", named, loose)
	}
	for _, rounds := range []int{1, 4, 8, 40} {
		f := world(300, 3_000_000, 20, 8)
		f.Rounds = rounds
		s := f.Newton(0, 0)
		if s.Rounds != rounds || 2*pvi.RoundsOfBound*s.Doublings > rounds {
			t.Errorf("%d rounds: %+v", rounds, s)
		}
	}
}

// TestNetworkSteps: steps add up over the parties, so that their rate follows all records, and noise
// shortens clip and rate.
func TestNetworkSteps(t *testing.T) {
	f := world(10, 4_000, 10, 1)
	few := f.NetworkSteps(0.1, false)
	f.Parties = 50
	if many := f.NetworkSteps(0.1, false); many.Rate != few.Rate || many.Clip != few.Clip {
		t.Errorf("with 50 parties %+v, with 10 %+v", many, few)
	}
	small, large := f.NetworkSteps(0.1, true), world(10, 4_000, 10, 1).NetworkSteps(0.1, true)
	if small.Rate <= large.Rate {
		t.Errorf("a committee's member of 80 records has the rate %g, one of 400 %g", small.Rate, large.Rate)
	}
	last := Steps{}
	for i, noise := range []float64{1e-9, 30, 1e3} {
		f.Noise = noise
		s := f.NetworkSteps(0.1, false)
		if !(s.Rate > 0 && s.Clip > 0 && s.Start >= softestStart && s.Start <= firmestStart) {
			t.Errorf("noise %g: %+v", noise, s)
		}
		if i > 0 && !(s.Clip <= last.Clip && s.Rate < last.Rate) {
			t.Errorf("noise %g: %+v, with less of it %+v", noise, s, last)
		}
		last = s
	}
}

func TestNewtonOutlook(t *testing.T) {
	if got := world(300, 16_000, 20, 1).NewtonOutlook(0); got != "" {
		t.Error(got)
	}
	if got := world(10, 16_000, 20, 1).NewtonOutlook(0); !strings.Contains(got, "it takes about 90 parties") {
		t.Error(got)
	}
	if got := (Facts{Parties: 3, Norm: 2, Spread: 1}).NewtonOutlook(0); got != "" {
		t.Error(got)
	}
}

// TestPartiesShowResiduals: rounds for residuals of parties are for plans of ten rounds and more whose
// parties tell their mean square within half of the plan's variance.
func TestPartiesShowResiduals(t *testing.T) {
	for _, tc := range []struct {
		parties, rounds int
		noise           float64
		planned         bool
	}{
		{300, 18, 7.46, true}, {100, 18, 7.46, false}, {50, 18, 1.2, true}, {300, 9, 7.46, false},
		{0, 18, 1, false},
	} {
		f := Facts{Parties: tc.parties, Noise: tc.noise}
		if got := f.PartiesShowResiduals(tc.rounds, 6); got != tc.planned {
			t.Errorf("%+v: %v", tc, got)
		}
	}
}
