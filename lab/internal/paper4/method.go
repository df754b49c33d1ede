package paper4

import (
	"context"
	"fmt"
	"math"

	"choir/lab/bed"
	"choir/lab/experiment"
	"choir/lab/internal/quality"
	"choir/lab/internal/task"
	"choir/lab/study"
	"choir/learn/bayes"
	"choir/learn/global"
	"choir/learn/pvi"
	"choir/session/app"
)

// pair are the two scores: accuracy and log-likelihood.
type pair = [2]float64

// method is one way to learn, with one setting of everything for all splits.
type method struct {
	name     string
	paper    string // its relative in the paper, empty: none
	rounds   int
	bars     map[string]pair // by split: what to reach
	app      func(t task.Task) app.Spec
	settings string
	free     bool // without privacy, in the clear
	joined   bool // all rows at one party
	planned  bool // has the planner's defaults; rounds and app are not used
	of       int  // runs that share the budget; 0: 1
	few      bool // is scored in few rounds: its predictions take long
	// power, if not 0, makes a party's steps proportional to this power of its public share
	// of the records. No sensitivity depends on the size of a step.
	power float64
	// spread, with averaging, makes a party's number of shards proportional to its public share.
	// A shard's part of the mean is clipped as before, and a record is in one shard: no
	// sensitivity depends on the number.
	spread bool
}

// trace is the scores after the watched rounds.
type trace struct {
	rounds []int
	scores []pair
	spent  study.Spent
	// calibration is that of the last posterior, and of the one that counts its noise.
	calibration []study.Score
}

// run learns once.
func (m method) run(ctx context.Context, o study.Options, data *experiment.Data, against quality.Reference,
	epsilon float64, seed uint64) (*trace, error) {
	tr, _, err := m.learn(ctx, o, data, against, epsilon, seed)
	return tr, err
}

// learn is run, with everything that the session left.
func (m method) learn(ctx context.Context, o study.Options, data *experiment.Data, against quality.Reference,
	epsilon float64, seed uint64) (*trace, *bed.Outcome, error) {
	r, err := m.begin(o, data, epsilon, seed)
	if err != nil {
		return nil, nil, err
	}
	tr := new(trace)
	test := data.Test
	r.Watch = func(round int, p *bayes.Posterior) error {
		if m.few && round != r.Rounds && round != 4 && round != 16 && round != 64 {
			return nil
		}
		s, err := p.Evaluate(test)
		tr.rounds, tr.scores = append(tr.rounds, round), append(tr.scores, pair{s.Accuracy, s.LogLikelihood})
		return err
	}
	if o.Quick {
		if m.few {
			test = bayes.Data{X: test.X[:2000*data.Schema.Dim()], Y: test.Y[:2000]}
		}
		if err := m.quick(&r); err != nil {
			return nil, nil, err
		}
	}
	out, err := r.Do(ctx)
	if err != nil {
		return nil, nil, err
	}
	tr.spent = out.Spent
	against.Test = test
	tr.calibration, err = against.Scores(out, r.App)
	return tr, out, err
}

// begin is the run of one seed.
func (m method) begin(o study.Options, data *experiment.Data, epsilon float64, seed uint64) (bed.Run, error) {
	r := bed.Run{Name: m.name, Seed: seed, Parts: data.Parts, Rounds: m.rounds, Of: m.of, Epsilon: epsilon,
		Delta: 1e-5, Transport: o.Transport, Dir: o.Dir}
	t, err := task.Of(data)
	if err != nil {
		return r, err
	}
	if m.joined {
		t.Weights = []float64{1}
		r.Parts = []bayes.Data{data.Train}
		if m.free {
			t.Weights = []float64{1, 0} // a plan without noise has a second party without records
		}
	}
	if m.free {
		r.Epsilon, r.Transport = 0, bed.Clear
	}
	if m.planned {
		r.App, r.Rounds, err = plan(data, epsilon)
		return r, err
	}
	r.App = m.app(t)
	if m.power != 0 || m.spread {
		r.Join = m.uneven(r.App, t)
	}
	return r, nil
}

// quick makes a run short.
func (m method) quick(r *bed.Run) (err error) {
	r.Rounds = min(r.Rounds, 2)
	if l, ok := r.App.(*app.PVI); ok {
		l.PVI, err = l.PVI.Adjusted(m.shrink)
	}
	return err
}

