package experiment

import (
	"context"
	"fmt"
	"math"
	"path/filepath"

	"choir/internal/atomicfile"
	"choir/privacy"
	"choir/protocol"
)

// NoisyFactors is the experiment on the published schemes in which a client's
// private factor includes the client's own share of a joint noise: how much privacy
// they lose on worst-case neighbours compared with their theorem's claim, by
// derivation and by measurement, and the same for factors of the update without
// the noise. The derivation is docs/noisy-factors.md.
type NoisyFactors struct {
	Out   string // folder for the figures; it must exist
	Seeds int    // independent measurements, at least 1
	Runs  int    // simulated runs on either neighbour in each, at least 1000; 0: 2^20

	// Distinguish bounds epsilon at delta from below by samples of both neighbours,
	// wrongly with probability falseAlarm at most (threat.Test).
	Distinguish func(delta, falseAlarm float64, p, q []float64) (float64, error)

	// Progress receives a line for each of Steps that is done; may be nil.
	Progress func(line string)
}

// Steps is how many cases Run goes through.
func (e *NoisyFactors) Steps() int { return len(noisyCases(1)) }

// What is claimed, and on how much noise: as in the papers' Adult experiments.
const (
	noisyEpsilon    = 1.0
	noisyDelta      = 1e-5
	noisyRounds     = 15
	noisyFalseAlarm = 1e-4
)

// NoisyFactorsResult is the experiment's result. The figures are a function of
// Seeds and Runs.
type NoisyFactorsResult struct {
	SchemaVersion int                  `json:"schema_version"`
	Claimed       float64              `json:"epsilon_claimed"`
	Delta         float64              `json:"delta"`
	Rounds        int                  `json:"rounds"`
	Sigma         float64              `json:"noise_std_per_clip"` // of a round's sum
	Seeds         int                  `json:"seeds"`
	Runs          int                  `json:"runs_per_neighbour"`
	FalseAlarm    float64              `json:"false_alarm"` // of one measured bound
	Cases         []NoisyFactorsCase   `json:"cases"`
	Regimes       []NoisyFactorsRegime `json:"regimes"`
}

// NoisyFactorsCase is one scheme with one damping and number of factors.
type NoisyFactorsCase struct {
	Scheme   string    `json:"scheme"` // schemeNoisy or schemeNoiseFree
	Damping  float64   `json:"damping"`
	Factors  int       `json:"factors"`             // that share the noise
	Ratio    float64   `json:"mu_over_claimed"`     // exact
	Epsilon  float64   `json:"epsilon_exact"`       // at Delta
	AtClaim  float64   `json:"delta_exact"`         // at the claimed epsilon
	Measured []float64 `json:"epsilon_lower_bound"` // by seed
}

// The two schemes.
const (
	schemeNoisy     = "noisy factors"
	schemeNoiseFree = "noise-free factors"
)

// NoisyFactorsRegime compares the derivation's linear case, in which the clip cuts
// only the victim's updates, with runs that simulate and clip every factor.
type NoisyFactorsRegime struct {
	Damping   float64 `json:"damping"`
	Factors   int     `json:"factors"`
	Updates   int     `json:"other_updates"`
	Cut       int     `json:"cut_by_clip"`
	Largest   float64 `json:"largest_per_clip"`
	Deviation float64 `json:"largest_deviation_of_a_sum"` // in clips
}

// Run derives, simulates and measures, and writes what it found to Out.
func (e *NoisyFactors) Run(ctx context.Context) (*NoisyFactorsResult, error) {
	if err := e.validate(); err != nil {
		return nil, err
	}
	mu, err := privacy.GaussianMu(noisyEpsilon, noisyDelta)
	if err != nil {
		return nil, err
	}
	r := &NoisyFactorsResult{SchemaVersion: 1, Claimed: noisyEpsilon, Delta: noisyDelta, Rounds: noisyRounds,
		Sigma: 2 * math.Sqrt(noisyRounds) / mu, Seeds: e.Seeds, Runs: e.Runs, FalseAlarm: noisyFalseAlarm}
	for _, s := range noisyCases(r.Sigma) {
		c, err := e.measure(ctx, s, mu)
		if err != nil {
			return nil, err
		}
		r.Cases = append(r.Cases, c)
		if err := atomicfile.WriteJSON(filepath.Join(e.Out, "noisy-factors.json"), r); err != nil {
			return nil, err // kept in case of an interruption
		}
		if e.Progress != nil {
			e.Progress(fmt.Sprintf("%s, damping %g, %d factors: epsilon %.3f, measured at least %.3f",
				c.Scheme, c.Damping, c.Factors, c.Epsilon, c.least()))
		}
	}
	for _, s := range noisyRegimes(r.Sigma) {
		g, err := regime(s)
		if err != nil {
			return nil, err
		}
		r.Regimes = append(r.Regimes, g)
	}
	return r, r.write(e.Out)
}

