package experiment

import (
	"cmp"
	"context"

	"choir/learn/bayes"
	"choir/protocol"
	"choir/session/app"
)

// local tells whether parties noise what they send by themselves.
func (d *Demo) local() bool {
	return d.method() == MethodPVI && cmp.Or(d.Strategy, d.defaultStrategy()).Local()
}

// placement is where a demonstration's noise is.
func (d *Demo) placement() protocol.Placement {
	if d.local() {
		return protocol.NoiseLocal
	}
	return protocol.NoiseParty
}

// localNoise is the plan's own learning with the sum in the clear, where parties noise what
// they send: with the plan's variance at every party, or, shared out among
// the parties, with as much in the sum as one trusted aggregator would add.
func (r reference) localNoise(ctx context.Context, share bool) (Scores, error) {
	p := *r.plan
	if share {
		p.Variance /= uint64(p.Parties())
	}
	return r.alone(ctx, r.app, &p, r.data.Parts)
}

func (r reference) alone(ctx context.Context, a app.Spec, p *protocol.Plan,
	parts []bayes.Data) (Scores, error) {
	q, err := learnt(ctx, a, p, parts, len(parts), added{})
	if err != nil {
		return Scores{}, err
	}
	return r.data.evaluate(q, r.linear)
}

// posterior is what an application learns with the sum in the clear and no joint noise.
func posterior(ctx context.Context, a app.Spec, p *protocol.Plan,
	parts []bayes.Data) (*bayes.Posterior, error) {
	state, err := plainly(ctx, a, p, parts, added{})
	if err != nil {
		return nil, err
	}
	return a.Posterior(p, state)
}
