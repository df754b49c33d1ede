package paper2

import (
	"context"
	"fmt"
	"math"

	"choir/lab/internal/twister"
	"choir/lab/study"
	"choir/learn/mcmc"
	"choir/privacy"
)

// curved is the posterior of [RKH21]: records (N(t1, 1/5e-4), N(t2 + 20 t1^2, 1/4e-4)), both
// numbers with the prior precision 1e-3. The likelihood is a function of two sums.
type curved struct {
	n, m1, m2  float64
	mean, vary point // of the posterior
}

const (
	bend  = 20.0
	tau1  = 5e-4
	tau2  = 4e-4
	prior = 1e-3
)

// newCurved has the means of one draw of data, the same for every seed: within a standard
// error of the truth, (0, 3). How hard the posterior is depends on them.
func newCurved() *curved {
	const n = 100000.0
	c := &curved{n: n, m1: 0.041, m2: 3.1367}
	// In (t1, t2 + 20 t1^2) the posterior is Gaussian.
	p1, p2 := n*tau1+prior, n*tau2+prior
	a, va, b, vb := n*tau1*c.m1/p1, 1/p1, n*tau2*c.m2/p2, 1/p2
	c.mean = point{a, b - bend*(a*a+va)}
	c.vary = point{va, vb + bend*bend*(2*va*va+4*a*a*va)}
	return c
}

func (c *curved) logPosterior(p point) float64 {
	y := p[1] + bend*p[0]*p[0]
	return -c.n*(tau1*p[0]*(p[0]-2*c.m1)+tau2*y*(y-2*c.m2))/2 - prior*(p[0]*p[0]+y*y)/2
}

func (c *curved) gradient(p point) point {
	y := p[1] + bend*p[0]*p[0]
	down := c.n*tau2*(c.m2-y) - prior*y
	return point{c.n*tau1*(c.m1-p[0]) - prior*p[0] + 2*bend*p[0]*down, down}
}

// walkOf is the penalty test's chain with the noise of a multiplier tau on clipped ratios.
func (c *curved) walkOf(at point, rounds int, rng *twister.Twister) (path []point, accepted float64) {
	const tau, step, clip = 0.17, 0.06, 0.15
	for range rounds {
		a, b := step*rng.Normal(), step*rng.Normal()
		to := point{at[0] + a, at[1] + b}
		sd := tau * math.Sqrt(c.n) * 2 * clip * math.Hypot(a, b)
		noisy := c.logPosterior(to) - c.logPosterior(at) + sd*rng.Normal()
		if mcmc.AcceptPenalty(noisy, sd*sd, rng.Float()) {
			at = to
			accepted += 1 / float64(rounds)
		}
		path = append(path, at)
	}
	return path, accepted
}

const leapfrogs = 25

// hmcOf is Hamiltonian Monte Carlo with one noise on the gradient at every position.
func (c *curved) hmcOf(at point, rounds int, rng *twister.Twister) (path []point, accepted float64) {
	const tau, tauG, clip, clipG = 0.1, 0.55, 0.1, 0.05
	noise := 2 * tauG * math.Sqrt(c.n) * clipG
	pull := func(p point) point {
		g := c.gradient(p)
		return point{g[0] + noise*rng.Normal(), g[1] + noise*rng.Normal()}
	}
	for range rounds {
		p := point{rng.Normal(), rng.Normal()}
		kinetic := (p[0]*p[0] + p[1]*p[1]) / 2
		h, to := 0.006*rng.Float(), at
		g := pull(to)
		for range leapfrogs {
			for j := range p {
				p[j] += h / 2 * g[j]
				to[j] += h * p[j]
			}
			g = pull(to)
			for j := range p {
				p[j] += h / 2 * g[j]
			}
		}
		sd := tau * math.Sqrt(c.n) * 2 * clip * math.Hypot(to[0]-at[0], to[1]-at[1])
		noisy := kinetic - (p[0]*p[0]+p[1]*p[1])/2 + c.logPosterior(to) - c.logPosterior(at) +
			sd*rng.Normal()
		if mcmc.AcceptPenalty(noisy, sd*sd, rng.Float()) {
			at = to
			accepted += 1 / float64(rounds)
		}
		path = append(path, at)
	}
	return path, accepted
}

// bananaRounds are the iterations of each of four chains that a budget pays for.
func bananaRounds(mu float64, hmc bool) int {
	const n = 100000.0
	per := 1 / (0.17 * 0.17 * n)
	if hmc {
		per = 1/(0.1*0.1*n) + (leapfrogs+1)/(0.55*0.55*n)
	}
	return int(mu*mu/per) / 4
}

