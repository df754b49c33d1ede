package global

import (
	"fmt"
	"math"
)

// moments returns the posterior's means and standard deviations in a public state: of the
// averaged parameters, or of the last ones without averaging.
func (c Config) moments(raw []int64) (mean, sd []float64, err error) {
	s, err := c.open(raw)
	if err != nil {
		return nil, nil, fmt.Errorf("posterior: %w", err)
	}
	mean, sd = c.parameters(s.mean)
	for i, v := range sd {
		sd[i] = math.Exp(v)
	}
	return mean, sd, nil
}

// parameters are the means and log standard deviations of a state's parameters.
func (c Config) parameters(units []int64) (mean, logSD []float64) {
	d := c.weights()
	all := make([]float64, 2*d)
	for i, v := range units {
		all[i] = math.Ldexp(float64(v), -paramBits)
	}
	if c.Optimiser == Natural {
		for i, p := range all[d:] {
			all[i], all[d+i] = all[i]/p, -0.5*math.Log(p)
		}
	}
	return all[:d], all[d:]
}
