package paper4

import (
	"context"
	"fmt"
	"math"

	"choir/experiment"
	"choir/experiment/lab"
	"choir/experiment/published"
	"choir/experiment/study"
	"choir/pvi"
	"choir/pvi/gauss"
	"choir/session"
)

// network is Figure 4: a Bayesian neural network of one hidden layer on Adult, three
// splits, DP optimisation.
type network struct {
	comparison
	config pvi.Config
	rounds int
	power  float64 // steps are in proportion to this power of a party's share
}

// Network is the study of Figure 4.
func Network() study.Study {
	return study.Study{Name: "paper4-bnn", About: "Paper IV, Figure 4: a Bayesian neural network on Adult, 10 clients, (2, 1e-5)", Run: figure4().run}
}

func figure4() network {
	n := network{rounds: 40, power: 0.5, config: pvi.Config{Model: pvi.BNN, Family: gauss.MeanField, Strategy: pvi.Optimisation, Shards: 1, Hidden: 50, Samples: 2,
		PriorPrecision: 1, PrecisionFloor: 1, Clip: 4, FracBits: session.GridFor(4), DampingBits: 16, Damping: 0.3, DampingDecay: 0.05, Steps: 5, LearningRate: 1e-4,
		Method: pvi.Method{Local: true, Optimiser: pvi.SGD, SDUnit: 0.1, Sampling: pvi.SamplingPoisson, SampleRate: 0.05, StartPrecision: 200, StartSpread: 0.1}}}
	c := n.config
	settings := fmt.Sprintf("%d hidden units, prior N(0, I); factors begin with a precision of %g together around fixed means within %g of 0; %d rounds of %d SGD steps of %g (10 w)^%g at a client with the share w of the records, %d samples of the hidden layer for a record, Poisson samples at rate %g, C %g a record, log standard deviations in units of %g, damping %g / (1 + %g (s-1))",
		c.Hidden, c.StartPrecision, c.StartSpread, n.rounds, c.Steps, c.LearningRate, n.power, c.Samples, c.SampleRate, c.Clip, c.SDUnit, c.Damping, c.DampingDecay)
	n.comparison = comparison{name: "paper4-bnn", title: "A Bayesian neural network on Adult, 10 clients, (2, 1e-5)", figure: "Figure 4", parties: 10, epsilon: 2, train: 0.5, splits: splits(),
		methods: []method{{name: "DP optimisation", paper: "DP optimisation", settings: settings}}, about: aboutNetwork(), notes: searchedNetwork()}
	return n
}

func (n network) run(ctx context.Context, o study.Options) (*study.Result, error) {
	numbers, err := published.Of(n.name)
	if err != nil {
		return nil, err
	}
	r := &study.Result{SchemaVersion: 1, Name: n.name, Title: n.title, Seeds: o.Seeds, Transport: o.Transport, About: n.about, Notes: n.notes, Source: "Paper IV, " + n.figure}
	for _, s := range n.splits {
		if !o.Picks(s.name, "balanced", "unbalanced 1", "unbalanced 2") || o.Quick && s.name != n.splits[0].name {
			continue
		}
		f := found{method: n.methods[0], split: s}
		for _, seed := range o.Each() {
			data, err := adult(o, s, n.parties, n.train, uint64(seed))
			if err != nil {
				return nil, err
			}
			t, err := n.learn(ctx, o, data, uint64(seed))
			if err != nil {
				return nil, fmt.Errorf("%s, %s: %w", n.name, s.name, err)
			}
			o.Tell(fmt.Sprintf("%s, %s, %s, seed %d: %.4f / %.4f", n.name, s.name, f.method.name, seed, t.last()[0], t.last()[1]))
			f.traces = append(f.traces, t)
		}
		n.add(r, numbers, s, []found{f})
	}
	return r, nil
}

// learn learns once. Predictions average over a hundred samples of the hidden layer for
// every row, so that few rounds are scored.
func (n network) learn(ctx context.Context, o study.Options, data *experiment.Data, seed uint64) (*trace, error) {
	t, err := taskOf(data)
	if err != nil {
		return nil, err
	}
	c, tr, test := n.config, new(trace), data.Test
	c.Features = t.features
	r := lab.Run{Name: "network", Seed: seed, App: &session.Learning{Version: 1, PVI: c, Weights: t.weights, Schema: t.schema}, Parts: data.Parts, Rounds: n.rounds,
		Epsilon: n.epsilon, Delta: 1e-5, Transport: o.Transport, Dir: o.Dir}
	if o.Quick {
		r.Rounds, test = 2, pvi.Data{X: test.X[:2000*t.features], Y: test.Y[:2000]}
	}
	r.Join = func(s session.Seat) (session.Learner, error) {
		own := c
		own.LearningRate *= math.Pow(t.weights[s.Party]*float64(t.parties), n.power)
		return (&session.Learning{Version: 1, PVI: own, Weights: t.weights, Schema: t.schema}).Join(s)
	}
	r.Watch = func(round int, p *pvi.Posterior) error {
		if round != 8 && round != r.Rounds {
			return nil
		}
		s, err := p.Evaluate(test)
		tr.rounds, tr.scores = append(tr.rounds, round), append(tr.scores, pair{s.Accuracy, s.LogLikelihood})
		return err
	}
	out, err := r.Do(ctx)
	if err != nil {
		return nil, err
	}
	tr.spent = out.Spent
	tr.spent.Method = n.methods[0].name
	return tr, nil
}
