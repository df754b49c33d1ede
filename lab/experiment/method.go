package experiment

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"io"

	"choir/crypto/noise"
	"choir/learn/bayes"
	"choir/learn/pvi"
	"choir/protocol"
	"choir/session/app"
	"choir/session/terms"
)

// Method is how a demonstration learns.
type Method string

const (
	// MethodPVI is DP-PVI by the demonstration's Strategy: a few rounds of many local steps.
	MethodPVI Method = "dp-pvi"
	// MethodGlobal is global variational inference: many rounds of one gradient each.
	MethodGlobal Method = "global"
	// MethodStatistics is linear regression from sufficient statistics.
	MethodStatistics Method = "statistics"
	// MethodMCMC is draws from the posterior by noisy log-likelihood ratios.
	MethodMCMC Method = "mcmc"
)

// DefaultModel is the model when none is named.
func (m Method) DefaultModel() bayes.Model {
	if m == MethodStatistics {
		return bayes.Linear
	}
	return bayes.Logistic
}

// label names the way of learning in results.
func (d *Demo) label() string {
	if d.method() == MethodPVI {
		return string(cmp.Or(d.Strategy, d.defaultStrategy()))
	}
	return string(d.method())
}

func (d *Demo) method() Method {
	if d.Method == "" {
		return MethodPVI
	}
	return d.Method
}

// Spec is the application that the demonstration's settings describe, on its data and under
// the terms, and its number of rounds. What isn't set has the defaults of a plan.
func (d *Demo) Spec(t terms.Terms, data *Data) (app.Spec, int, error) {
	switch d.method() {
	case MethodGlobal:
		g := terms.GlobalConfig{Model: string(d.Model), Records: int64(data.Train.Rows()), Clip: d.Clip}
		return input(g.Spec(t, data.Schema))
	case MethodStatistics:
		s := terms.StatisticsConfig{Records: int64(data.Train.Rows()), Radius: d.Clip}
		return input(s.Spec(t, data.Schema))
	}
	if d.method() == MethodMCMC {
		m := terms.MCMCConfig{Method: string(d.Sampler), Records: int64(data.Train.Rows()), Clip: d.Clip}
		return input(m.Spec(t, data.Schema))
	}
	return input(d.learning(data).Spec(t, data.Schema))
}

// input reports whether an error is about the settings.
func input(spec app.Spec, rounds int, err error) (app.Spec, int, error) {
	if err != nil {
		return nil, 0, protocol.Fail(protocol.ClassInput, "%w", err)
	}
	return spec, rounds, nil
}

// learning is the plan's section that the settings describe.
func (d *Demo) learning(data *Data) terms.LearningConfig {
	return terms.LearningConfig{
		Model:    string(d.Model),
		Strategy: string(cmp.Or(d.Strategy, d.defaultStrategy())),
		Records:  int64(data.Train.Rows()),
		Shards:   d.Shards,
		Clip:     d.Clip,
		Weights:  data.Weights(),
	}
}

// defaultStrategy: one process computes all parties of a demonstration, for which a network's
// virtual clients take minutes.
func (d *Demo) defaultStrategy() pvi.StrategyName {
	if d.Model == bayes.BNN {
		return pvi.NameOptimisation
	}
	return pvi.NameVirtual
}

// seats gives every party its side. With seeded members, a party's samples have a seed
// of their own next to its machine's.
func (r *demoRun) seats() ([]app.Party, error) {
	ls := make([]app.Party, len(r.data.Parts))
	for i, part := range r.data.Parts {
		from := io.Reader(rand.Reader)
		if r.Rand != nil {
			from = r.Rand(uint32(len(r.plan.Members) + i))
		}
		var err error
		c := app.PartyConfig{Plan: r.plan, Party: uint32(i), Data: part, Rand: from}
		if ls[i], err = r.app.Join(c); err != nil {
			return nil, fmt.Errorf("party %d: %w", i, err)
		}
	}
	return ls, nil
}

// added is the noise in a sum in the clear. The zero added is none.
type added struct {
	full   *noise.Gaussian
	draws  int                  // of full, that a party adds; 0: 1
	adds   func(party int) bool // which parties add it; nil: none
	random io.Reader            // of it and of the parties' steps; nil: the system's
}

func (n added) by(party int) bool { return n.adds != nil && n.adds(party) }

func (n added) reader() io.Reader {
	if n.random == nil {
		return rand.Reader
	}
	return n.random
}

// plainly is an application's learning with the sum in the clear, over the given
// records, which may be one party's alone.
func plainly(ctx context.Context, a app.Spec, p *protocol.Plan, parts []bayes.Data,
	n added) ([]int64, error) {
	ls, states := make([]app.Party, len(parts)), make([][]byte, len(parts))
	for i, part := range parts {
		var err error
		c := app.PartyConfig{Plan: p, Party: uint32(i), Data: part, Rand: n.reader()}
		if ls[i], err = a.Join(c); err != nil {
			return nil, fmt.Errorf("party %d: %w", i, err)
		}
		states[i] = ls[i].InitialState()
	}
	model := a.Model(p).Initial()
	draw := make([]int64, p.Dim)
	var opened []protocol.Opened
	hidden := 0 // parties that add noise
	for i := range parts {
		if n.by(i) {
			hidden++
		}
	}
	for round := uint32(1); round <= p.Rounds; round++ {
		sum, memos := make([]int64, p.Dim), make([][]byte, len(parts))
		for i, l := range ls {
			work := protocol.Work{Round: round, Attempt: 1, Model: model, State: states[i],
				Opened: opened}
			update, memo, err := l.Propose(ctx, work)
			if err != nil {
				return nil, fmt.Errorf("round %d, party %d: %w", round, i, err)
			}
			memos[i] = memo
			if err := n.sum(sum, update, draw, i); err != nil {
				return nil, err
			}
		}
		next, err := a.Model(p).Fold(round, model, sum)
		if err != nil {
			return nil, fmt.Errorf("round %d: %w", round, err)
		}
		for i, l := range ls {
			if states[i], err = l.Settle(round, states[i], memos[i]); err != nil {
				return nil, fmt.Errorf("round %d, party %d: %w", round, i, err)
			}
		}
		opened = append(opened, protocol.Opened{Round: round, Counted: hidden, Before: model, Sum: sum})
		model = next
	}
	return model, nil
}

// sum adds a party's update and its noise to a sum.
func (n added) sum(sum, update, draw []int64, party int) error {
	for j, v := range update {
		sum[j] += v
	}
	if !n.by(party) {
		return nil
	}
	for range max(1, n.draws) {
		if err := n.full.Fill(draw, n.reader()); err != nil {
			return err
		}
		for j := range update {
			sum[j] += draw[j]
		}
	}
	return nil
}

// spent is the epsilon of a number of rounds, 0 where it isn't known. With sampling each costs
// a good part of a second to compute: then it is that of the next tenth of the plan,
// which is no less.
func (r *demoRun) spent(rounds int) float64 {
	if r.plan.Sampling != 0 {
		step := max(1, r.Rounds/10)
		rounds = min(r.Rounds, (rounds+step-1)/step*step)
	}
	if e, ok := r.epsilons[rounds]; ok {
		return e
	}
	b, ok, err := r.plan.Spends(rounds)
	if !ok || err != nil {
		return 0
	}
	if r.epsilons == nil {
		r.epsilons = map[int]float64{}
	}
	r.epsilons[rounds] = b.Epsilon
	return b.Epsilon
}
