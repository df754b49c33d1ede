package evaluate

import (
	"fmt"
	"math"

	"choir/learn/bayes"
)

// Interval is an estimate with its central 95 % interval, which includes the privacy noise.
type Interval struct {
	Value float64 `json:"value"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
}

// Bin is a range of predictions: the predicted probability of the second class, or of a number
// the predicted distribution function at its target, of which every bin should have an
// equal share of the records.
type Bin struct {
	From    float64  `json:"from"`
	To      float64  `json:"to"`
	Records Interval `json:"records"`
	// Gap is the observed share of the second class less the mean predicted one, absent for a
	// number.
	Gap *Interval `json:"gap,omitempty"`
}

// Point is the evaluation of one round. The intervals are for the predictions of new records
// from where the held-out ones come, and if PerParty for means over new parties.
type Point struct {
	Round    int  `json:"round"`
	Parties  int  `json:"parties"` // whose records were counted
	PerParty bool `json:"per_party,omitempty"`
	// Records are those that were held out, over all parties; if PerParty the parties with any.
	Records  Interval  `json:"records"`
	Accuracy *Interval `json:"accuracy,omitempty"`
	// RMSE is the root of the mean squared error of a number, in its own unit.
	RMSE *Interval `json:"rmse,omitempty"`
	// LogLikelihood is the mean of the records', each clipped to the plan's range, in nats.
	LogLikelihood Interval `json:"log_likelihood"`
	Calibration   []Bin    `json:"calibration"`
}

// In returns the point in another unit of the target: one of the old unit is scale of the new one.
func (p Point) In(scale float64) Point {
	if p.RMSE != nil {
		p.RMSE = &Interval{p.RMSE.Value * scale, p.RMSE.Low * scale, p.RMSE.High * scale}
	}
	p.LogLikelihood = p.LogLikelihood.plus(-math.Log(scale)) // a density over a wider unit is lower
	return p
}

const z95 = 1.959963984540054

// Estimate reads a revealed sum. variance is that of the noise on a coordinate in grid units squared,
// u the unit of the sum. RMSE is in units of the encoded target. A mean over parties varies no more
// than one of as many records: a party's mean score is in the range of single ones, and its bins'
// residuals are in that of its share there. Errors: bayes.ErrShape.
func (c *Config) Estimate(sum []int64, variance float64, t Target, u int64) (Point, error) {
	if len(sum) < c.Dim() || u < 1 {
		return Point{}, fmt.Errorf("evaluation: %d coordinates of %d: %w", len(sum), c.Dim(), bayes.ErrShape)
	}
	noise := math.Sqrt(variance) / (2 * float64(u)) // of a coordinate that is 2 units wide
	at := func(i int, width float64) float64 { return float64(sum[i]) / (width * float64(u)) }
	n := at(0, 2)
	p := Point{PerParty: c.PerParty, Records: count(n, noise)}
	mean := ratio{n: n, noise: noise, noiseN: noise}

	right := mean
	right.sum = at(1, 2)
	right.variance = binomial(right.sum+n/2, n)
	score := right.interval(-0.5, 0.5).plus(0.5)
	if t.Binary {
		p.Accuracy = &score
	} else {
		for _, v := range []*float64{&score.Value, &score.Low, &score.High} {
			*v = math.Sqrt(*v) * t.Half
		}
		p.RMSE = &score
	}

	mean.sum = at(2, 2)
	// No variable on an interval with this mean varies more [BD00].
	m := min(0.5, max(-0.5, mean.sum/max(n, 1)))
	mean.variance = (0.5 - m) * (m + 0.5)
	width := c.High - c.Low
	l := mean.interval(-0.5, 0.5)
	p.LogLikelihood = Interval{c.Low + (l.Value+0.5)*width, c.Low + (l.Low+0.5)*width,
		c.Low + (l.High+0.5)*width}

	for b := range c.Bins {
		k := at(3+2*b, 1)
		bin := Bin{From: float64(b) / float64(c.Bins), To: float64(b+1) / float64(c.Bins),
			Records: count(k, 2*noise)}
		if t.Binary {
			gap := ratio{sum: at(4+2*b, 1), n: k, noise: 2 * noise, noiseN: 2 * noise, variance: 0.25}
			i := gap.interval(-1, 1)
			bin.Gap = &i
		}
		p.Calibration = append(p.Calibration, bin)
	}
	return p, nil
}

// count is a noisy number of records.
func count(n, noise float64) Interval {
	return Interval{max(0, n), max(0, n-z95*noise), max(0, n+z95*noise)}
}

// binomial is the variance of an observation, away from 0 where few are counted.
func binomial(hits, n float64) float64 {
	p := (min(max(hits, 0), max(n, 0)) + 2) / (max(n, 0) + 4)
	return p * (1 - p)
}

func (i Interval) plus(v float64) Interval { return Interval{i.Value + v, i.Low + v, i.High + v} }

// ratio is a sum over n records, both with noise. variance is that of one record's part.
type ratio struct{ sum, n, noise, noiseN, variance float64 }

// interval is that of [Fieller54]: all m with (sum - m n)^2 <= z^2 (noise^2 + m^2 noiseN^2 + n variance),
// within the bounds, or all of these where the noise outweighs the number of records.
func (r ratio) interval(low, high float64) Interval {
	z2 := z95 * z95
	a := r.n*r.n - z2*r.noiseN*r.noiseN
	if r.n <= 0 || a <= 0 {
		return Interval{(low + high) / 2, low, high}
	}
	half := r.sum * r.n
	c := r.sum*r.sum - z2*(r.noise*r.noise+r.n*r.variance)
	root := math.Sqrt(max(0, half*half-a*c))
	in := func(v float64) float64 { return min(high, max(low, v)) }
	return Interval{in(r.sum / r.n), in((half - root) / a), in((half + root) / a)}
}
