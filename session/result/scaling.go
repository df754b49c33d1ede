package result

import (
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"choir/learn/bayes"
	"choir/learn/dataset"
	"choir/learn/gauss"
	"choir/protocol"
	"choir/session/app"
)

// scaling converts weights w of encoded columns to coefficients on the original scale. A
// column is encoded as (v - center) / scale and so is a linear model's target, y: with its
// scale u and its centre c,
//
//	y = c + u (w_bias + sum_j w_j (v_j - center_j) / scale_j),
//
// so that a coefficient is factor_j w_j, factor_j = u / scale_j, and the intercept is
// shift + direction . w, where shift is c and direction is u for the bias and
// -factor_j center_j for the others. A category is encoded as 0 or 1: center 0, scale 1.
type scaling struct {
	factor    []float64 // of the encoded columns without the bias
	direction []float64 // of the intercept, the bias last
	shift     float64
	unit      float64 // u
}

func scalingOf(schema *dataset.Schema) scaling {
	s := scaling{unit: 1}
	if t := schema.Target.Numeric; t != nil {
		s.unit = t.Scale
		s.shift = t.Center
	}
	for _, c := range schema.Columns {
		if r := c.Numeric; r != nil {
			factor := s.unit / r.Scale
			s.factor = append(s.factor, factor)
			s.direction = append(s.direction, -factor*r.Center)
			continue
		}
		for range c.Categories {
			s.factor = append(s.factor, s.unit)
			s.direction = append(s.direction, 0)
		}
	}
	s.direction = append(s.direction, s.unit)
	return s
}

// marginals are means and standard deviations, of the intercept last.
type marginals struct{ mean, sd []float64 }

// original returns the marginals of the coefficients if the weights have the moments m.
func (s scaling) original(m *gauss.Moments) marginals {
	n := len(s.direction)
	last := n - 1
	out := marginals{make([]float64, n), make([]float64, n)}
	for j, factor := range s.factor {
		out.mean[j] = factor * m.Mean[j]
		out.sd[j] = math.Abs(factor) * math.Sqrt(m.Variance[j])
	}
	out.mean[last] = s.shift + floats.Dot(s.direction, m.Mean)
	out.sd[last] = math.Sqrt(s.interceptVariance(m))
	return out
}

// interceptVariance is the variance of direction . w.
func (s scaling) interceptVariance(m *gauss.Moments) float64 {
	if m.Covariance != nil {
		d := mat.NewVecDense(len(s.direction), s.direction)
		return max(0, mat.Inner(d, m.Covariance, d))
	}
	variance := 0.0
	for j, d := range s.direction {
		variance += d * d * m.Variance[j]
	}
	return variance
}

// momentsOf returns the moments of a posterior.
func momentsOf(q *bayes.Posterior) *gauss.Moments {
	m := &gauss.Moments{Mean: q.Mean(), Variance: q.SD()}
	for i, sd := range m.Variance {
		m.Variance[i] = sd * sd
	}
	if q.Likelihood().Family == gauss.Full || len(m.Mean) <= bayes.MostCovaried {
		m.Covariance = q.Covariance()
	}
	return m
}

// prior returns the moments of the weights before a session under the plan.
func (f *ModelFile) prior(p *protocol.Plan) (*gauss.Moments, error) {
	spec, err := app.Of(p)
	if err != nil {
		return nil, err
	}
	if a, ok := spec.(*app.Statistics); ok {
		return a.Statistics.PriorOf(f.State, app.SumVariance(p))
	}
	precision, _ := priorPrecision(spec)
	n := len(f.Mean)
	m := &gauss.Moments{Mean: make([]float64, n), Variance: make([]float64, n)}
	for i := range m.Variance {
		m.Variance[i] = 1 / precision
	}
	return m, nil
}

// priorPrecision returns the prior's precision of every weight, if the application has one.
func priorPrecision(spec app.Spec) (precision float64, ok bool) {
	switch a := spec.(type) {
	case *app.PVI:
		return a.PVI.PriorPrecision, true
	case *app.GlobalVI:
		return a.Global.PriorPrecision, true
	case *app.MCMC:
		return a.MCMC.PriorPrecision, true
	}
	return 0, false
}

// A coefficient has about the prior's interval if its standard deviation is at least narrow times
// the prior's, or if its 95 % interval has at least the mass mostMass of the prior.
const (
	narrow   = 0.95
	mostMass = 0.9
	z95      = 1.959963984540054
	z90      = 1.6448536269514722
)

// comparePrior marks the coefficients that have about the prior's interval.
func comparePrior(all []Coefficient, prior marginals) {
	for j := range all {
		k := &all[j]
		below := normalCDF((k.Mean - z95*k.SD - prior.mean[j]) / prior.sd[j])
		upTo := normalCDF((k.Mean + z95*k.SD - prior.mean[j]) / prior.sd[j])
		k.PriorOnly = k.SD >= narrow*prior.sd[j] || upTo-below >= mostMass
	}
}

// normalCDF is the standard normal distribution function.
func normalCDF(x float64) float64 { return math.Erfc(-x/math.Sqrt2) / 2 }
