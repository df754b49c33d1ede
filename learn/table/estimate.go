package table

import (
	"math"
)

// Row is one figure of a table with its interval.
type Row struct {
	Table     string  `json:"table"` // the column, or two for a contingency table
	Group     string  `json:"group,omitempty"`
	Level     string  `json:"level,omitempty"` // a category, a bin or a quantile
	Statistic string  `json:"statistic"`       // count, share, mean, sd or quantile
	Value     float64 `json:"value"`
	// NoiseSD is the standard deviation that the privacy noise gives the value.
	NoiseSD float64 `json:"noise_sd"`
	// Lower and Upper include the privacy noise. For counts they are about the records
	// themselves; for all others also about the population that these are a sample of.
	Lower float64 `json:"lower"`
	Upper float64 `json:"upper"`
}

// quantiles that a histogram has.
var quantiles = []struct {
	name string
	p    float64
}{{"5%", 0.05}, {"25%", 0.25}, {"50%", 0.5}, {"75%", 0.75}, {"95%", 0.95}}

// Estimate returns the figures of all tables from the noisy sum. variance is that of the
// noise on every coordinate, in grid units; level is the probability of the intervals.
// Everything is post-processing of the sum: it costs no privacy.
func (l *Layout) Estimate(sum []int64, variance, level float64) []Row {
	e := &estimator{z: math.Sqrt2 * math.Erfinv(level), values: make([]float64, len(sum))}
	one := math.Ldexp(1, int(l.cfg.FracBits))
	e.sigma = math.Sqrt(variance) / one
	for i, v := range sum {
		e.values[i] = float64(v) / one
	}
	for k := range l.items {
		i := &l.items[k]
		groups := []string{""}
		if i.group != nil {
			groups = i.group.levels
		}
		for g, name := range groups {
			n := e.values[0]
			if i.group != nil {
				n = e.values[l.items[1].at+g]
			}
			e.item(i, name, e.values[i.at+g*i.size:i.at+(g+1)*i.size], math.Max(n, 1))
		}
	}
	return e.rows
}

type estimator struct {
	z      float64
	sigma  float64 // of the noise on a count
	values []float64
	rows   []Row
}

func (e *estimator) add(i *item, group, level, statistic string, value, noise, sampling, lo, hi float64) {
	sd := math.Hypot(noise, sampling)
	e.rows = append(e.rows, Row{i.name, group, level, statistic, clamp(value, lo, hi), noise,
		clamp(value-e.z*sd, lo, hi), clamp(value+e.z*sd, lo, hi)})
}

func clamp(v, lo, hi float64) float64 { return math.Min(math.Max(v, lo), hi) }

// item estimates one table of a group with about n records.
func (e *estimator) item(i *item, group string, v []float64, n float64) {
	inf := math.Inf(1)
	switch i.kind {
	case "total":
		e.add(i, group, "", "count", v[0], e.sigma, 0, 0, inf)
	case "moments":
		e.moments(i, group, v, n)
	default:
		for k, level := range i.levels() {
			if i.hidden {
				break
			}
			e.add(i, group, level, "count", v[k], e.sigma, 0, 0, inf)
			p := clamp(v[k]/n, 0, 1)
			noise := e.sigma / n * math.Sqrt(1+p*p)
			e.add(i, group, level, "share", v[k]/n, noise, math.Sqrt(p*(1-p)/n), 0, 1)
		}
		if i.kind == "histogram" {
			e.quantiles(i, group, v, n)
		}
	}
}

// levels names the cells of a table that counts.
func (i *item) levels() []string {
	if len(i.axes) == 1 {
		return i.axes[0].levels
	}
	var names []string
	for _, a := range i.axes[0].levels {
		for _, b := range i.axes[1].levels {
			names = append(names, a+" x "+b)
		}
	}
	return names
}

// mostLinear is the noise on a mean of u, in [-1, 1], up to which a deviation has an interval.
const mostLinear = 0.2

// moments are mean and standard deviation, by the delta method. The square of a noisy mean
// is too large by the variance of its noise, which is known and taken off.
func (e *estimator) moments(i *item, group string, v []float64, n float64) {
	r := i.number.r
	half := (r.Hi - r.Lo) / 2
	m := clamp(v[0]/n, -1, 1)
	noise := e.sigma / n
	spread := math.Max(v[1]/n-m*m+noise*noise, 0)
	sd := math.Sqrt(spread)
	e.add(i, group, "", "mean", r.Lo+half+half*m, half*noise*math.Sqrt(1+m*m), half*sd/math.Sqrt(n), r.Lo, r.Hi)
	second := v[1] / n
	// d(spread) = d(v1)/n - 2 m d(v0)/n - (second - 2 m^2) d(n)/n
	slope := math.Sqrt(1 + 4*m*m + (second-2*m*m)*(second-2*m*m))
	least := math.Max(sd, math.Sqrt(noise*slope)/2) // of a spread that the noise drowns
	e.add(i, group, "", "sd", half*sd, half*noise*slope/(2*math.Max(least, 1e-12)), half*sd/math.Sqrt(2*n), 0,
		half)
	if noise > mostLinear { // the delta method fails: nothing is known
		last := &e.rows[len(e.rows)-1]
		last.Lower, last.Upper = 0, half
	}
}

// quantiles inverts the cumulative histogram, made monotone, at p, and at p plus and minus
// the deviation of the cumulative share there: that of the noise on all bins, at most, and
// of a sample.
func (e *estimator) quantiles(i *item, group string, v []float64, n float64) {
	bounds := i.axes[0].bounds
	cumulative := monotone(v)
	total := math.Max(cumulative[len(v)], 1)
	at := func(p float64) float64 {
		want := clamp(p, 0, 1) * total
		for k := range v {
			if cumulative[k+1] >= want && cumulative[k+1] > cumulative[k] {
				share := clamp((want-cumulative[k])/(cumulative[k+1]-cumulative[k]), 0, 1)
				return bounds[k] + share*(bounds[k+1]-bounds[k])
			}
		}
		return bounds[len(v)]
	}
	for _, q := range quantiles {
		noise := e.sigma / n * math.Sqrt(float64(len(v)))
		sd := math.Hypot(noise, math.Sqrt(q.p*(1-q.p)/n))
		lo, hi := bounds[0], bounds[len(v)]
		if q.p > e.z*sd {
			lo = at(q.p - e.z*sd)
		}
		if 1-q.p > e.z*sd {
			hi = at(q.p + e.z*sd)
		}
		e.rows = append(e.rows, Row{i.name, group, q.name, "quantile", at(q.p),
			(hi - lo) / (2 * e.z) * noise / sd, lo, hi})
	}
}

// monotone is the cumulative sum, halfway between the largest value so far and the least
// value to come.
func monotone(v []float64) []float64 {
	up := make([]float64, len(v)+1)
	raw := make([]float64, len(v)+1)
	for k, c := range v {
		raw[k+1] = raw[k] + c
		up[k+1] = math.Max(up[k], raw[k+1])
	}
	least := raw[len(v)]
	for k := len(v); k >= 0; k-- {
		least = math.Min(least, raw[k])
		up[k] = math.Max((up[k]+least)/2, 0)
	}
	return up
}
