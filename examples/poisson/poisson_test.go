package poisson_test

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"testing"

	"choir/examples/poisson"
	"choir/lab/bed"
	"choir/lab/study"
	"choir/learn/bayes"
	"choir/learn/dataset"
	"choir/learn/gauss"
	"choir/learn/model"
	"choir/learn/pvi"
	"choir/session/app"
)

const (
	parties  = 3
	features = 2 // a slope and the bias
)

// config is the model's part of a plan without noise, so that the only distance to the
// exact posterior is that of the mean-field family.
func config() pvi.Config {
	return pvi.Config{
		Model: bayes.External, Parameters: features, Family: gauss.MeanField, Features: features,
		Strategy:       pvi.Dataset{},
		PriorPrecision: 1, PrecisionFloor: 1, FracBits: 24, DampingBits: 16, Damping: 0.5,
	}
}

// counts are a party's records, from a seed: log rates between 0 and 2.
func counts(party, rows int) bayes.Data {
	r := rand.New(rand.NewPCG(uint64(party), 1))
	var d bayes.Data
	for range rows {
		x := 2*r.Float64() - 1
		d.X = append(d.X, x, 1)
		d.Y = append(d.Y, draw(r, math.Exp(x+1)))
	}
	return d
}

// draw is a Poisson number: how many exponential times fit into 1.
func draw(r *rand.Rand, rate float64) (n float64) {
	for t := r.ExpFloat64(); t < rate; t += r.ExpFloat64() {
		n++
	}
	return n
}

// exact returns the moments of the posterior by summation over a grid of 401 x 401
// weights within 8 standard deviations of the approximation.
func exact(all bayes.Data, around *bayes.Posterior) (mean, sd [features]float64) {
	const half = 200
	var total float64
	var first, second [features]float64
	at := func(j, step int) float64 { return around.Mean()[j] + around.SD()[j]*8*float64(step)/half }
	scale := logPosterior(all, at(0, 0), at(1, 0))
	for i := -half; i <= half; i++ {
		for k := -half; k <= half; k++ {
			w := [features]float64{at(0, i), at(1, k)}
			p := math.Exp(logPosterior(all, w[0], w[1]) - scale)
			total += p
			for j, v := range w {
				first[j] += p * v
				second[j] += p * v * v
			}
		}
	}
	for j := range mean {
		mean[j] = first[j] / total
		sd[j] = math.Sqrt(second[j]/total - mean[j]*mean[j])
	}
	return mean, sd
}

func logPosterior(d bayes.Data, slope, bias float64) float64 {
	log := -(slope*slope + bias*bias) / 2
	for r, y := range d.Y {
		eta := slope*d.X[features*r] + bias*d.X[features*r+1]
		log += y*eta - math.Exp(eta)
	}
	return log
}

// Three parties learn the model over the secure sum, in memory, and end near the exact
// posterior of all their records: the means within a tenth of a standard deviation, the
// standard deviations within a tenth.
func TestSessionIsNearTheExactPosterior(t *testing.T) {
	schema := &dataset.Schema{
		Version: dataset.SchemaVersion, Source: "public: made up for a test", Missing: dataset.Refuse,
		Unseen:  dataset.Refuse,
		Target:  dataset.Standardised("count", 0, 100, 0, 1),
		Columns: []dataset.Column{dataset.Numeric("x", -1, 1)},
	}
	canonical, err := schema.Canonical()
	if err != nil {
		t.Fatal(err)
	}
	l := &app.PVI{Version: 1, PVI: config(), Weights: []float64{0.25, 0.25, 0.5},
		Schema: json.RawMessage(canonical)}
	r := bed.Run{Name: "poisson", Seed: 1, App: l, Rounds: 12, Transport: study.Memory}
	var all bayes.Data
	for party, rows := range []int{20, 20, 40} {
		d := counts(party, rows)
		r.Parts = append(r.Parts, d)
		all.X = append(all.X, d.X...)
		all.Y = append(all.Y, d.Y...)
	}
	r.Join = func(c app.PartyConfig) (app.Party, error) {
		c.Outside = func(d bayes.Data, _ int) (pvi.Outside, error) {
			return poisson.NewParty(features, []bayes.Data{d}), nil
		}
		return l.Join(c)
	}
	o, err := r.Do(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	mean, sd := exact(all, o.Last)
	for j := range mean {
		if d := math.Abs(o.Last.Mean()[j] - mean[j]); d > 0.1*sd[j] {
			t.Errorf("weight %d: mean %v, want %v within a tenth of %v", j, o.Last.Mean()[j], mean[j], sd[j])
		}
		if d := math.Abs(o.Last.SD()[j] - sd[j]); d > 0.1*sd[j] {
			t.Errorf("weight %d: standard deviation %v, want %v within a tenth", j, o.Last.SD()[j], sd[j])
		}
	}
}

// An update is a stationary point of the local free energy: from the shard's own
// posterior it does not move.
func TestUpdateIsStationary(t *testing.T) {
	d := counts(0, 30)
	s := poisson.NewShard(features, d.X, d.Y)
	space := gauss.Space{Family: gauss.MeanField, Features: features}
	cavity := make([]float64, space.Dim())
	space.Prior(cavity, 1)
	q := append([]float64(nil), cavity...)
	update := make([]float64, space.Dim())
	s.Update(nil, update, q, cavity)
	for i, u := range update {
		q[i] += u
	}
	s.Update(nil, update, q, cavity)
	for i, u := range update {
		if math.Abs(u) > 1e-9*(1+math.Abs(q[i])) {
			t.Errorf("coordinate %d moves by %v", i, u)
		}
	}
}

// An improper cavity, which noise in a session can lead to, gives finite updates.
func TestImproperCavity(t *testing.T) {
	d := counts(0, 30)
	var s model.Site = poisson.NewShard(features, d.X, d.Y)
	q := []float64{0, 0, -0.5, -0.5}
	update := make([]float64, len(q))
	s.Update(nil, update, q, []float64{300, -300, 100, 100})
	for i, u := range update {
		if math.IsNaN(u) || math.IsInf(u, 0) {
			t.Errorf("coordinate %d is %v", i, u)
		}
	}
	if s.Rows() != 30 {
		t.Errorf("%d rows", s.Rows())
	}
}
