package bed

import (
	"encoding/json"
	"math"
	"slices"
	"testing"

	"choir/lab/study"
	"choir/learn/bayes"
	"choir/learn/dataset"
	"choir/learn/gauss"
	"choir/learn/global"
	"choir/learn/pvi"
	"choir/protocol"
	"choir/session/app"
)

// data is a small generated task of three parties.
func data(t *testing.T, features int) (json.RawMessage, []bayes.Data) {
	t.Helper()
	g := dataset.DefaultGenerator(false, 1)
	g.Rows, g.Features = 300, features
	made, err := g.Generate()
	if err != nil {
		t.Fatal(err)
	}
	table, err := made.Table()
	if err != nil {
		t.Fatal(err)
	}
	schema, err := made.Schema.Canonical()
	if err != nil {
		t.Fatal(err)
	}
	return json.RawMessage(schema), bayes.Data{X: table.X, Y: table.Y}.Split(3)
}

func virtual(schema json.RawMessage, features int) *app.PVI {
	return &app.PVI{Version: 1, Schema: schema, Weights: []float64{0.3, 0.3, 0.4}, PVI: pvi.Config{
		Model: bayes.Logistic, Family: gauss.MeanField,
		Strategy: pvi.Virtual{Shards: 5, Fit: pvi.Fit{Steps: 3, LearningRate: 0.05}},
		Features: features + 1, PriorPrecision: 1, PrecisionFloor: 1, Clip: 0.5, FracBits: 20,
		DampingBits: 16, Damping: 0.3, Beta: 0.5,
	}}
}

// TestClearIsTheSession: without noise the state in the clear is the session's on the
// integers, over every transport, for an application with private state and for one
// with secret samples; and what is watched is the same.
func TestClearIsTheSession(t *testing.T) {
	schema, parts := data(t, 4)
	single := virtual(schema, 4)
	step := pvi.Fit{Optimiser: pvi.Natural, Steps: 1, LearningRate: 1}
	single.PVI.Strategy = pvi.Virtual{Shards: 300, ShardPower: 1, Fit: step}
	apps := map[string]app.Spec{"virtual": virtual(schema, 4), "a virtual client for every record": single,
		"global": &app.GlobalVI{Version: 1, Schema: schema,
			Global: global.Config{Model: bayes.Logistic, Features: 5, PriorPrecision: 1, InitialSD: 0.5,
				Clip: 2, FracBits: 19,
				SampleRate: 0.3, Records: 300, MaxRecords: 300, Optimiser: global.Adam, LearningRate: 0.05}}}
	for name, app := range apps {
		var first []int64
		var seen [][]float64
		for i, transport := range []study.Transport{Clear, study.Memory, study.NATS} {
			var means [][]float64
			r := Run{Name: name, Seed: 7, App: app, Parts: parts, Rounds: 4, Transport: transport,
				Dir:   t.TempDir(),
				Watch: func(_ int, p *bayes.Posterior) error { means = append(means, p.Mean()); return nil }}
			o, err := r.Do(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if i == 0 {
				first, seen = o.State, means
			}
			if !slices.Equal(o.State, first) || len(means) != 4 ||
				!slices.EqualFunc(means, seen, slices.Equal) {
				t.Errorf("%s over %s ends in another state than in the clear", name, transport)
			}
			if slices.Equal(o.State, app.Model(&protocol.Plan{}).Initial()) {
				t.Errorf("%s over %s learnt nothing", name, transport)
			}
			if o.Plan.Created != 0 {
				t.Errorf("%s over %s: the identity of the plan depends on the time", name, transport)
			}
		}
	}
}

// TestNoiseIsThePlans: parties without records send noise only. Its mean square over
// n = 5 x 902 numbers is the parties' number times the plan's variance, with relative
// standard deviation sqrt(2/n) = .021; six of them make a false alarm rarer than 1e-8.
func TestNoiseIsThePlans(t *testing.T) {
	schema, _ := data(t, 40)
	app := virtual(schema, 40)
	app.PVI.Model = bayes.Linear
	app.PVI.Family = gauss.Full
	app.PVI.Strategy = pvi.Dataset{}
	app.PVI.NoiseSD = 1
	app.PVI.Beta = 0
	app.PVI.Damping = 1
	for _, transport := range []study.Transport{Clear, study.Memory} {
		previous := app.Model(&protocol.Plan{}).Initial()
		var sum float64
		n := 0
		for rounds := 1; rounds <= 5; rounds++ {
			r := Run{Name: "noise", Seed: uint64(rounds), App: app, Parts: make([]bayes.Data, 3), Rounds: 1,
				Epsilon: 1, Delta: 1e-5, Transport: transport}
			o, err := r.Do(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for i, v := range o.State {
				z := float64(v-previous[i]) / (1 << 16)
				sum += z * z / float64(o.Plan.Variance) / 3
				n++
			}
			if !(o.Spent.Epsilon > 0.99 && o.Spent.Epsilon <= 1) {
				t.Errorf("spent %v", o.Spent)
			}
		}
		if n != 5*902 || math.Abs(sum/float64(n)-1) > 6*math.Sqrt(2/float64(n)) {
			t.Errorf("%s: %d numbers with %v of the plan's variance", transport, n, sum/float64(n))
		}
	}
}

func TestMarked(t *testing.T) {
	n := 0
	for r := 1; r <= 4000; r++ {
		if marked(r) {
			n++
		} else if r <= 20 {
			t.Errorf("round %d is not shown", r)
		}
	}
	if n < 60 || n > 90 {
		t.Errorf("%d of 4000 rounds are shown", n)
	}
}
