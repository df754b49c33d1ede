package workshop

import (
	"context"
	"crypto/sha256"
	"fmt"
	"math"

	"choir/crypto/fixedpoint"
	"choir/experiment"
	"choir/experiment/lab"
	"choir/privacy"
	"choir/pvi"
	"choir/pvi/gauss"
	"choir/session"
)

// The authors' setting (their Tables 1 and 3). Their losses are scaled by n/L with L/n =
// q, so that their clip of 75 is 75 q = 1.5 for one record's own gradient.
const (
	clients = 10
	sigma   = 5    // noise over clip
	rate    = 0.02 // q
	steps   = 25   // of the local optimiser, for each update
	clip    = 1.5
	orders  = 32
)

// distribution is a row of the authors' Table 1.
type distribution struct {
	name       string
	rho, kappa float64
	deltas     [2]float64 // of small and of large clients
}

func distributions() []distribution {
	return []distribution{{"A", 0, 0, [2]float64{1e-4, 1e-4}}, {"B", 0.9, 0.95, [2]float64{1e-3, 1e-4}}, {"C", 0.7, -3, [2]float64{1e-4, 1e-4}}}
}

// updates is how many updates a client may send within epsilon, by the authors'
// accountant.
func updates(epsilon, delta float64) int {
	lo, hi := 0, 1
	for within(hi, epsilon, delta) {
		lo, hi = hi, 2*hi
	}
	for hi-lo > 1 {
		if mid := (lo + hi) / 2; within(mid, epsilon, delta) {
			lo = mid
		} else {
			hi = mid
		}
	}
	return lo
}

func within(updates int, epsilon, delta float64) bool {
	e, _ := privacy.MomentsEpsilon(sigma, rate, steps*updates, delta, orders)
	return e <= epsilon
}

// accounts is what the same noise costs by Choir's accountant: add-remove neighbours as
// the authors have them, and replace-one.
func accounts(updates int, delta float64) (addRemove, replaceOne float64, err error) {
	q := privacy.Query{Mechanism: privacy.Gaussian, Sigma: sigma, Clip: 1, Relation: privacy.AddRemove, Steps: steps * updates, Delta: delta, Rate: rate, Sampling: privacy.SamplingPoisson}
	a, err := privacy.Account(q)
	if err != nil {
		return 0, 0, err
	}
	q.Relation = privacy.ReplaceOne
	b, err := privacy.Account(q)
	return a.Epsilon, b.Epsilon, err
}

// config is the authors' method in Choir's terms: Adagrad on per-record gradients with
// secret Poisson samples, every client with all of its noise by itself.
func config(features int) pvi.Config {
	return pvi.Config{Model: pvi.Logistic, Family: gauss.MeanField, Strategy: pvi.Optimisation, Features: features, Shards: 1, PriorPrecision: 1, PrecisionFloor: 1,
		DampingBits: 16, Damping: 0.1, Clip: clip, FracBits: session.GridFor(clip), Steps: steps, LearningRate: 0.03,
		Method: pvi.Method{Local: true, Optimiser: pvi.Adagrad, Sampling: pvi.SamplingPoisson, SampleRate: rate, StartPrecision: 100}}
}

// arrivals is the asynchronous order: clients drawn with probability proportional to
// 1/n until their updates are used up.
func arrivals(data *experiment.Data, allowed []int, seed uint64) ([]int, error) {
	sizes, left, total := make([]int, len(allowed)), append([]int(nil), allowed...), 0
	for i, p := range data.Parts {
		sizes[i] = p.Rows()
		total += allowed[i]
	}
	draw, err := pvi.Asynchronous(sizes, sha256.Sum256(fmt.Appendf(nil, "workshop arrivals %d", seed)))
	if err != nil {
		return nil, err
	}
	var order []int
	for round := 1; len(order) < total; round++ {
		if i := draw(round)[0]; left[i] > 0 {
			left[i]--
			order = append(order, i)
		}
	}
	return order, nil
}

// scores are accuracy and log-likelihood after numbers of communications.
type scores struct {
	at []int
	of [][2]float64
}

func (s scores) last() [2]float64 { return s.of[len(s.of)-1] }

// asynchronous runs the authors' method. Every client's noise is its own, so nothing is
// gained by a secure sum of one update, and none is used.
func asynchronous(ctx context.Context, data *experiment.Data, allowed []int, seed uint64) (s scores, err error) {
	cfg := config(data.Schema.Dim())
	bound, err := (fixedpoint.Grid{FracBits: cfg.FracBits}).IntBound(clip)
	if err != nil {
		return s, err
	}
	variance := uint64(math.Ceil(sigma * sigma * float64(bound) * float64(bound)))
	order, err := arrivals(data, allowed, seed)
	if err != nil {
		return s, err
	}
	var learners []*pvi.Learner
	for i, part := range data.Parts {
		l, err := pvi.NewLearner(cfg, part, data.Weights()[i])
		if err != nil {
			return s, err
		}
		if l, err = l.WithNoise(variance, lab.Stream(fmt.Sprintf("workshop seed %d client %d", seed, i))); err != nil {
			return s, err
		}
		learners = append(learners, l)
	}
	h, err := pvi.RunCourse(ctx, cfg, learners, pvi.Course{Rounds: len(order), Schedule: func(round int) []int { return order[round-1 : round] }})
	if err != nil {
		return s, err
	}
	return s, s.evaluate(cfg, h, data)
}

func (s *scores) evaluate(cfg pvi.Config, h pvi.History, data *experiment.Data) error {
	for round := 1; round < len(h.Raw); round++ {
		if !lab.Marked(round) && round != len(h.Raw)-1 {
			continue
		}
		p, err := cfg.Posterior(h.Raw[round])
		if err != nil {
			return err
		}
		e, err := p.Evaluate(data.Test)
		if err != nil {
			return err
		}
		s.at, s.of = append(s.at, round), append(s.of, [2]float64{e.Accuracy, e.LogLikelihood})
	}
	return nil
}
