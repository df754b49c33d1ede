package experiment

import (
	"context"

	"choir/learn/pvi"
	"choir/protocol"
	"choir/session/app"
)

// optimisation is the inference of a demonstration by DP optimisation: every party adds all
// of its noise itself, to sums of single records' gradients. The settings are those that
// served Adult (docs/methods.md, section 5).
func (d *Demo) optimisation(c pvi.Config) pvi.Config {
	o := pvi.Optimisation{Optimiser: pvi.Natural, SDUnit: 20, Steps: 5, LearningRate: 0.1,
		Sampling: pvi.SamplingPoisson, SampleRate: 0.1}
	c.Damping, c.DampingDecay = 0.5, 0.1
	c.PrecisionFloor, c.StartPrecision = 100, 300
	if d.Model == pvi.BNN {
		o.Optimiser, o.SDUnit, o.LearningRate = pvi.SGD, 0.1, 3e-4
		c.Hidden, c.Samples = 20, 2
		c.Damping, c.DampingDecay = 0.3, 0.05
		c.PrecisionFloor, c.StartPrecision, c.StartSpread = 1, 200, 0.3
	}
	c.Strategy = o
	return c
}

// local tells whether parties noise what they send by themselves.
func (d *Demo) local() bool { return d.method() == MethodPVI && d.Strategy.Local() }

// placement is where a demonstration's noise is.
func (d *Demo) placement() protocol.Placement {
	if d.local() {
		return protocol.NoiseLocal
	}
	return protocol.NoiseParty
}

// localNoise is the plan's own learning with the sum in the clear, where parties noise what
// they send: with the plan's variance at everybody, or, shared out among
// the parties, with as much in the sum as one trusted aggregator would add.
func (r reference) localNoise(ctx context.Context, share bool) (Scores, error) {
	p := *r.plan
	if share {
		p.Variance /= uint64(p.Parties())
	}
	return r.alone(ctx, r.app, &p, r.data.Parts)
}

// withoutNoise is the plan's own learning without noise and clip, by these parties alone.
func (r reference) withoutNoise(ctx context.Context, l *app.PVI, parts []pvi.Data) (Scores, error) {
	p, own, rows := *r.plan, *l, 0
	p.Variance = 0
	own.PVI.Clip, own.Weights = 0, make([]float64, len(parts))
	for _, part := range parts {
		rows += part.Rows()
	}
	for i, part := range parts {
		own.Weights[i] = float64(part.Rows()) / float64(rows)
	}
	return r.alone(ctx, &own, &p, parts)
}

func (r reference) alone(ctx context.Context, app app.Spec, p *protocol.Plan, parts []pvi.Data) (Scores, error) {
	state, err := plainly(ctx, app, p, parts, nil, func(int) bool { return false })
	if err != nil {
		return Scores{}, err
	}
	q, err := app.Posterior(p, state)
	if err != nil {
		return Scores{}, err
	}
	return r.data.evaluate(q, r.linear)
}