func (e *NoisyFactors) validate() error {
	if e.Runs == 0 {
		e.Runs = 1 << 20
	}
	switch {
	case e.Seeds < 1 || e.Seeds > 1000:
		return protocol.Fail(protocol.ClassInput, "seeds: %d isn't in 1..1000", e.Seeds)
	case e.Runs < 1000 || e.Runs > 1<<26:
		return protocol.Fail(protocol.ClassInput, "runs: %d isn't in 1000..2^26", e.Runs)
	case e.Distinguish == nil:
		return fmt.Errorf("noisy factors: nothing to distinguish with")
	}
	return nil
}

// noisyCases are the table's rows.
func noisyCases(sigma float64) (all []scheme) {
	for _, a := range []float64{0.1, 0.4} {
		for _, m := range []int{2, 10, 100, 2000, 20000} {
			all = append(all, scheme{m, noisyRounds, a, sigma, true})
		}
	}
	for _, a := range []float64{0.1, 0.4} {
		all = append(all, scheme{100, noisyRounds, a, sigma, false})
	}
	return all
}

// noisyRegimes are numbers of factors at which each one's share of the noise is
// small against the clip (10 clients of 200 and of 2000 shards), and some at which it is not.
func noisyRegimes(sigma float64) []scheme {
	return []scheme{{2000, noisyRounds, 0.1, sigma, true}, {20000, noisyRounds, 0.4, sigma, true},
		{100, noisyRounds, 0.1, sigma, true}, {2000, noisyRounds, 0.4, sigma, true}}
}

func (e *NoisyFactors) measure(ctx context.Context, s scheme, mu float64) (NoisyFactorsCase, error) {
	c := NoisyFactorsCase{Scheme: schemeNoiseFree, Damping: s.damping, Factors: s.factors, Ratio: 1}
	var weights []float64
	if s.noisy {
		loss, err := lossOf(s.rounds, s.factors, s.damping)
		if err != nil {
			return c, err
		}
		c.Scheme, c.Ratio, weights = schemeNoisy, loss.Ratio, loss.Weights
	}
	c.Epsilon, c.AtClaim = privacy.GaussianEpsilon(c.Ratio*mu, noisyDelta),
		privacy.GaussianDelta(c.Ratio*mu, noisyEpsilon)
	for seed := range e.Seeds {
		var sides [2][]float64
		for i := range sides {
			var err error
			if sides[i], err = e.sample(ctx, s, weights, seed+1, float64(2*i-1)); err != nil {
				return c, err
			}
		}
		bound, err := e.Distinguish(noisyDelta, noisyFalseAlarm, sides[0], sides[1])
		if err != nil {
			return c, err
		}
		c.Measured = append(c.Measured, bound)
	}
	return c, nil
}

// sample is the adversary's statistic of many runs with the victim's data on one side.
func (e *NoisyFactors) sample(ctx context.Context, s scheme, weights []float64, seed int,
	victim float64) ([]float64, error) {
	from, err := newNormals(fmt.Sprintf("noisy-factors %+v seed %d victim %+g", s, seed, victim))
	if err != nil {
		return nil, err
	}
	x, n, sums := make([]float64, e.Runs), s.noises(), make([]float64, s.rounds)
	for i := range x {
		if i%(1<<16) == 0 && ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		s.draw(n, from)
		s.play(victim, n, sums)
		x[i] = s.seen(sums, weights)
	}
	return x, nil
}

// regime compares a few runs of all factors with the derivation's linear case on
// the same noise.
func regime(s scheme) (NoisyFactorsRegime, error) {
	const runs = 10
	g := NoisyFactorsRegime{Damping: s.damping, Factors: s.factors,
		Updates: runs * s.rounds * (s.factors - 1)}
	from, err := newNormals(fmt.Sprintf("noisy-factors regime %+v", s))
	if err != nil {
		return g, err
	}
	n, each, linear := s.noises(), make([]float64, s.rounds), make([]float64, s.rounds)
	for i := range runs {
		victim := float64(2*(i%2) - 1)
		cut, largest := s.playEach(victim, from, n, each)
		s.play(victim, n, linear)
		g.Cut, g.Largest = g.Cut+cut, max(g.Largest, largest)
		for r := range each {
			g.Deviation = max(g.Deviation, math.Abs(each[r]-linear[r]))
		}
	}
	return g, nil
}
