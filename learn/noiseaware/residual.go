package noiseaware

import "math"

// Residuals is what rounds revealed of the squares of residuals at public weights: of an observation's
// noise, and of how far predictions are from their mean.
type Residuals struct {
	// Share is the mean of min(r^2, Limit)/Limit over the records, SD the standard deviation of the noise
	// on it.
	Share, SD float64
	Limit     float64
	Records   float64 // least number of independent residuals
	Assumed   float64 // variance of an observation that is expected without them
	// Spread is the mean variance of a prediction under the posterior, without the observation's, and
	// SpreadSD its standard deviation there.
	Spread, SpreadSD float64
}

// least is the least variance of an observation, in limits.
const least = 1e-6

// mostShare is the largest share that is taken as it is: beyond, it hardly depends on the residuals.
const mostShare = 0.75

// Variance returns the variance of an observation with which predictions err as much as the residuals,
// and an interval of 95 % that holds the variance of the observations' noise.
//
// Residuals are N(0, v + Spread). Without the rounds v is taken to be exponential with mean Assumed, which
// presumes least of a positive number. The estimate is its mean given the rounds: the better variance of a
// normal prediction, on average. Where noise hides the residuals that is Assumed, and it is always positive.
//
// If the posterior is wider than its errors, v is too small by as much. The interval allows for errors of
// any length: its upper end takes none of the residuals for them.
func (r Residuals) Variance() (v, lower, upper float64) {
	square, sd := r.MeanSquare()
	v = max(positive(square-r.Spread-sd*sd/r.Assumed, sd), least*r.Limit)
	lower = max(0, square-r.Spread-z95*math.Hypot(sd, r.SpreadSD))
	return v, min(v, lower), max(v, square+z95*sd)
}

// z95 is the quantile of a normal law that leaves 2.5 % above it.
const z95 = 1.96

// MeanSquare is the mean square of the residuals by their share, and the standard deviation of its error.
func (r Residuals) MeanSquare() (square, sd float64) {
	share := min(r.Share, mostShare)
	if share <= 0 {
		square = share * r.Limit
	} else {
		low, high := 0.0, 1.0
		for clipped(high) < share {
			high *= 2
		}
		for range 60 {
			if mid := (low + high) / 2; clipped(mid) < share {
				low = mid
			} else {
				high = mid
			}
		}
		square = low * r.Limit
	}
	own := 0.0
	if r.Records > 0 && square > 0 {
		own = scatter(square/r.Limit) / r.Records
	}
	return square, math.Sqrt(r.SD*r.SD+own) / slopeOf(square/r.Limit) * r.Limit
}

// clipped is E min(t z^2, 1) for a standard normal z.
func clipped(t float64) float64 {
	if t <= 0 {
		return t
	}
	a := 1 / t
	return t*chi3(a) + math.Erfc(math.Sqrt(a/2))
}

// slopeOf is the derivative of clipped.
func slopeOf(t float64) float64 {
	if t <= 0 {
		return 1
	}
	return chi3(1 / t)
}

// scatter is the variance of min(t z^2, 1).
func scatter(t float64) float64 {
	a := 1 / t
	chi5 := chi3(a) - math.Sqrt(2/math.Pi)/3*math.Pow(a, 1.5)*math.Exp(-a/2)
	return max(0, 3*t*t*chi5+math.Erfc(math.Sqrt(a/2))-clipped(t)*clipped(t))
}

// chi3 is the distribution function of a chi-squared law with three degrees of freedom: E z^2 over z^2 < a.
func chi3(a float64) float64 {
	return math.Erf(math.Sqrt(a/2)) - math.Sqrt(2*a/math.Pi)*math.Exp(-a/2)
}
