package workshop

import (
	"context"
	"crypto/sha256"
	"fmt"
	"math"

	"choir/crypto/fixedpoint"
	"choir/lab/bed"
	"choir/lab/experiment"
	"choir/lab/internal/quality"
	"choir/lab/study"
	"choir/learn/bayes"
	"choir/learn/pvi"
	"choir/protocol"
	"choir/session/app"
)

// client is one side of an asynchronous run. What the clients' configurations share is
// the state that they send updates of; steps may differ.
type client struct {
	config  pvi.Config
	noise   float64 // standard deviation over the clip
	updates int     // that its budget allows
}

// arrival is the authors' asynchronous schedule: clients drawn with probability
// proportional to 1/n until their updates are used up. Every client adds all of its
// noise, so that the accounting does not depend on the sum. In the secure sum of a round all
// others contribute zeros, and only the public order shows whose update it is.
type arrival struct {
	name    string // with the seed it determines all noise
	clients []client
	curve   bool // score the way, not only the end
}

// order is who sends an update, one after the other.
func (a arrival) order(data *experiment.Data, seed uint64) (order []int, err error) {
	sizes := make([]int, len(a.clients))
	left := make([]int, len(a.clients))
	total := 0
	for i, p := range data.Parts {
		sizes[i], left[i] = p.Rows(), a.clients[i].updates
		total += left[i]
	}
	draw, err := pvi.Asynchronous(sizes, sha256.Sum256(fmt.Appendf(nil, "workshop arrivals %d", seed)))
	if err != nil {
		return nil, err
	}
	for round := 1; len(order) < total; round++ {
		if i := draw(round)[0]; left[i] > 0 {
			left[i]--
			order = append(order, i)
		}
	}
	return order, nil
}

// learner is a client with its noise, on integers.
func (a arrival) learner(data *experiment.Data, i int, seed uint64) (*pvi.Learner, error) {
	c := a.clients[i]
	bound, err := (fixedpoint.Grid{FracBits: c.config.FracBits}).IntBound(c.config.Clip)
	if err != nil {
		return nil, err
	}
	l, err := pvi.NewLearner(c.config, data.Parts[i], data.Weights()[i])
	if err != nil {
		return nil, err
	}
	variance := uint64(math.Ceil(c.noise * c.noise * float64(bound) * float64(bound)))
	return l.WithNoise(variance, bed.Stream(fmt.Sprintf("%s seed %d client %d", a.name, seed, i)))
}

// do runs it to its end: a session whose rounds are the updates, without noise besides that of
// the clients.
func (a arrival) do(ctx context.Context, o study.Options, data *experiment.Data, seed uint64) (s scores,
	err error) {
	order, err := a.order(data, seed)
	if err != nil {
		return s, err
	}
	schema, err := data.Schema.Canonical()
	if err != nil {
		return s, err
	}
	r := bed.Run{Name: a.name, Seed: seed, App: &app.PVI{Version: 1, PVI: a.clients[0].config,
		Weights: data.Weights(), Schema: schema},
		Parts: data.Parts, Rounds: len(order), Transport: o.Transport, Dir: o.Dir}
	r.Join = func(at app.PartyConfig) (app.Party, error) {
		l, err := a.learner(data, int(at.Party), seed)
		if err != nil {
			return nil, err
		}
		return turns{app.NewPVIParty(l, nil), int(at.Party), order}, nil
	}
	r.Watch = func(round int, p *bayes.Posterior) error {
		if round != len(order) && (!a.curve || round%10 != 0) {
			return nil
		}
		return s.evaluate(round, p, data.Test)
	}
	out, err := r.Do(ctx)
	if err != nil {
		return s, err
	}
	s.calibration, err = calibrate(out, r, data)
	return s, err
}

// turns is a client that contributes in its own rounds only.
type turns struct {
	app.Party
	client int
	order  []int // by round, counted from 1
}

// Propose implements protocol.Proposer.
func (t turns) Propose(ctx context.Context, w protocol.Work) (update []int64, memo []byte, err error) {
	if t.order[w.Round-1] != t.client {
		return make([]int64, len(w.Model)), nil, nil
	}
	return t.Party.Propose(ctx, w)
}

// Settle implements protocol.Application.
func (t turns) Settle(round uint32, state, memo []byte) ([]byte, error) {
	if t.order[round-1] != t.client {
		return state, nil
	}
	return t.Party.Settle(round, state, memo)
}

// scores are accuracy and log-likelihood after numbers of communications.
type scores struct {
	at []int
	of [][2]float64
	// calibration is that of the last posterior.
	calibration []study.Score
}

// calibrate scores the last posterior. Where clients add their noise in the plan's place, the plan has
// none, and there is no posterior that counts it.
func calibrate(out *bed.Outcome, r bed.Run, data *experiment.Data) ([]study.Score, error) {
	against, err := quality.Logistic(data, nil)
	if err != nil {
		return nil, err
	}
	return against.Scores(out, r.App)
}

func (s scores) last() [2]float64 { return s.of[len(s.of)-1] }

func (s *scores) evaluate(at int, p *bayes.Posterior, test bayes.Data) error {
	e, err := p.Evaluate(test)
	if err != nil {
		return err
	}
	s.at, s.of = append(s.at, at), append(s.of, [2]float64{e.Accuracy, e.LogLikelihood})
	return nil
}
