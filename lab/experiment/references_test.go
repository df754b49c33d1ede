package experiment

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"choir/learn/bayes"
	"choir/learn/dataset"
	"choir/learn/gauss"
	"choir/learn/pvi"
	"choir/learn/stats"
	"choir/privacy"
	"choir/protocol"
	"choir/session/app"
)

// TestFullNoiseBeyondOneDraw: noise that a single draw of the sampler cannot have is the sum of several, and
// keeps the budget.
func TestFullNoiseBeyondOneDraw(t *testing.T) {
	for _, c := range []struct {
		sensitivity uint64
		several     bool
	}{{1 << 20, false}, {1 << 27, true}} {
		p := &protocol.Plan{Epsilon: 0.5, Delta: 1e-5, Sensitivity: c.sensitivity, Dim: 4, Rounds: 200,
			Relation: uint8(privacy.ReplaceOne)}
		full, variance, err := reference{plan: p}.fullNoise()
		if err != nil {
			t.Fatal(err)
		}
		if several := full.draws > 1; several != c.several {
			t.Errorf("sensitivity %d: %d draws", c.sensitivity, full.draws)
		}
		// A Gaussian at (0.5, 1e-5) has 7.03 sensitivities a release, by the analytic mechanism [BW18].
		want := 7.03 * 7.03 * 200 * float64(c.sensitivity) * float64(c.sensitivity)
		if variance < 0.99*want || variance > 1.02*want {
			t.Errorf("sensitivity %d: variance %g, want %g", c.sensitivity, variance, want)
		}
	}
}