// shrink makes a session small enough for a test.
func (m method) shrink(p *pvi.Params) {
	p.Steps = min(p.Steps, 5)
	if m.few && p.Shards > 1 {
		p.Shards = 20
	}
}

// uneven gives every party steps of a size, or a number of shards, by its share.
func (m method) uneven(a app.Spec, t task.Task) func(app.PartyConfig) (app.Party, error) {
	return func(s app.PartyConfig) (app.Party, error) {
		l, ok := a.(*app.PVI)
		if !ok {
			return nil, fmt.Errorf("%s: steps of a party's own size are for DP-PVI", m.name)
		}
		own := *l
		var err error
		if own.PVI, err = m.own(l.PVI, t.Weights[s.Party]*float64(t.Parties)); err != nil {
			return nil, err
		}
		return own.Join(s)
	}
}

// own is the configuration of a party that has share times as many records as the mean of all.
func (m method) own(c pvi.Config, share float64) (pvi.Config, error) {
	clip := c.Clip
	own, err := c.Adjusted(func(p *pvi.Params) {
		p.LearningRate *= math.Pow(share, m.power)
		if m.spread {
			each := clip / float64(p.Shards)
			p.Shards = max(1, int(float64(p.Shards)*share+1e-6)) // rounded down: the plan leaves room for the sum
			clip = each * float64(p.Shards)
		}
	})
	own.Clip = clip
	return own, err
}

// virtual is virtual clients of a number of records each, at every client alike, with
// noise-free factors and one natural-gradient step.
func virtual(c pvi.Config, records, rounds int) method {
	return method{name: "virtual clients", paper: "virtual clients, trusted aggregator", rounds: rounds,
		app: func(t task.Task) app.Spec {
			c := c
			c.Strategy = pvi.Virtual{Shards: t.Rows / records, ShardPower: 1, Fit: task.OneStep()}
			return t.PVI(c)
		},
		settings: fmt.Sprintf("%d rounds, virtual clients of %d record(s) each, one natural-gradient "+
			"step, C %g, damping %g / (1 + %g (s-1)), beta %g, precision %g to start with, precisions of "+
			"at least %g",
			rounds, records, c.Clip, c.Damping, c.DampingDecay, c.Beta, c.StartPrecision, c.PrecisionFloor)}
}

// globalVI is global inference by secure gradient sums over joint samples.
func globalVI(c global.Config, rounds int) method {
	return method{name: "global VI over secure sums", paper: "global VI, trusted aggregator", rounds: rounds,
		app: func(t task.Task) app.Spec {
			c := c
			c.MaxRecords = int64(2 * t.Rows)
			return t.GlobalVI(c)
		},
		settings: fmt.Sprintf("%d rounds, joint Poisson samples at rate %g, C %g a record, Adam at %g / "+
			"(1 + %g (s-1)) on the mean gradient, first standard deviation %g, averaging %g",
			rounds, c.SampleRate, c.Clip, c.LearningRate, c.RateDecay, c.InitialSD, c.Averaging)}
}

// partitioned is PVI without privacy: every party's own fit, damped.
func partitioned() method {
	fit := pvi.Fit{Optimiser: pvi.Natural, Steps: 5, LearningRate: 0.2}
	c := pvi.Config{Strategy: pvi.Dataset{Fit: fit}, FracBits: 24, Damping: 0.3, StartPrecision: 150}
	return method{name: "PVI without privacy", rounds: 40, free: true,
		app: func(t task.Task) app.Spec { return t.PVI(c) },
		settings: fmt.Sprintf("40 rounds of %d natural-gradient steps of %g at every client's rows, "+
			"damping %g, in the clear", fit.Steps, fit.LearningRate, c.Damping)}
}

// together is variational inference on all rows at one place.
func together() method {
	fit := pvi.Fit{Optimiser: pvi.Natural, Steps: 250, LearningRate: 0.1}
	c := pvi.Config{Strategy: pvi.Dataset{Fit: fit}, FracBits: 24, Damping: 1, StartPrecision: 150}
	return method{name: "global VI without privacy", rounds: 1, free: true, joined: true,
		app: func(t task.Task) app.Spec { return t.PVI(c) },
		settings: fmt.Sprintf("%d natural-gradient steps of %g on all rows, in the clear", fit.Steps,
			fit.LearningRate)}
}
