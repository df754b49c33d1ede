package settings

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"choir/lab/bed"
	"choir/learn/bayes"
	"choir/learn/dataset"
	"choir/protocol"
	"choir/session/run"
	"choir/session/terms"
)

// offCentre has skewed columns with a common factor that are encoded by a wide range from 0.
func offCentre(seed uint64, rows int) (schema *dataset.Schema, d bayes.Data) {
	const columns = 8
	rnd := rand.New(rand.NewPCG(seed, 14))
	schema = &dataset.Schema{Version: dataset.SchemaVersion, Source: "public: made up for a test",
		Target: dataset.Binary("y", "no", "yes"), Missing: dataset.Refuse, Unseen: dataset.Refuse}
	for j := range columns {
		schema.Columns = append(schema.Columns, dataset.Numeric(string(rune('a'+j)), 0, 5))
	}
	for range rows {
		factor := rnd.NormFloat64()
		logit := -0.5
		for range columns {
			own := rnd.NormFloat64()
			logit += 0.5 * (factor + own)
			v := min(5, math.Exp(0.35*(factor+own)))
			d.X = append(d.X, v/2.5-1)
		}
		d.X = append(d.X, 1)
		y := 0.0
		if rnd.Float64() < 1/(1+math.Exp(-logit)) {
			y = 1
		}
		d.Y = append(d.Y, y)
	}
	return schema, d
}

// TestCentringPays: on columns that are encoded by their range the default settings measure the
// centres, and learn far more than without.
func TestCentringPays(t *testing.T) {
	const parties, each = 3, 200
	schema, d := offCentre(3, parties*each+2000)
	cut := func(from, to int) bayes.Data {
		k := schema.Dim()
		return bayes.Data{X: d.X[from*k : to*k], Y: d.Y[from:to]}
	}
	var parts []bayes.Data
	for i := range parties {
		parts = append(parts, cut(i*each, (i+1)*each))
	}
	roster, err := run.NewRoster(nil, parties, 3)
	if err != nil {
		t.Fatal(err)
	}
	ts := terms.Terms{Name: "centring", Members: roster.Members, Created: time.Now(), Lifetime: time.Hour,
		Deadline: time.Minute, Grace: time.Second, Noise: protocol.NoiseParty, Epsilon: 1, Delta: 1e-5}
	score := func(l terms.LearningConfig) float64 {
		spec, rounds, err := l.Spec(ts, schema)
		if err != nil {
			t.Fatal(err)
		}
		out, err := bed.Run{Name: "centring", Seed: 1, App: spec, Parts: parts, Rounds: rounds, Epsilon: 1,
			Delta: 1e-5}.Do(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		s, err := out.Last.Evaluate(cut(parties*each, parties*each+2000))
		if err != nil {
			t.Fatal(err)
		}
		return s.LogLikelihood
	}
	centred, without := score(terms.LearningConfig{}), score(terms.LearningConfig{CentreRounds: new(int)})
	t.Logf("centred %.3f, without %.3f", centred, without)
	if centred < without+0.03 {
		t.Errorf("centring gains %.3f nats a row, want 0.03", centred-without)
	}
}
