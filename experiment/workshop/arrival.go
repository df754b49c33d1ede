package workshop

import (
	"context"
	"crypto/sha256"
	"fmt"
	"math"

	"choir/crypto/fixedpoint"
	"choir/experiment"
	"choir/experiment/lab"
	"choir/pvi"
)

// client is one side of an asynchronous run. What the clients' configurations share is
// the state that they send updates of; steps may differ.
type client struct {
	config  pvi.Config
	noise   float64 // standard deviation over the clip
	updates int     // that its budget allows
}

// arrival is the authors' asynchronous schedule: clients drawn with probability
// proportional to 1/n until their updates are used up. Every client's noise is its own, so
// nothing is gained by a secure sum of one update, and none is used.
type arrival struct {
	name    string // with the seed it determines all noise
	clients []client
	curve   bool // score the way, not only the end
}

// order is who sends an update, one after the other.
func (a arrival) order(data *experiment.Data, seed uint64) (order []int, err error) {
	sizes, left, total := make([]int, len(a.clients)), make([]int, len(a.clients)), 0
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
	return l.WithNoise(variance, lab.Stream(fmt.Sprintf("%s seed %d client %d", a.name, seed, i)))
}

// do runs it to its end.
func (a arrival) do(ctx context.Context, data *experiment.Data, seed uint64) (s scores, err error) {
	order, err := a.order(data, seed)
	if err != nil {
		return s, err
	}
	learners, states := make([]*pvi.Learner, len(a.clients)), make([][]byte, len(a.clients))
	for i := range learners {
		if learners[i], err = a.learner(data, i, seed); err != nil {
			return s, err
		}
		states[i] = learners[i].InitialState()
	}
	cfg := a.clients[0].config
	raw := cfg.Initial()
	for n, i := range order {
		round := n + 1
		p, err := learners[i].Propose(ctx, round, raw, states[i])
		if err != nil {
			return s, fmt.Errorf("update %d, client %d: %w", round, i, err)
		}
		if raw, err = cfg.Fold(round, raw, p.Update); err != nil {
			return s, err
		}
		if states[i], err = learners[i].Settle(round, states[i], p.Memo); err != nil {
			return s, err
		}
		if a.curve && lab.Marked(round) && round%10 == 0 || round == len(order) {
			if err := s.evaluate(cfg, round, raw, data.Test); err != nil {
				return s, err
			}
		}
	}
	return s, nil
}

// scores are accuracy and log-likelihood after numbers of communications.
type scores struct {
	at []int
	of [][2]float64
}

func (s scores) last() [2]float64 { return s.of[len(s.of)-1] }

func (s *scores) evaluate(cfg pvi.Config, at int, raw []int64, test pvi.Data) error {
	p, err := cfg.Posterior(raw)
	if err != nil {
		return err
	}
	e, err := p.Evaluate(test)
	if err != nil {
		return err
	}
	s.at, s.of = append(s.at, at), append(s.of, [2]float64{e.Accuracy, e.LogLikelihood})
	return nil
}
