package noiseaware

import (
	"math"

	"gonum.org/v1/gonum/mat"

	"choir/learn/noiseaware/internal/logistic"
)

// saturation is what a logistic model's curvature at a point, over a Gaussian of weights, tells of how far
// the records' logits are spread there: their variance v, with probit added.
//
// The curvature along the point tells it by q, its length over the intercept's curvature: limit less
// limit^2/v for a normal distribution function in the place of the logistic one. For long logits q is near
// the limit for any v, and above it for logistic ones. The intercept's curvature is the number of
// records, which is public, times the mean slope of the logistic function, which falls with the root of v.
type saturation struct {
	records float64 // 0: not known
	at, sd  float64 // the intercept's curvature, and the standard deviation of an entry above the diagonal
	middle  float64 // mean logit of records by their slopes, over v where that is the limit
	square  float64 // squared length of the point but for its intercept
	limit   float64 // probit and what the Gaussian of weights adds
}

// slopeError is the error of a mean slope by the law of normal logits, of itself.
const slopeError = 0.01

// share is q by both, each of which counts by the inverse of its error's variance. A curvature of the
// intercept with an error of more than a quarter tells nothing: what follows from it is too bent.
func (s saturation) share(q float64) float64 {
	if s.records == 0 || s.sd == 0 || s.square == 0 {
		return q
	}
	by := s.counted(s.at)
	v := s.limit * s.limit / (s.limit - by)
	shift := math.Abs(s.middle) * v / (s.limit * s.limit) * s.sd * math.Sqrt(s.square)
	doubt := math.Hypot(math.Hypot(math.Sqrt2*s.sd, shift), slopeError*s.at)
	if doubt > s.at/4 {
		return q
	}
	own := max(s.counted(s.at-doubt)-by, by-s.counted(s.at+doubt))
	other := math.Sqrt2 * s.sd * s.square / s.at
	part := other * other / (other*other + own*own)
	return part*by + (1-part)*q
}

// counted is q by the number of records, for a curvature of the intercept.
func (s saturation) counted(at float64) float64 {
	low, high := s.limit, s.limit/(1-widest)
	for range 50 {
		v := (low + high) / 2
		if logistic.MeanSlope(s.middle*v/s.limit, v-logistic.Probit)*s.records > at {
			low = v
		} else {
			high = v
		}
	}
	return s.limit - s.limit*s.limit/low
}

// widest is the largest share of the limit that the number of records tells: logits of a standard deviation
// of some 7.
const widest = 0.95

// saturation is that of the estimate, for slopes whose records have the number and a mean logit, or 0.
func (e estimate) saturation(sd, records, middle, limit float64, slopes *mat.VecDense) saturation {
	if e.raw != nil {
		sd = e.raw.SD
	}
	d := e.matrix.SymmetricDim()
	return saturation{records: records, at: e.matrix.At(d-1, d-1), sd: sd, middle: middle,
		square: mat.Dot(slopes, slopes), limit: limit}
}