func banana(ctx context.Context, o study.Options) (*study.Result, error) {
	r := &study.Result{SchemaVersion: 1, Name: "mcmc-banana", Seeds: o.Seeds, Transport: o.Transport,
		Title: "A curved posterior, 10^5 records", Source: "[RKH21], its parameters",
		Settings: []study.Setting{{Name: "chains", Value: "four from overdispersed starts, second halves pooled; " +
			"no record is clipped, so both samplers are exact"}, {Name: "from the posterior",
			Value: "2,000 chains a seed that start in it, after 150 rounds of the penalty test and 40 of HMC"}}}
	epsilons := []float64{4, 6, 10}
	const delta = 1e-6
	o = o.Begin((len(epsilons) + 1) * o.Seeds)
	for _, epsilon := range epsilons {
		mu, err := privacy.GaussianMu(epsilon, delta)
		if err != nil {
			return nil, err
		}
		r.Spent = append(r.Spent, study.Spent{Method: fmt.Sprintf("epsilon %g", epsilon), Epsilon: epsilon,
			Delta: delta, Accountant: "Gaussian, exact", Relation: "replace-one", Noise: "in the test"})
		values := map[string][]float64{}
		for _, seed := range o.Each() {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			rng := twister.New(uint32(1000*seed) + uint32(epsilon))
			c := newCurved()
			for _, method := range []string{"penalty", "hmc"} {
				miss, accepted := c.pooled(method == "hmc", bananaRounds(mu, method == "hmc"), rng)
				values[method] = append(values[method], miss)
				values[method+", acceptance"] = append(values[method+", acceptance"], accepted)
			}
			o.Tell(fmt.Sprintf("epsilon %g, seed %d", epsilon, seed))
		}
		for _, method := range []string{"penalty", "hmc"} {
			of := fmt.Sprintf("epsilon %g", epsilon)
			r.Rows = append(r.Rows, study.Row{Case: of, Method: method + ", error of the mean",
				Measure: study.Distance, Values: values[method]}.Mean(),
				study.Row{Case: of, Method: method + ", acceptance", Measure: study.Coverage,
					Values: values[method+", acceptance"]}.Mean())
		}
	}
	return r, stays(ctx, o, r)
}

// stays adds how far 2,000 chains of each method that start in the posterior leave it: their variances over
// the truth's in (t1, t2 + 20 t1^2), where the posterior is normal.
func stays(ctx context.Context, o study.Options, r *study.Result) error {
	const chains = 2000
	c := newCurved()
	precision := point{c.n*tau1 + prior, c.n*tau2 + prior}
	mean := point{c.n * tau1 * c.m1 / precision[0], c.n * tau2 * c.m2 / precision[1]}
	values := map[string][]float64{}
	for _, seed := range o.Each() {
		rng := twister.New(uint32(seed))
		for _, method := range []string{"penalty", "hmc"} {
			var last []point
			for range chains {
				if err := ctx.Err(); err != nil {
					return err
				}
				a := mean[0] + rng.Normal()/math.Sqrt(precision[0])
				b := mean[1] + rng.Normal()/math.Sqrt(precision[1])
				path, rounds := c.walkOf, 150
				if method == "hmc" {
					path, rounds = c.hmcOf, 40
				}
				if o.Quick {
					rounds = 2
				}
				all, _ := path(point{a, b - bend*a*a}, rounds, rng)
				end := all[rounds-1]
				last = append(last, point{end[0], end[1] + bend*end[0]*end[0]})
			}
			_, variance := moments(last, false)
			for j, name := range []string{"t1", "t2 + 20 t1^2"} {
				key := method + ", variance over the truth of " + name
				values[key] = append(values[key], variance[j]*precision[j])
			}
		}
		o.Tell(fmt.Sprintf("chains that start in the posterior, seed %d", seed))
	}
	for _, method := range []string{"penalty", "hmc"} {
		for _, name := range []string{"t1", "t2 + 20 t1^2"} {
			key := method + ", variance over the truth of " + name
			r.Rows = append(r.Rows, study.Row{Case: "from the posterior", Method: key, Measure: study.Distance,
				Values: values[key]}.Mean())
		}
	}
	return nil
}

// pooled is the distance of four chains' mean to the posterior's, and the acceptance.
func (c *curved) pooled(hmc bool, rounds int, rng *twister.Twister) (miss, accepted float64) {
	var mean point
	spread := (math.Sqrt(c.vary[0]) + math.Sqrt(c.vary[1])) / 2
	for range 4 {
		start := point{spread * rng.Normal(), 3 + spread*rng.Normal()}
		path := c.walkOf
		if hmc {
			path = c.hmcOf
		}
		all, a := path(start, rounds, rng)
		accepted += a / 4
		got, _ := moments(all[len(all)/2:], false)
		mean[0] += got[0] / 4
		mean[1] += got[1] / 4
	}
	return math.Hypot(mean[0]-c.mean[0], mean[1]-c.mean[1]), accepted
}
