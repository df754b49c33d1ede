package thesis

import (
	"context"
	"fmt"
	"io"
	"math"

	"choir/lab/bed"
	"choir/lab/internal/quality"
	"choir/lab/study"
	"choir/learn/bayes"
	"choir/learn/gauss"
	"choir/learn/pvi"
	"choir/protocol"
	"choir/session/app"
	"choir/session/terms"
)

// The thesis's budget and noise.
const (
	epsilon = 10
	delta   = 1e-5
	// rounds is as many as its accountant allows with noise of 5 C: 77.
	rounds = 77
	prior  = 0.2 // precision: N(0, 5)
)

// problem is one draw of theta, of the observations' noise and of the clients' data.
type problem struct {
	theta, sd float64
	parts     []bayes.Data
}

// normal draws by the method of Box and Muller.
func normal(from io.Reader) (float64, error) {
	u, v, err := uniforms(from)
	return math.Sqrt(-2*math.Log(u)) * math.Cos(2*math.Pi*v), err
}

func uniforms(from io.Reader) (u, v float64, err error) {
	var b [16]byte
	if _, err = io.ReadFull(from, b[:]); err != nil {
		return 0, 0, err
	}
	at := func(i int) float64 {
		w := uint64(0)
		for _, x := range b[i : i+8] {
			w = w<<8 | uint64(x)
		}
		return (float64(w>>11) + 0.5) * 0x1p-53
	}
	return at(0), at(8), nil
}

// draw makes the problem of a seed; sd 0 draws it from U(0.5, 2).
func draw(seed, clients, points int, theta, sd float64) (p problem, err error) {
	from := bed.Stream(fmt.Sprintf("thesis problem %d", seed))
	z, err := normal(from)
	if err != nil {
		return p, err
	}
	u, _, err := uniforms(from)
	if err != nil {
		return p, err
	}
	p.theta, p.sd = theta, sd
	if theta == 0 {
		p.theta = z * math.Sqrt(1/prior)
	}
	if sd == 0 {
		p.sd = 0.5 + 1.5*u
	}
	for range clients {
		var d bayes.Data
		for range points {
			x, err := normal(from)
			if err != nil {
				return p, err
			}
			e, err := normal(from)
			if err != nil {
				return p, err
			}
			d.X, d.Y = append(d.X, x), append(d.Y, p.theta*x+p.sd*e)
		}
		p.parts = append(p.parts, d)
	}
	return p, nil
}

// exact is the posterior without privacy.
func (p problem) exact() (*bayes.Posterior, error) {
	natural := []float64{0, -prior / 2}
	for _, d := range p.parts {
		for i, x := range d.X {
			natural[0] += x * d.Y[i] / (p.sd * p.sd)
			natural[1] -= x * x / (p.sd * p.sd) / 2
		}
	}
	return p.config(pvi.Config{
		Strategy: pvi.Dataset{}, Damping: 1, FracBits: 20,
	}).PosteriorAt(natural)
}

func (p problem) config(c pvi.Config) pvi.Config {
	if c.Family == "" {
		c.Family = gauss.Full
	}
	c.Model, c.Features = bayes.Linear, 1
	c.PriorPrecision = prior
	c.PrecisionFloor = prior
	c.NoiseSD = p.sd
	c.DampingBits = 16
	if c.FracBits == 0 {
		c.FracBits = terms.GridFor(c.Clip)
	}
	return c
}

// oneWeight is DP-PVI without a schema: a schema always has a bias besides its columns,
// and the model of [Thesis] has one weight only.
type oneWeight struct{ *app.PVI }

// Check compares the weights with the roster.
func (o oneWeight) Check(p *protocol.Plan) error {
	if len(o.Weights) != p.Parties() {
		return fmt.Errorf("%d weights for %d parties", len(o.Weights), p.Parties())
	}
	return nil
}

// trace is a run: the divergence and the natural parameters after every round.
type trace struct {
	kl, precision, linear []float64
	theta                 float64          // the true weight
	exact                 *bayes.Posterior // without privacy
	spent                 study.Spent
	posterior             *bayes.Posterior // after the last round
}

// last is the mean divergence of the last ten rounds.
func (t *trace) last() float64 {
	mean, n := 0.0, min(10, len(t.kl))
	for _, v := range t.kl[len(t.kl)-n:] {
		mean += v / float64(n)
	}
	return mean
}

// run learns one problem by a configuration. epsilon 0 is without noise.
func (p problem) run(ctx context.Context, name string, seed int, c pvi.Config, rounds int, epsilon float64,
	over study.Options) (*trace, error) {
	t, err := learn(ctx, name, seed, []problem{p}, []pvi.Config{c}, rounds, epsilon, over)
	if err != nil {
		return nil, err
	}
	return t[0], nil
}

// learn learns many problems in one session, each by its own configuration: a sum has a
// block for every problem.
func learn(ctx context.Context, name string, seed int, all []problem, configs []pvi.Config, rounds int,
	epsilon float64, over study.Options) ([]*trace, error) {
	var b bed.Blocks
	var want []*bayes.Posterior
	traces := make([]*trace, len(all))
	for i, p := range all {
		exact, err := p.exact()
		if err != nil {
			return nil, err
		}
		weights := make([]float64, len(p.parts))
		for j := range weights {
			weights[j] = 1 / float64(len(weights))
		}
		want, traces[i] = append(want, exact), &trace{theta: p.theta, exact: exact}
		b.Apps = append(b.Apps, oneWeight{&app.PVI{Version: 1, PVI: p.config(configs[i]), Weights: weights,
			Schema: []byte("{}")}})
		b.Parts = append(b.Parts, p.parts)
	}
	out, err := bed.Run{Name: name, Seed: uint64(seed), App: b, Parts: all[0].parts, Rounds: rounds,
		Epsilon: epsilon, Delta: delta, Transport: over.Transport, Dir: over.Dir,
		States: func(plan *protocol.Plan, _ int, state []int64) error {
			return b.Each(plan, state, func(i int,
				q *bayes.Posterior) error {
				return traces[i].add(q, want[i])
			})
		}}.Do(ctx)
	if err != nil {
		return nil, fmt.Errorf("%s, seed %d: %w", name, seed, err)
	}
	traces[0].spent = out.Spent
	return traces, nil
}

// score compares the last posterior with the true weight and with the exact posterior.
func (t *trace) score() study.Score {
	return study.Score{Posterior: quality.Plain, Width: t.posterior.SD()[0] / t.exact.SD()[0],
		Coverage: quality.Covered(t.posterior, []float64{t.theta})}
}

// add is a round's posterior, against the exact one.
func (t *trace) add(q, exact *bayes.Posterior) error {
	t.posterior = q
	kl, err := q.KL(exact)
	t.kl = append(t.kl, kl)
	t.linear = append(t.linear, q.Natural()[0])
	t.precision = append(t.precision, -2*q.Natural()[1])
	return err
}
