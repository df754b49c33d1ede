package newton

import (
	"math"

	"gonum.org/v1/gonum/floats"

	"choir/learn/gauss"
	"choir/learn/noiseaware"
)

// Squares is what rounds tell of the squares of residuals at public weights, by all parties alike.
type Squares struct {
	Limit   float64 // the largest square that counts
	Assumed float64 // variance of an observation by the plan

	at       []float64 // public weights of the last round
	shares   float64   // sum of the means of min(r^2, Limit)/Limit
	variance float64   // of the noise on that
	rounds   float64
	records  float64
}

// Add adds a round at these weights: the mean of min(r^2, Limit)/Limit, the standard deviation of the noise
// on it, and how many independent residuals there are, at least.
func (s *Squares) Add(weights []float64, share, sd, records float64) {
	s.at = weights
	s.shares += share
	s.variance += sd * sd
	s.rounds++
	s.records = max(s.records, records)
}

// wayError is the error of a squared way from public weights to a posterior's, relative to it: columns that
// belong together count directions unevenly.
const wayError = 0.5

// leastSD is the least error of the mean square, in limits.
const leastSD = 1e-6

// farthestSD is how far the law of the variance goes, in standard deviations.
const farthestSD = 8.0

// Variance returns the variance of an observation with which predictions by a posterior, whose columns have
// the mean square 1, are expected to gain most, and an interval of 95 % as Residuals.Variance does. Residuals
// are longer by the way from the public weights to its means, too. Before the rounds the logarithm of the
// variance has the law by which slopes of numbers are known (common): half of what a plan expects, and no
// tail at 0.
func (s *Squares) Variance(m *gauss.Moments) (v, lower, upper float64) {
	spread := floats.Sum(m.Variance)
	way := math.Pow(floats.Distance(s.at, m.Mean, 2), 2)
	r := noiseaware.Residuals{Share: s.shares / s.rounds, Limit: s.Limit, Records: s.records, Assumed: s.Assumed,
		SD:     math.Hypot(math.Sqrt(s.variance)/s.rounds, wayError*way/s.Limit),
		Spread: spread + way, SpreadSD: spread}
	square, sd := r.MeanSquare()
	sd = max(sd, leastSD*s.Limit)
	_, lower, upper = r.Variance()
	total, most := 0.0, math.Inf(-1)
	for _, sums := range []bool{false, true} {
		for z := -farthestSD; z <= farthestSD; z += 0.05 {
			x := s.Assumed * math.Exp((doubt+looser)*z-closer)
			e := (square - r.Spread - x) / sd
			log := -(z*z + e*e) / 2
			if !sums {
				most = max(most, log)
				continue
			}
			v += math.Exp(log-most) * x
			total += math.Exp(log - most)
		}
	}
	v /= total
	return v, min(v, lower), max(v, upper)
}
