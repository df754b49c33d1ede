package reading

import (
	"math"

	"gonum.org/v1/gonum/mat"

	"choir/learn/bayes"
	"choir/learn/gauss"
	"choir/learn/noiseaware"
	"choir/learn/pvi"
)

// leastCount is how many standard deviations of its noise the number of shards has to be.
const leastCount = 3

// withResiduals returns the posterior with the observation noise that its residual rounds measured; as it
// is if there are none, or their noise hides how many records they count.
func (r *reading) withResiduals(trace []Observation, q *bayes.Posterior) (*bayes.Posterior, error) {
	c := r.c
	rounds, squares, count, variance := 0.0, 0.0, 0.0, 0.0
	var last Observation
	for _, o := range trace {
		if c.ResidualRound(o.Round) && !o.Others {
			rounds++
			squares += float64(o.Sum[0])
			count += float64(o.Sum[1])
			variance += o.Variance
			last = o
		}
	}
	reachUnits, lessUnits, oneUnits, err := c.ResidualTerm()
	if err != nil {
		return nil, err
	}
	reach, less, one := float64(reachUnits), float64(lessUnits), float64(oneUnits)
	sd := math.Sqrt(variance)
	if count <= leastCount*sd || count <= 0 {
		return q, nil
	}
	shards := count / one
	off := squares / reach / shards
	n := shards / rounds * float64(c.Strategy.Params().ShardRows) * r.others(last)
	sum, square, err := r.uncertain(q.Moments())
	if err != nil {
		return nil, err
	}
	assumed := c.NoiseSD * c.NoiseSD
	r.seen = &noiseaware.Residuals{
		Share: off + less/reach, SD: math.Hypot(sd/reach, off*sd/one) / shards, Records: shards / rounds,
		Limit: pvi.ResidualLimit * assumed, Assumed: assumed,
		Spread: assumed * sum / n, SpreadSD: assumed * math.Sqrt(2*max(0, square)) / n,
	}
	v, lower, upper := r.seen.Variance()
	return q.WithNoise(math.Sqrt(v), &bayes.Measured{Assumed: c.NoiseSD, Lower: math.Sqrt(lower),
		Upper: math.Sqrt(upper)}), nil
}

// others is the number of records of the curvature over that of a residual round.
func (r *reading) others(o Observation) float64 {
	switch {
	case r.attendance != nil && o.Set != nil:
		return 1 / r.attendance.share(o)
	case o.Parties == 0:
		return 1
	case r.curved > 0:
		return float64(r.curved) / float64(o.Parties)
	}
	return float64(o.Parties+o.Absent) / float64(o.Parties)
}

// uncertain is the trace of the curvature times the posterior's covariance, and that of its square.
func (r *reading) uncertain(m *gauss.Moments) (sum, square float64, err error) {
	d := r.c.Weights()
	covariance := m.Covariance
	if covariance == nil {
		covariance = mat.NewSymDense(d, nil)
		for i, v := range m.Variance {
			covariance.SetSym(i, i, v)
		}
	}
	h := mat.NewSymDense(d, nil)
	if curvature, ok := r.curvature(); ok {
		if h, err = curvature.Repaired(); err != nil {
			return 0, 0, err
		}
	} else {
		precision, _ := r.settled().Pooled()
		for i, p := range precision {
			h.SetSym(i, i, p)
		}
	}
	var product mat.Dense
	product.Mul(h, covariance)
	for i := range d {
		sum += product.At(i, i)
		for j := range d {
			square += product.At(i, j) * product.At(j, i)
		}
	}
	return sum, square, nil
}
