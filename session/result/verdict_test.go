package result_test

import (
	"strings"
	"testing"

	"choir/learn/bayes"
	"choir/learn/gauss"
	"choir/learn/mcmc"
	"choir/learn/pvi"
	"choir/protocol"
	"choir/session/app"
	"choir/session/internal/rig"
	"choir/session/result"
	"choir/session/terms"
)

// TestUnjudged: a result whose error has no estimate says so.
func TestUnjudged(t *testing.T) {
	natural := pvi.Optimisation{Optimiser: pvi.Natural, Steps: 5, LearningRate: 0.1,
		Sampling: pvi.SamplingPoisson, SampleRate: 0.5}
	adam := natural
	adam.Optimiser = pvi.Adam
	for _, tc := range []struct {
		name     string
		strategy pvi.Strategy
		model    bayes.Model
		want     string
	}{
		{"natural gradients", natural, bayes.Logistic, ""},
		{"adaptive steps", adam, bayes.Logistic, "how much noise steps along plain gradients leave"},
		{"committee", pvi.BCMSame{Optimisation: natural}, bayes.Logistic, ""},
		{"committee of lines", pvi.BCMSame{Optimisation: natural}, bayes.Linear, "a committee's one round"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			a, s := noisePlan(t, tc.strategy, tc.model, func(ts *terms.Terms) { ts.Epsilon = 1000 })
			sum := make([]int64, s.Plan.Dim)
			for j := range len(sum) / 2 {
				sum[j] = int64(1-2*(j%2)) << 20
			}
			m := a.Model(s.Plan)
			state, err := m.Fold(1, m.Initial(), sum)
			if err != nil {
				t.Fatal(err)
			}
			got, err := result.Warnings(s.Plan, state)
			if all := strings.Join(got, "\n"); err != nil || (all == "") != (tc.want == "") ||
				!strings.Contains(all, tc.want) {
				t.Errorf("warnings %q, %v, want %q", got, err, tc.want)
			}
		})
	}
}

// TestTraceIsJudged: a trace posterior of sums that reveal nothing is swamped, in the warnings and in
// the model file.
func TestTraceIsJudged(t *testing.T) {
	c := rig.AppCases(t)["mcmc"]
	m := c.App.(*app.MCMC)
	m.MCMC.Method = mcmc.Trace
	m.MCMC.Chains = 1
	m.MCMC.CurvatureRounds, m.MCMC.WarmRounds = 1, 2
	m.MCMC.Rounds += 6
	c.Rounds = m.MCMC.Rounds
	s := c.Plan(t, c.Noise, func(*terms.Terms) {}).Session
	model := m.Model(s.Plan)
	state := model.Initial()
	for round := range s.Plan.Rounds {
		var err error
		if state, err = model.Fold(round+1, state, make([]int64, s.Plan.Dim)); err != nil {
			t.Fatal(err)
		}
	}
	got, err := result.Warnings(s.Plan, state)
	if err != nil || len(got) != 1 || !strings.HasPrefix(got[0], "swamped") ||
		!strings.HasSuffix(got[0], "a larger epsilon help") {
		t.Fatalf("warnings %q, %v", got, err)
	}
	f, err := result.NewModelFile(s, state, nil)
	if err != nil || len(f.Warnings) != 1 {
		t.Errorf("the model file warns %q, %v", f.Warnings, err)
	}
}

