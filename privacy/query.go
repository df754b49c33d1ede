package privacy

import (
	"math"

	"choir/privacy/pld"
)

// Mechanism is what is added to a sum.
type Mechanism string

const (
	Gaussian         Mechanism = "gaussian"
	DiscreteGaussian Mechanism = "discrete-gaussian" // over the integers; Sigma^2 is its parameter
	Skellam          Mechanism = "skellam"           // over the integers; Sigma^2 is its variance
)

// The accountants that a Query may name. Which go with which mechanism is Account's to say.
const (
	AccountantAnalytic     = "analytic"      // exact Gaussian curve and composition
	AccountantClassical    = "classical"     // textbook formula, epsilon < 1, one step
	AccountantZCDP         = "zcdp"          // best real order
	AccountantRDP          = "rdp"           // on DefaultOrders, as Opacus and dp_accounting do
	AccountantMoments      = "moments"       // thesis, Eqs. 2.7-2.17; lambda up to 32
	AccountantPLD          = "pld"           // privacy loss distribution by FFT
	AccountantExact        = "exact"         // summation over the integers, one dimension
	AccountantNearGaussian = "near-gaussian" // docs/privacy.md, Theorem 3
)

// Query describes a mechanism run Steps times, adaptively. All magnitudes are in
// one unit, for integer mechanisms the grid's.
type Query struct {
	Mechanism   Mechanism
	Sigma       float64  // standard deviation of the noise per coordinate, > 0
	Sensitivity float64  // L2 difference of neighbouring sums; 0 means from Clip, which Poisson sampling with ReplaceOne needs
	Clip        float64  // a record's L2 bound, if Sensitivity is 0: the difference is Clip or 2 Clip
	Relation    Relation // needed with Clip or with sampling
	Steps       int      // >= 1
	Delta       float64
	Rate        float64 // sampling rate; 0 or 1 means every record every time
	Sampling    Sampling
	Dim         int           // coordinates; 0 means 1
	Accountant  string        // "" means the tightest that is proven
	Precision   pld.Precision // of AccountantPLD
}

// Answer is an epsilon and what it rests on.
type Answer struct {
	Epsilon     float64 // true upper bound
	LowerBound  float64 // no smaller epsilon holds for the worst neighbours; 0 if nothing better is known
	Accountant  string
	Assumptions []string
}

// distance is the sensitivity, and what neighbours are.
func (q Query) distance() (float64, error) {
	switch {
	case q.Sensitivity > 0 && q.Clip > 0:
		return 0, refuse("sensitivity and clip are both given")
	case q.Sensitivity > 0 && !math.IsInf(q.Sensitivity, 0):
		return q.Sensitivity, nil
	case !(q.Clip > 0) || math.IsInf(q.Clip, 0):
		return 0, refuse("neither a sensitivity nor a clip is positive and finite")
	case q.Relation == AddRemove:
		return q.Clip, nil
	case q.Relation == ReplaceOne:
		return 2 * q.Clip, nil
	}
	return 0, refuse("clip needs a relation, add-remove or replace-one")
}

func (q Query) sampled() bool { return q.Sampling != SamplingNone && q.Rate != 1 }

// validate fills the defaults in.
func (q Query) validate() (Query, error) {
	if q.Dim == 0 {
		q.Dim = 1
	}
	if q.Rate == 0 {
		q.Rate = 1
	}
	switch {
	case q.Mechanism != Gaussian && q.Mechanism != DiscreteGaussian && q.Mechanism != Skellam:
		return q, refuse("mechanism %q is none of gaussian, discrete-gaussian, skellam", string(q.Mechanism))
	case !(q.Sigma > 0) || math.IsInf(q.Sigma, 0):
		return q, refuse("sigma %v isn't positive and finite", q.Sigma)
	case q.Steps < 1 || q.Steps > 1<<31:
		return q, refuse("steps %d isn't in 1..2^31", q.Steps)
	case q.Dim < 1 || q.Dim > 1<<31:
		return q, refuse("dim %d isn't in 1..2^31", q.Dim)
	case !(q.Rate > 0 && q.Rate <= 1):
		return q, refuse("sample rate %v isn't in (0, 1]", q.Rate)
	case q.Rate < 1 && q.Sampling == SamplingNone:
		return q, refuse("a sample rate of %v needs a sampling, poisson or without-replacement", q.Rate)
	case q.sampled() && q.Relation != AddRemove && q.Relation != ReplaceOne:
		return q, refuse("sampling needs a relation, add-remove or replace-one")
	case q.sampled() && q.Sampling == SamplingPoisson && q.Relation == ReplaceOne && q.Sensitivity > 0:
		// Two records may be near each other and far from no record: whether one was drawn shows then.
		return q, refuse("sensitivity doesn't bound what a record adds: poisson sampling with replace-one neighbours needs the clip")
	}
	return q, validateDelta(q.Delta)
}

// SolveSigma finds the least sigma, to a relative 10^-6 and rounded up, with which
// the query's epsilon stays within the target. The query's own Sigma is ignored.
func SolveSigma(q Query, epsilon float64) (float64, Answer, error) {
	if err := validateEpsilon(epsilon); err != nil {
		return 0, Answer{}, err
	}
	d, err := q.distance()
	if err != nil {
		return 0, Answer{}, err
	}
	meets := func(sigma float64) (bool, error) {
		p := q
		p.Sigma = sigma
		a, err := upperBound(p)
		return err == nil && a.Epsilon <= epsilon, err
	}
	lo, hi, err := bracketSigma(d, meets)
	if err != nil {
		return 0, Answer{}, err
	}
	for hi-lo > 1e-6*hi {
		mid := (lo + hi) / 2
		if ok, _ := meets(mid); ok {
			hi = mid
		} else {
			lo = mid
		}
	}
	q.Sigma = hi
	a, err := Account(q)
	return hi, a, err
}

// bracketSigma finds lo < hi, a factor of 2 apart, of which hi meets the target and lo
// doesn't, or is as small as accountants are asked for: a 64th of the sensitivity d. A sigma
// that is refused doesn't meet it; if all are, so is the query.
func bracketSigma(d float64, meets func(sigma float64) (bool, error)) (lo, hi float64, err error) {
	for hi = d; ; hi *= 2 {
		ok, err := meets(hi)
		if ok {
			break
		}
		if hi > 1e9*d {
			if err == nil {
				err = refuse("no sigma below %v reaches the target", hi)
			}
			return 0, 0, err
		}
	}
	for lo = hi / 2; lo > d/64; lo /= 2 {
		if ok, _ := meets(lo); !ok {
			break
		}
		hi = lo
	}
	return lo, hi, nil
}
