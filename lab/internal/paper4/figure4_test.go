package paper4

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/floats"

	"choir/lab/bed"
	"choir/lab/internal/quality"
	"choir/lab/internal/task"
	"choir/lab/study"
	"choir/learn/bayes"
	"choir/learn/pvi"
	"choir/session/app"
)

// TestQuickNetwork runs two rounds of DP optimisation over the secure sum: they are
// accounted for, and they already predict better than the majority's share, .7607, would
// in the mean log likelihood, -.55.
func TestQuickNetwork(t *testing.T) {
	o := study.Options{Seeds: 1, Transport: study.Memory, Quick: true, Only: []string{"DP optimisation"}}
	r, err := Network().Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Check(); err != nil {
		t.Error(err)
	}
	if len(r.Rows) != 2 || len(r.Spent) != 1 || !(r.Spent[0].Epsilon > 1 && r.Spent[0].Epsilon <= 2) {
		t.Errorf("spent %+v, %d rows", r.Spent, len(r.Rows))
	}
	for _, row := range r.Rows {
		if row.Measure == study.LogLikelihood && !(row.Ours > -0.55 && row.Ours < -0.3) {
			t.Errorf("%+v", row)
		}
	}
}

// TestQuickNetworks: every other method runs with the network, within the budget of
// (2, 1e-5). Two rounds of few records teach it nothing: that is the study's business.
func TestQuickNetworks(t *testing.T) {
	c := figure4()
	data, err := c.data(study.Options{}, c.splits[1], 1)
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range data.Parts {
		const rows = 100
		data.Parts[i] = bayes.Data{X: p.X[:rows*len(p.X)/len(p.Y)], Y: p.Y[:rows]}
	}
	against, err := c.reference(data)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range c.methods[1:] {
		tr, err := m.run(t.Context(), study.Options{Transport: bed.Clear, Quick: true}, data, against, c.epsilon, 1)
		if err != nil {
			t.Fatal(err)
		}
		if s := tr.spent; !(s.Epsilon > 1.5 && s.Epsilon <= 2) || s.Delta != 1e-5 ||
			s.Relation != "replace-one" {
			t.Errorf("%+v", s)
		}
		if l := tr.last(); !(l[0] > 0.2 && l[0] < 0.9 && l[1] > -20 && l[1] < -0.3) {
			t.Errorf("%s: %v", m.name, l)
		}
		if s := tr.calibration; len(s) != 1 || !(s[0].ECE > 0) || s[0].Width != 0 || s[0].Coverage != nil {
			t.Errorf("%s: %+v", m.name, s)
		}
	}
}

// TestOwnShards: clients with shards in proportion to their records have together at most the shards
// that the plan leaves room for, and the bound of each term, which decides on the noise, is the plan's.
func TestOwnShards(t *testing.T) {
	m := networkAveraging()
	plan := m.app(task.Task{Features: 109, Parties: 10, Weights: make([]float64, 10)}).(*app.PVI).PVI
	want, err := plan.Mechanism()
	if err != nil {
		t.Fatal(err)
	}
	total := 0
	for i := range 10 {
		share := []float64{0.3, 1.7}[i%2]
		own, err := m.own(plan, share)
		if err != nil {
			t.Fatal(err)
		}
		got, err := own.Mechanism()
		if err != nil || got.Clip != want.Clip || got.Sensitivity != want.Sensitivity {
			t.Errorf("share %g: clip %d, sensitivity %d, %v; the plan has %d and %d", share, got.Clip,
				got.Sensitivity, err, want.Clip, want.Sensitivity)
		}
		n := own.Strategy.Params().Shards
		if n != []int{36, 207}[i%2] {
			t.Errorf("share %g: %d shards", share, n)
		}
		total += n
	}
	if most := 10 * plan.Strategy.Params().Shards; total > most {
		t.Errorf("%d shards, the plan has room for %d", total, most)
	}
}

// TestAveragingIsVirtual: local averaging by one natural-gradient step, with shards in proportion to the
// records, is virtual clients of the same shards: K copies of a shard's records move K times as far, and the
// mean over K undoes it. Equal numbers of shards at unequal clients end elsewhere.
func TestAveragingIsVirtual(t *testing.T) {
	data, err := adult(study.Options{}, splits()[0], 10, 0.5, 1)
	if err != nil {
		t.Fatal(err)
	}
	data.Train = bayes.Data{}
	data.Test = bayes.Data{X: data.Test.X[:100*data.Schema.Dim()], Y: data.Test.Y[:100]}
	for i, p := range data.Parts {
		rows := []int{20, 60}[i%2]
		data.Parts[i] = bayes.Data{X: p.X[:rows*data.Schema.Dim()], Y: p.Y[:rows]}
		data.Train.X = append(data.Train.X, data.Parts[i].X...)
		data.Train.Y = append(data.Train.Y, data.Parts[i].Y...)
	}
	c := pvi.Config{Clip: 6, Damping: 0.3, StartPrecision: 20, PrecisionFloor: 20, FracBits: 24}
	mean := func(m method) []float64 {
		m.rounds = 5
		m.free = true
		against := quality.Reference{Features: data.Schema.Dim()}
		_, out, err := m.learn(t.Context(), study.Options{}, data, against, 0, 1)
		if err != nil {
			t.Fatal(err)
		}
		return out.Last.Mean()
	}
	c.Strategy = pvi.Virtual{Shards: 20, ShardPower: 1, Fit: task.OneStep()}
	want := mean(method{name: "virtual", app: func(t task.Task) app.Spec { return t.PVI(c) }})
	a := c
	a.Clip = 2 * c.Clip
	a.Strategy = pvi.Averaging{Shards: 2, Fit: task.OneStep()}
	averaged := method{name: "averaging", spread: true, app: func(t task.Task) app.Spec { return t.PVI(a) }}
	const rounding = 1e-4 // five rounds of factors on a grid of 2^-24, over precisions of at least 20
	if d := floats.Distance(want, mean(averaged), math.Inf(1)); d > rounding {
		t.Errorf("weights are %g apart", d)
	}
	averaged.spread = false
	if d := floats.Distance(want, mean(averaged), math.Inf(1)); d < 100*rounding {
		t.Errorf("with equal numbers of shards weights are %g apart: nothing is told apart", d)
	}
}
