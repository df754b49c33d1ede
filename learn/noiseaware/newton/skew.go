package newton

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"choir/learn/gauss"
)

// excess is by how much the point where parties' steps add up to 0 is longer than the true weights: slopes
// by a share of them.
type excess struct{ slopes, intercept float64 }

// excess returns it near weights of classes. Steps that a bound shortens add up to 0 at a kind of median of
// the parties' estimates, whose errors are skewed towards longer weights: that is off the true weights,
// where the mean step is 0. Of columns that may be off their centres the intercept tells nothing, and is as
// much longer as the slopes.
func (t Steps) excess(weights []float64) excess {
	last := len(weights) - 1
	intercept := weights[last]
	if t.Ranged {
		intercept = 0
	}
	s := skewness(intercept, floats.Norm(weights[:last], 2), len(weights))
	f := t.skewed(float64(len(weights)))
	s.slopes *= f
	s.intercept *= f
	if t.Ranged {
		s.intercept = s.slopes * weights[last]
	}
	return s
}

// several reports whether parties have as many records as weights: of fewer the skewness is not known.
func (t Steps) several() bool { return t.Records >= float64(len(t.Points[0])) }

// unskew takes the excess e from means of single weights of classes. The sums tell (1 + e) w of a slope w,
// where the law of m has w under the same prior. It lengthens none.
func (t Steps) unskew(m *gauss.Moments) {
	if !t.several() {
		return
	}
	last := len(m.Mean) - 1
	at := slices.Clone(m.Mean)
	for range 2 {
		e := t.excess(at)
		for i, v := range m.Variance[:last] {
			told := 1 - min(1, v*t.Prior)
			at[i] = m.Mean[i] * min(1, (1+e.slopes)/(1+told*e.slopes*(2+e.slopes)))
		}
		at[last] = m.Mean[last] - e.intercept*(1-min(1, m.Variance[last]*t.Prior))
	}
	copy(m.Mean, at)
}

// lever is how much more skewed the errors of parties with few records are, by the square of a record's mean
// leverage. It was fitted to draws of 10 to 60 records and 6 to 21 weights, where it errs by up to .2.
const lever = 2.5

// skewed is the share of the skewness of one record's errors that a party's have in d directions. A record's
// mean leverage is d a/n for the mean slope a: it takes from a party's own error what [MP67] takes from
// slopes.
func (t Steps) skewed(d float64) float64 {
	a := t.Expected
	odds := a / (1 - a)
	n := t.Records
	leverage := d * a / n
	apart := odds * (1 - leverage)
	own := math.Sqrt((1 - a) / t.Prior * apart / (1 + apart)) // in each direction
	return shorteningOf(t.Bounds[len(t.Bounds)-1]/own, d) * (1 + lever*leverage*leverage) / n
}

// shorteningOf is what a bound b takes from a term that is linear in the third cumulants of a standard
// normal vector x of d dimensions, over what a short bound takes: d + 2 - E |x|^4 f/E |x|^2 f with f =
// min(1, b/|x|).
func shorteningOf(b, d float64) float64 {
	var two, four float64
	at := math.Sqrt(d) - 5
	for x := max(0.05, at); x < at+11; x += 0.1 {
		f := min(1, b/x) * math.Exp((d+1)*math.Log(x)-x*x/2-((d+1)*math.Log(d)-d)/2)
		two += f
		four += f * x * x
	}
	return d + 2 - four/two
}

// Nodes of a normal variable by which expectations are taken: on each side of 0, and to a standard
// deviation.
const (
	sideNodes = 12
	nodesOfSD = 2
)

// longestLogit is the largest mean logit, and standard deviation of logits, of which the skewness is told.
const longestLogit = 4

// skewness is how much longer d weights are by parties of one record and a short bound, for standard normal
// columns and logits of this mean and standard deviation. With n records it is 1/n of that. By Edgeworth's
// expansion [McCullagh87] a term s b/|s| of a vector s with the covariance V and the third cumulants k has
// about the mean -b sum_j k_ijj/(2 R^3), with R^2 the trace of V, where one around a way w has the mean b
// w/R. Steps at the true weights are H^-1 times the sum of (y - p) z, so that V is H^-1, and k the mean of
// p(1-p)(1-2p) times products of H^-1 z. The factor d/(d+2) is exact for equal curvatures in all directions.
func skewness(mean, sd float64, d int) (s excess) {
	mean, sd = max(-longestLogit, min(longestLogit, mean)), min(longestLogit, sd)
	h, k := moments(mean, sd)
	det, across := h[0]*h[2]-h[1]*h[1], float64(d-2)
	// The inverse in the plane of the slopes and the intercept, its square, and the variance across.
	uu, u1, ones, other := h[0]/det, -h[1]/det, h[2]/det, 1/h[0]
	uu2, u12, ones2 := uu*uu+u1*u1, u1*(uu+ones), ones*ones+u1*u1+across*other*other
	along := uu2*k[3] + 2*u12*k[2] + ones2*k[1]
	at := uu2*k[2] + 2*u12*k[1] + ones2*k[0]
	f := -float64(d) / float64(d+2) / (2 * (uu + ones + across*other))
	s.intercept = f * (u1*along + ones*at)
	if sd > 0 {
		s.slopes = f * (uu*along + u1*at) / sd
	}
	return s
}

// moments are E p(1-p) u^j and E p(1-p)(1-2p) u^j for a standard normal u and logits mean + sd u.
func moments(mean, sd float64) (h [3]float64, k [4]float64) {
	total := 0.0
	for n := -sideNodes; n <= sideNodes; n++ {
		u := float64(n) / nodesOfSD
		weight := math.Exp(-u * u / 2)
		total += weight
		p := 1 / (1 + math.Exp(-mean-sd*u))
		weight *= p * (1 - p)
		for j := range k {
			if j < len(h) {
				h[j] += weight
			}
			k[j] += weight * (1 - 2*p)
			weight *= u
		}
	}
	for j := range h {
		h[j] /= total
	}
	for j := range k {
		k[j] /= total
	}
	return h, k
}
