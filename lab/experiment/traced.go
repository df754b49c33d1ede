package experiment

import (
	"context"
	"errors"

	"choir/learn/bayes"
	"choir/learn/pvi"
	"choir/protocol"
	"choir/session/app"
	"choir/session/result"
)

// traced keeps what the rounds of an application reveal, in which this many parties take part.
type traced struct {
	app.Spec
	counted int
	rounds  *[]app.Revealed
}

// Model implements app.Spec.
func (t traced) Model(p *protocol.Plan) protocol.Model { return tracedModel{t.Spec.Model(p), t} }

type tracedModel struct {
	protocol.Model
	t traced
}

// Fold implements protocol.Model.
func (m tracedModel) Fold(round uint32, model, sum []int64) ([]int64, error) {
	*m.t.rounds = append(*m.t.rounds, app.Revealed{Round: round, Counted: m.t.counted, Before: model, Sum: sum})
	return m.Model.Fold(round, model, sum)
}

// exported is the posterior that a session leaves: the noise-aware one where there is one.
func (t traced) exported(p *protocol.Plan, state []int64) (*bayes.Posterior, error) {
	if p.Noise != protocol.NoiseNone {
		q, err := result.NoiseAware(p, t.Spec, *t.rounds)
		if !errors.Is(err, pvi.ErrUncorrected) {
			return q, err
		}
	}
	return t.Posterior(p, state)
}

// learnt is the posterior that an application would export of learning with the sum in the clear,
// whose noise is that of a number of the plan's parties.
func learnt(ctx context.Context, a app.Spec, p *protocol.Plan, parts []bayes.Data, noisy int,
	n added) (*bayes.Posterior, error) {
	t := traced{Spec: a, counted: noisy, rounds: new([]app.Revealed)}
	state, err := plainly(ctx, t, p, parts, n)
	if err != nil {
		return nil, err
	}
	return t.exported(p, state)
}
