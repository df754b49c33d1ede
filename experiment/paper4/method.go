package paper4

import (
	"context"
	"encoding/json"
	"fmt"
	"math"

	"choir/experiment"
	"choir/experiment/lab"
	"choir/experiment/study"
	"choir/pvi"
	"choir/pvi/gauss"
	"choir/pvi/global"
	"choir/session"
)

// pair are the two scores: accuracy and log-likelihood.
type pair = [2]float64

// method is one way to learn, with one setting of everything for all splits.
type method struct {
	name     string
	paper    string // its relative in the paper, empty: none
	rounds   int
	bars     map[string]pair // by split: what to reach
	app      func(t task) session.App
	power    float64 // see shardsOf
	settings string
	// long has so many rounds that it runs in the clear, whatever the transport.
	long bool
}

// task is what an application is made for.
type task struct {
	features int
	parties  int
	rows     int // that train
	largest  int // rows of the largest party
	weights  []float64
	schema   json.RawMessage
}

func taskOf(d *experiment.Data) (task, error) {
	schema, err := d.Schema.Canonical()
	if err != nil {
		return task{}, err
	}
	t := task{features: d.Schema.Dim(), parties: len(d.Parts), rows: d.Train.Rows(), weights: d.Weights(), schema: json.RawMessage(schema)}
	for _, p := range d.Parts {
		t.largest = max(t.largest, p.Rows())
	}
	return t, nil
}

// trace is the scores after the watched rounds.
type trace struct {
	rounds []int
	scores []pair
	spent  study.Spent
}

// run learns once.
func (m method) run(ctx context.Context, o study.Options, data *experiment.Data, epsilon float64, seed uint64) (*trace, error) {
	t, err := taskOf(data)
	if err != nil {
		return nil, err
	}
	tr := new(trace)
	r := lab.Run{Name: m.name, Seed: seed, App: m.app(t), Parts: data.Parts, Rounds: m.rounds, Epsilon: epsilon, Delta: 1e-5, Transport: o.Transport, Dir: o.Dir,
		Watch: func(round int, p *pvi.Posterior) error {
			s, err := p.Evaluate(data.Test)
			tr.rounds, tr.scores = append(tr.rounds, round), append(tr.scores, pair{s.Accuracy, s.LogLikelihood})
			return err
		}}
	if m.long {
		r.Transport = lab.Clear
	}
	if o.Quick {
		r.Rounds = min(r.Rounds, 2)
	}
	if l, ok := r.App.(*session.Learning); ok && m.power > 0 {
		r.Join = func(s session.Seat) (session.Learner, error) {
			own := *l
			own.PVI.Shards = shardsOf(l.PVI.Shards, l.Weights[s.Party], m.power)
			return own.Join(s)
		}
	}
	out, err := r.Do(ctx)
	if err != nil {
		return nil, err
	}
	tr.spent = out.Spent
	return tr, nil
}

// shardsOf is how many factors a party with the public share w of all records keeps:
// most times w^power, where most is what a party with all the data would keep. A
// record still moves one clipped vector, and the party's sum is bounded by fewer of
// them than the plan allows for.
func shardsOf(most int, w, power float64) int {
	return max(1, int(math.Round(float64(most)*math.Pow(w, power))))
}

func (t task) pvi(c pvi.Config) session.App {
	c.Model, c.Features, c.PriorPrecision, c.DampingBits = pvi.Logistic, t.features, 1, 16
	c.Family = gauss.MeanField
	if c.PrecisionFloor == 0 {
		c.PrecisionFloor = 1
	}
	if c.FracBits == 0 {
		c.FracBits = session.GridFor(c.Clip)
	}
	return &session.Learning{Version: 1, PVI: c, Weights: t.weights, Schema: t.schema}
}

// virtual is virtual clients with noise-free, tied factors and decreasing damping.
func virtual(c pvi.Config, power float64) method {
	c.Strategy = pvi.Virtual
	return method{name: "virtual clients", paper: "virtual clients, trusted aggregator", rounds: 20, power: power,
		app: func(t task) session.App { return t.pvi(c) },
		settings: fmt.Sprintf("20 rounds, %d w^%g shards at a client with the share w of the records, C %g, %d Adam steps of %g, damping %g / (1 + %g (s-1)), beta %g, precisions of at least %g",
			c.Shards, power, c.Clip, c.Steps, c.LearningRate, c.Damping, c.DampingDecay, c.Beta, c.PrecisionFloor)}
}

// optimisation is DP optimisation with local noise.
func optimisation(c pvi.Config, rounds int) method {
	c.Strategy, c.Shards, c.Local, c.Sampling = pvi.Optimisation, 1, true, pvi.SamplingPoisson
	return method{name: "DP optimisation", paper: "DP optimisation", rounds: rounds,
		app: func(t task) session.App { return t.pvi(c) },
		settings: fmt.Sprintf("%d rounds of %d steps of %s at %g, Poisson samples at rate %g, C %g a record, damping %g / (1 + %g (s-1))",
			rounds, c.Steps, c.Optimiser, c.LearningRate, c.SampleRate, c.Clip, c.Damping, c.DampingDecay)}
}

// globalVI is global inference by secure gradient sums over joint samples.
func globalVI(c global.Config, rounds int) method {
	return method{name: "global VI over secure sums", paper: "global VI, trusted aggregator", rounds: rounds, long: true,
		app: func(t task) session.App {
			c := c
			c.Model, c.Features, c.PriorPrecision = pvi.Logistic, t.features, 1
			if c.Optimiser == "" {
				c.Optimiser = global.Adam
			}
			c.Records, c.MaxRecords, c.FracBits = int64(t.rows), int64(2*t.rows), session.GridFor(c.Clip)
			return &session.GlobalVI{Version: 1, Global: c, Schema: t.schema}
		},
		settings: fmt.Sprintf("%d rounds, joint Poisson samples at rate %g, C %g a record, Adam at %g / (1 + %g (s-1)) on the mean gradient, first standard deviation %g, averaging %g; summed in the clear on the session's integers",
			rounds, c.SampleRate, c.Clip, c.LearningRate, c.RateDecay, c.InitialSD, c.Averaging)}
}
