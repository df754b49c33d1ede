package privacy

import (
	"math"

	"choir/privacy/pld"
)

// Mechanism is the distribution of the noise that is added to a sum.
type Mechanism string

const (
	Gaussian         Mechanism = "gaussian"
	DiscreteGaussian Mechanism = "discrete-gaussian" // over the integers; Sigma^2 is its parameter
	Skellam          Mechanism = "skellam"           // over the integers; Sigma^2 is its variance
)

// The accountants that a Query may name. Account documents which of them apply to a mechanism.
const (
	accountantAnalytic     = "analytic"      // exact Gaussian curve and composition
	accountantClassical    = "classical"     // textbook formula, epsilon < 1, one step
	accountantZCDP         = "zcdp"          // best real order
	AccountantRDP          = "rdp"           // on defaultOrders, as Opacus and dp_accounting do
	accountantMoments      = "moments"       // [Thesis], Eqs. 2.7-2.17; lambda up to 32
	accountantPLD          = "pld"           // privacy loss distribution by FFT
	accountantExact        = "exact"         // summation over the integers, one dimension
	accountantNearGaussian = "near-gaussian" // docs/privacy.md, Theorem 3
)

// Query describes a mechanism that is run Steps times, adaptively. All magnitudes have the same
// unit; for integer mechanisms it is that of the grid.
type Query struct {
	Mechanism Mechanism
	Sigma     float64 // standard deviation of the noise per coordinate, > 0

	// Sensitivity is the L2 distance of neighbouring sums. If it is 0, the distance follows from
	// Clip and Relation, which Poisson sampling with ReplaceOne requires.
	Sensitivity float64
	Clip        float64  // L2 bound of a record if Sensitivity is 0: the distance is Clip or 2 Clip
	Relation    Relation // required with Clip or sampling

	Steps      int // >= 1
	Delta      float64
	Rate       float64 // sampling rate; 0 or 1 means that every record enters every step
	Sampling   Sampling
	Dim        int           // coordinates; 0 means 1
	Accountant string        // "" means the tightest that is proven
	Precision  pld.Precision // for accountantPLD
}

// Answer is the epsilon of a query and its assumptions.
type Answer struct {
	Epsilon     float64 // upper bound
	LowerBound  float64 // no smaller epsilon holds for the worst neighbours; 0 if no better bound is known
	Accountant  string
	Assumptions []string
}

// distance returns the L2 distance of neighbouring sums.
func (q Query) distance() (float64, error) {
	switch {
	case q.Sensitivity > 0 && q.Clip > 0:
		return 0, reject("sensitivity and clip are both given")
	case positive(q.Sensitivity):
		return q.Sensitivity, nil
	case !positive(q.Clip):
		return 0, reject("neither a sensitivity nor a clip is positive and finite")
	case q.Relation == AddRemove:
		return q.Clip, nil
	case q.Relation == ReplaceOne:
		return 2 * q.Clip, nil
	}
	return 0, reject("clip needs a relation, add-remove or replace-one")
}

// positive reports whether x is positive and finite.
func positive(x float64) bool { return x > 0 && !math.IsInf(x, 0) }

func (q Query) sampled() bool { return q.Sampling != SamplingNone && q.Rate != 1 }

// validate checks the query and returns it with the defaults filled in.
func (q Query) validate() (Query, error) {
	if q.Dim == 0 {
		q.Dim = 1
	}
	if q.Rate == 0 {
		q.Rate = 1
	}
	if err := q.validateNoise(); err != nil {
		return q, err
	}
	if err := q.validateSampling(); err != nil {
		return q, err
	}
	return q, validateDelta(q.Delta)
}

func (q Query) validateNoise() error {
	const most = 1 << 31
	switch q.Mechanism {
	case Gaussian, DiscreteGaussian, Skellam:
	default:
		return reject("mechanism %q is none of gaussian, discrete-gaussian, skellam", string(q.Mechanism))
	}
	if !positive(q.Sigma) {
		return reject("sigma %v is not positive and finite", q.Sigma)
	}
	if q.Steps < 1 || q.Steps > most {
		return reject("steps %d is not in 1..2^31", q.Steps)
	}
	if q.Dim < 1 || q.Dim > most {
		return reject("dim %d is not in 1..2^31", q.Dim)
	}
	return nil
}

func (q Query) validateSampling() error {
	if !(q.Rate > 0 && q.Rate <= 1) {
		return reject("sample rate %v is not in (0, 1]", q.Rate)
	}
	if q.Rate < 1 && q.Sampling == SamplingNone {
		return reject("a sample rate of %v needs a sampling, poisson or without-replacement", q.Rate)
	}
	if !q.sampled() {
		return nil
	}
	if q.Relation != AddRemove && q.Relation != ReplaceOne {
		return reject("sampling needs a relation, add-remove or replace-one")
	}
	// Two records may be close together and far from zero, which reveals whether one was sampled.
	if q.Sampling == SamplingPoisson && q.Relation == ReplaceOne && q.Sensitivity > 0 {
		return reject("sensitivity does not bound the term of a record: " +
			"poisson sampling with replace-one neighbours needs the clip")
	}
	return nil
}

// SolveSigma returns the least sigma, to a relative 10^-6 and rounded up, with which the epsilon of
// the query is at most the target. It ignores q.Sigma. Errors: those of Account, and a target that no
// sigma reaches.
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

// bracketSigma finds lo < hi, a factor of 2 apart, such that hi meets the target and lo does
// not, or lo is below the least sigma that is tried, 1/64 of the sensitivity d. A sigma for which meets
// returns an error does not meet the target. If it returns an error for all of them, so does
// bracketSigma.
func bracketSigma(d float64, meets func(sigma float64) (bool, error)) (lo, hi float64, err error) {
	for hi = d; ; hi *= 2 {
		ok, err := meets(hi)
		if ok {
			break
		}
		if hi > 1e9*d {
			if err == nil {
				err = reject("no sigma below %v reaches the target", hi)
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
