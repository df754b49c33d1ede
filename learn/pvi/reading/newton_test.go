package reading

import (
	"math"
	"testing"

	"choir/learn/bayes"
	"choir/learn/pvi"
)

// newtonConfig is a configuration in which parties send Newton steps.
func newtonConfig() pvi.Config {
	c := logisticConfig()
	c.Beta = 0
	c.Clip = 4
	c.Damping = 1
	c.DampingDecay = 0.5
	c.StartPrecision = 20
	c.StepBound = 2
	c.StepDoublings = 1
	c.StepKept = 1
	c.Strategy = pvi.Dataset{Fit: pvi.Fit{Optimiser: pvi.Newton, Steps: 1, LearningRate: 1}}
	return c
}

// TestNewtonResidualsMeasureTheNoise: after residual rounds of Newton steps predictions have the measured
// noise, and without them the plan's.
func TestNewtonResidualsMeasureTheNoise(t *testing.T) {
	c := newtonConfig()
	c.Model, c.NoiseSD, c.ResidualFrom = bayes.Linear, 0.7, 5
	c.Strategy = pvi.Dataset{Fit: pvi.Fit{Optimiser: pvi.Newton}}
	first, sum := learner(t, c, dense(c, 1, 60), 1), make([]int64, c.Dim())
	add(t, sum, first, 1, c.Initial(), first.InitialState())
	raw := fold(t, c, 1, c.Initial(), sum)
	var trace []Observation
	for s := 1; s <= 6; s++ {
		sum := make([]int64, c.Dim())
		for i := range 24 {
			l := learner(t, c, dense(c, uint64(i), 60), 1.0/24)
			add(t, sum, l, s, raw, l.InitialState())
		}
		trace = append(trace, Observation{Round: s, Raw: raw, Sum: sum, Variance: 1, Parties: 24, Records: 1440})
	}
	q, err := NoiseAware(c, trace)
	if err != nil {
		t.Fatal(err)
	}
	if m := q.Measured(); m == nil || m.Assumed != 0.7 || !(m.Lower <= q.Likelihood().NoiseSD &&
		q.Likelihood().NoiseSD <= m.Upper) {
		t.Errorf("measured %+v", m)
	}
	if q, err = NoiseAware(c, trace[:4]); err != nil || q.Measured() != nil {
		t.Errorf("measured %+v without a residual round, %v", q.Measured(), err)
	}
}

// TestNewtonPosterior: without noise the posterior is where the public mean ends, the larger first steps
// counting as they are.
func TestNewtonPosterior(t *testing.T) {
	const rounds, n = 24, 24
	c := newtonConfig()
	_, step, _ := c.NewtonUnits(1)
	c.Clip *= (c.StartPrecision + c.PriorPrecision) * c.StepBound / (n * step * 0.9)
	var ls []*pvi.Learner
	for i := range n {
		ls = append(ls, learner(t, c, dense(c, uint64(i), 60), 1.0/n))
	}
	h, err := pvi.Run(t.Context(), c, ls, nil, rounds)
	if err != nil {
		t.Fatal(err)
	}
	last, err := c.Posterior(h.Final())
	if err != nil {
		t.Fatal(err)
	}
	var trace []Observation
	for s := 1; s <= rounds; s++ {
		sum := make([]int64, c.Dim())
		for _, l := range ls {
			add(t, sum, l, s, h.Raw[s-1], l.InitialState())
		}
		trace = append(trace, Observation{Round: s, Raw: h.Raw[s-1], Sum: sum, Parties: n})
	}
	q, err := NoiseAware(c, trace)
	if err != nil {
		t.Fatal(err)
	}
	for i, m := range last.Mean() {
		sd := q.SD()[i]
		if want := m * (1 - sd*sd*c.PriorPrecision); math.Abs(q.Mean()[i]-want) > sd {
			t.Errorf("weight %d: %v, sd %v, public mean %v, %v with the prior", i, q.Mean()[i], sd, m, want)
		}
	}
	if _, err := NoiseAware(c, nil); err == nil {
		t.Error("a posterior of no rounds")
	}
}
