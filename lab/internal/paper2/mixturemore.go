package paper2

import (
	"fmt"
	"math"

	"choir/lab/internal/twister"
	"choir/lab/study"
)

// clipped is Figure 1c of [DP-MCMC]: the share of the ratios of batches that are clipped, by the variance
// of the proposals, in the first 300 rounds of four chains.
func (m *mixtureRuns) clipped(rng *twister.Twister) {
	for _, variance := range []float64{0.005, 0.01, 0.015, 0.02} {
		var seen batchSeen
		for range 4 {
			run := chain{step: math.Sqrt(variance), rounds: m.rounds(300), barker: true, start: point{0.5, 0},
				ratio: onBatch(m.x, 100, 1000, rng, &seen)}
			run.run(rng)
		}
		m.note("N0 = 100, Figure 1c", fmt.Sprintf("barker, batches, clipped at proposals of variance %g", variance),
			study.Coverage, 0, seen.clipped/seen.rounds/1000)
	}
}

// langevin compares the step of the authors' code, a gradient times the noise's variance, with that of the
// Langevin equation, half of it: 40 chains of exact gradients, whose variances over the truth are those of
// all their states.
func (m *mixtureRuns) langevin(rng *twister.Twister, mean, variance point) {
	const step, chains = 0.005, 40
	at, n := bins(m.x, 80)
	rounds := m.rounds(8000)
	for _, c := range []struct {
		name string
		by   float64
	}{{"Langevin as in the authors' code", 1}, {"Langevin with its half", 0.5}} {
		var sum, square point
		for range chains {
			p := point{0.5, 0}
			for round := range rounds {
				g := gradient(at, n, 100, p)
				for j := range p {
					p[j] += c.by*step*g[j] + math.Sqrt(step)*rng.Normal()
				}
				for j := range p {
					if round > rounds/4 {
						sum[j] += p[j]
						square[j] += p[j] * p[j]
					}
				}
			}
		}
		states := float64(chains * (rounds - rounds/4 - 1))
		for j, name := range []string{"theta 1", "theta 2"} {
			got := sum[j] / states
			m.note("N0 = 100", c.name+", error of the mean of "+name, study.Distance, 0, math.Abs(got-mean[j]))
			m.note("N0 = 100", c.name+", variance over the truth of "+name, study.Distance, 0,
				(square[j]/states-got*got)/variance[j])
		}
	}
}

// gradient is that of the log posterior tempered to a number of records.
func gradient(at, n []float64, records float64, p point) (g point) {
	total := 0.0
	for k, x := range at {
		u := x - p[0]
		w := 1 / (1 + math.Exp(0.25*p[1]*p[1]-0.5*u*p[1]))
		second := 0.5 * (u - p[1]) * w
		g[0] += n[k] * (0.5*u*(1-w) + second)
		g[1] += n[k] * second
		total += n[k]
	}
	return point{g[0]*records/total - p[0]/10, g[1]*records/total - p[1]}
}
