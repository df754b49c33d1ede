package global

import "math"

// The natural optimiser keeps its state as natural parameters: h = P m and the precision P
// of every weight, instead of means and log standard deviations.

// naturalStart is the natural parameters of a Gaussian of this mean and of Config.InitialSD.
func (c Config) naturalStart(mean float64) (h, p float64) {
	p = 1 / float64(c.InitialSD*c.InitialSD)
	return float64(p * mean), p
}

// floor returns the least precision of the posterior.
func (c Config) floor() float64 {
	if c.PrecisionFloor == 0 {
		return c.PriorPrecision
	}
	return c.PrecisionFloor
}

func (c Config) unit() float64 {
	if c.SDUnit == 0 {
		return 1
	}
	return c.SDUnit
}

// measure converts a record's gradient by (mean, log sd) to the units of the posterior: by
// mean/sd, and SDUnit times by the log sd.
func (c Config) measure(grad, sd []float64) {
	unit, d := c.unit(), len(sd)
	for i, s := range sd {
		grad[i] *= s
		grad[d+i] *= unit
	}
}

// naturalStep moves weight i by the round's rate towards the Gaussian of the noisy sum: the
// prior times the records' best factor at the current mean m, whose precision is the
// curvature c and whose linear part is g + c m ([KL17], equation 7). Precisions stop at the
// floor. Conversions keep compilers from fusing a product with a sum.
func (c Config) naturalStep(s state, i int, sum []int64, p pace) error {
	j := i + p.weights
	h, precision := math.Ldexp(float64(s.param[i]), -paramBits), math.Ldexp(float64(s.param[j]), -paramBits)
	estimate := func(x int64) float64 {
		return float64(math.Ldexp(float64(x), -int(c.FracBits)) / c.SampleRate)
	}
	g := float64(estimate(sum[i]) * math.Sqrt(precision))
	curvature := -float64(estimate(sum[j])*precision) / c.unit()
	h += float64(p.rate * (g + float64(curvature*(h/precision)) - h))
	precision += float64(p.rate * (c.PriorPrecision + curvature - precision))
	precision = max(precision, c.floor())
	for _, m := range []struct {
		at    int
		value float64
	}{{i, h}, {j, precision}} {
		mean := math.Ldexp(float64(s.mean[m.at]), -paramBits)
		mean += float64(p.average * (m.value - mean))
		if p.average == 1 {
			mean = m.value
		}
		if !toGrid(&s.param[m.at], m.value, paramBits) || !toGrid(&s.mean[m.at], mean, paramBits) {
			return ErrOverflow
		}
	}
	return nil
}