// TestUnexpectedWeights: a result names the weights that surely are where the plan's prior hardly expects
// any, and the precision that leaves them room; it warns of weights that are long together, and is silent
// about others, and about those of noisy statistics.
func TestUnexpectedWeights(t *testing.T) {
	for _, tc := range []struct {
		name, of  string
		precision float64
		mean      []float64 // three slopes and the intercept
		sd        float64
		want      []string
	}{
		{"rare class", "virtual", 1, []float64{0, 1, -1, -3}, 0.2,
			[]string{"intercept (3.0)", "prior_precision 0.2 "}},
		{"not sure", "virtual", 1, []float64{0, 1, -1, -3}, 0.7, nil},
		{"room", "virtual", 0.2, []float64{0, 1, -1, -3}, 0.2, nil},
		{"as drawn", "virtual", 1, []float64{2.4, -1.5, 1, 1.9}, 0.1, nil},
		{"long together", "virtual", 1, []float64{3.2, -3, 2.5, 1.9}, 0.1,
			[]string{"together", "root mean square is 2.7 of", "prior_precision 0.1 "}},
		{"together, with room", "virtual", 0.1, []float64{3.2, -3, 2.5, 1.9}, 0.1, nil},
		{"slopes", "global", 1, []float64{5, 1, -4, 0}, 0.1,
			[]string{"x0 (5.0), x2 (4.0)", "prior_precision 0.09 "}},
		{"unit", "mcmc", 4, []float64{0, 0, 0, 1.5}, 0.1, []string{"intercept (3.0)", "prior_precision 1 "}},
		{"statistics", "statistics", 1, []float64{0, 1, -1, -9}, 0.1, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := rig.AppCases(t)[tc.of]
			switch a := c.App.(type) {
			case *app.PVI:
				a.PVI.PriorPrecision = tc.precision
			case *app.GlobalVI:
				a.Global.PriorPrecision = tc.precision
			case *app.MCMC:
				a.MCMC.PriorPrecision = tc.precision
			}
			p := c.Plan(t, c.Noise, func(*terms.Terms) {}).Session.Plan
			natural := make([]float64, 8)
			for j, m := range tc.mean {
				natural[j], natural[4+j] = m/(tc.sd*tc.sd), -0.5/(tc.sd*tc.sd)
			}
			q, err := bayes.Likelihood{Model: bayes.Logistic, Family: gauss.MeanField, Features: 4}.Posterior(natural)
			if err != nil {
				t.Fatal(err)
			}
			got := strings.Join(result.AwareWarnings(p, q, nil), "\n")
			if (got != "") != (len(tc.want) > 0) {
				t.Errorf("warnings %q, want %q", got, tc.want)
			}
			for _, want := range tc.want {
				if !strings.Contains(got, want) {
					t.Errorf("warnings %q, want %q", got, want)
				}
			}
		})
	}
}

// TestStatisticsAreJudged: noisy statistics of nothing are swamped and the model file says so;
// those of lines under little noise are not.
func TestStatisticsAreJudged(t *testing.T) {
	c := rig.AppCases(t)["statistics"]
	private := c.Plan(t, c.Noise, func(ts *terms.Terms) { ts.Epsilon = 200 }).Session
	open := c.Plan(t, protocol.NoiseNone, func(*terms.Terms) {}).Session
	learnt := c.Plainly(t, open.Plan)
	model := c.App.Model(private.Plan)
	nothing := model.Initial()
	for round := range private.Plan.Rounds {
		var err error
		if nothing, err = model.Fold(round+1, nothing, make([]int64, private.Plan.Dim)); err != nil {
			t.Fatal(err)
		}
	}
	for _, tc := range []struct {
		name  string
		s     protocol.BoundPlan
		state []int64
		want  string
	}{
		{"nothing", private, nothing, "swamped"},
		{"lines", private, learnt, ""},
		{"no noise", open, nothing, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := result.Warnings(tc.s.Plan, tc.state)
			all := strings.Join(got, "\n")
			if err != nil || (all != "") != (tc.want != "") || !strings.Contains(all, tc.want) {
				t.Fatalf("warnings %q, %v, want %q", got, err, tc.want)
			}
			f, err := result.NewModelFile(tc.s, tc.state, []app.Revealed(nil))
			if err != nil || len(f.Warnings) != len(got) {
				t.Errorf("the model file warns %q, %v", f.Warnings, err)
			}
		})
	}
}

// TestNarrowColumnsAreNamed: a result warns of the columns of which noise hides how narrow they are in their
// range, by name, and of none that fill it.
func TestNarrowColumnsAreNamed(t *testing.T) {
	c := rig.AppCases(t)["centred global"]
	p := c.Plan(t, protocol.NoiseParty, func(*terms.Terms) {}).Session.Plan
	m := c.App.Model(p)
	state := m.Initial()
	const records = 1 << 50
	for round := range uint32(2) {
		sum := make([]int64, p.Dim)
		sum[3], sum[1], sum[2], sum[4] = records, records/2, -records/2, records/4
		sum[5], sum[6] = records/4, records/4 // half of the mean squares: they fill their ranges
		if round == 0 {                       // one is narrow, at half of its range; the next stage looks there
			sum[0], sum[4] = records/2, records/8
		} else {
			sum[0], sum[4] = 0, 0
		}
		var err error
		if state, err = m.Fold(round+1, state, sum); err != nil {
			t.Fatal(err)
		}
	}
	got, err := result.Warnings(p, state)
	if err != nil {
		t.Fatal(err)
	}
	all := strings.Join(got, "\n")
	if !strings.Contains(all, "values of x0 lie in a small part of the public range") {
		t.Errorf("warnings %q", all)
	}
}