// TestReferencesOfRanges: where a plan measures in which frame it learns, the fit without privacy is in its
// own, too. In encoded columns of which ranges are 30 times as wide as usual it would predict .05 worse, and
// a session would seem to be better than no privacy at all.
func TestReferencesOfRanges(t *testing.T) {
	made, err := dataset.RangedGenerator{Rows: 4000, Features: 6, Correlation: 0.2, Wider: 30,
		Seed: 5}.Generate()
	if err != nil {
		t.Fatal(err)
	}
	d, err := Source{Records: made.Records, Schema: made.Schema, Seed: 3, Parties: 4, Train: 0.8}.Load()
	if err != nil {
		t.Fatal(err)
	}
	canonical, err := made.Schema.Canonical()
	if err != nil {
		t.Fatal(err)
	}
	fit := func(measuring int) float64 {
		c := pvi.Config{Model: bayes.Logistic, Family: gauss.MeanField, Features: made.Schema.Dim(),
			PriorPrecision: 1, Clip: 1, Strategy: pvi.Virtual{Shards: 10}}
		r := reference{data: d, app: &app.PVI{Version: 1, PVI: c, Schema: json.RawMessage(canonical),
			CentreRounds: measuring}, plan: &protocol.Plan{}}
		s, err := r.nonPrivate(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return s.LogLikelihood
	}
	if framed, encoded := fit(3), fit(0); framed < encoded+0.05 {
		t.Errorf("log-likelihood %.4f in the rows' own frame, %.4f in encoded columns", framed, encoded)
	}
}

// TestReferenceOfStatistics: without privacy nothing of a record is left out, whatever the plan's radius and
// declared records are: R squared is that of least squares to .001. Within the radius of the plan it is .02
// lower, since the targets' long tail is on one side.
func TestReferenceOfStatistics(t *testing.T) {
	const n, d = 4000, 3
	rng := rand.New(rand.NewPCG(4, 4))
	draw := func() (data bayes.Data) {
		for range n {
			a, b := rng.NormFloat64(), rng.NormFloat64()
			data.X = append(data.X, a, b, 1)
			data.Y = append(data.Y, 0.5*a-0.3*b+0.5*math.Exp(1.2*rng.NormFloat64()))
		}
		return data
	}
	set := &Data{Train: draw(), Test: draw()}
	least := mat.NewVecDense(d, nil)
	if err := least.SolveVec(mat.NewDense(n, d, set.Train.X), mat.NewVecDense(n, set.Train.Y)); err != nil {
		t.Fatal(err)
	}
	explained := func(w mat.Vector) float64 {
		var missed, all float64
		mean := floats.Sum(set.Test.Y) / n
		for i, y := range set.Test.Y {
			missed += math.Pow(y-mat.Dot(w, mat.NewVecDense(d, set.Test.X[i*d:(i+1)*d])), 2)
			all += (y - mean) * (y - mean)
		}
		return 1 - missed/all
	}
	c := stats.Config{Features: d, PriorPrecision: 1, Bound: 6, TargetBound: 20, MomentRounds: 1, Radius: 1.5,
		FracBits: 8, Records: n / 10, MaxRecords: n}
	r := reference{data: set, linear: true, app: &app.Statistics{Version: 1, Statistics: c},
		plan: &protocol.Plan{Rounds: 4, Dim: uint32(c.Dim())}}
	got, err := r.nonPrivate(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if want := explained(least); math.Abs(got.Accuracy-want) > 0.001 {
		t.Errorf("R squared is %.4f, by least squares %.4f", got.Accuracy, want)
	}
	q, err := posterior(t.Context(), r.app, r.plan, []bayes.Data{set.Train})
	if err != nil {
		t.Fatal(err)
	}
	if within := explained(mat.NewVecDense(d, q.Mean())); within > got.Accuracy-0.02 {
		t.Errorf("within the radius it is %.4f, too: the bound is not tried", within)
	}
}

// TestAloneOfDroppedRows: a party alone learns by virtual clients, which refuse schemas that leave rows out;
// the rows that a session has are those that are left.
func TestAloneOfDroppedRows(t *testing.T) {
	made, err := dataset.DefaultGenerator(false, 3).Generate()
	if err != nil {
		t.Fatal(err)
	}
	made.Schema.Missing = dataset.Drop
	d, err := Source{Records: made.Records, Schema: made.Schema, Seed: 3, Parties: 4, Train: 0.8}.Load()
	if err != nil {
		t.Fatal(err)
	}
	canonical, err := made.Schema.Canonical()
	if err != nil {
		t.Fatal(err)
	}
	c := pvi.Config{Model: bayes.Logistic, Family: gauss.MeanField, Features: made.Schema.Dim(),
		PriorPrecision: 1, Clip: 1, Strategy: pvi.Dataset{}}
	r := reference{data: d, app: &app.PVI{Version: 1, PVI: c, Schema: json.RawMessage(canonical)},
		plan: &protocol.Plan{Delta: 1e-5, Rounds: 4, Noise: protocol.NoiseParty}, epsilon: 2}
	if _, err := r.alonePrivate(); err != nil {
		t.Error(err)
	}
}

// TestReferencesMeasureNoise: where a session measures the noise of an observation, references without
// privacy do, too, in the place of the plan's assumption; else all keep that.
func TestReferencesMeasureNoise(t *testing.T) {
	const n, d, sd = 2000, 3, 0.5
	rng := rand.New(rand.NewPCG(5, 1))
	draw := func() (data bayes.Data) {
		for range n {
			a, b := rng.NormFloat64(), rng.NormFloat64()
			data.X = append(data.X, a, b, 1)
			data.Y = append(data.Y, 0.5*a-0.3*b+sd*rng.NormFloat64())
		}
		return data
	}
	set := &Data{Train: draw(), Test: draw()}
	for _, c := range []struct {
		from int
		want float64 // log-likelihood
	}{
		{6, -math.Log(2*math.Pi*math.E*sd*sd) / 2},
		{0, -math.Log(2*math.Pi*16)/2 - sd*sd/32},
	} {
		like := pvi.Config{Model: bayes.Linear, Family: gauss.Full, Features: d, PriorPrecision: 1, NoiseSD: 4,
			Strategy: pvi.Dataset{}, ResidualFrom: c.from}
		r := reference{data: set, linear: true, app: &app.PVI{Version: 1, PVI: like},
			plan: &protocol.Plan{Rounds: 8}}
		got, err := r.nonPrivate(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(got.LogLikelihood-c.want) > 0.08 { // 5 standard errors
			t.Errorf("residual rounds from %d: log-likelihood %.3f, want %.3f", c.from, got.LogLikelihood, c.want)
		}
	}
}
