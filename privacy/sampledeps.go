package privacy

import (
	"math"

	"choir/privacy/pld"
)

// Interval encloses an epsilon.
type Interval struct {
	Lower float64 // no smaller epsilon holds
	Upper float64 // this epsilon holds
}

// SampledStep is Count rounds of a Gaussian sum over sampled records.
type SampledStep struct {
	// Mu is the full sensitivity over the standard deviation of the noise: C/sigma for AddRemove,
	// 2C/sigma for ReplaceOne, where C bounds the term of a record.
	Mu       float64
	Sampling Sampling
	Rate     float64 // sampling rate, in (0, 1]; 0 or 1 with SamplingNone
	Count    int
}

// SampledEpsilon composes Gaussian rounds, which may differ in everything except the relation,
// by their privacy loss distributions (package pld). Poisson sampling is proven for both
// relations, fixed-size sampling for ReplaceOne only: with AddRemove it returns an error.
// docs/privacy.md, section 6, has the dominating pairs and their proofs. For fixed-size sampling the
// upper bound holds but is not the worst case of a composition ([Lebeda24]).
func SampledEpsilon(steps []SampledStep, relation Relation, delta float64, prec pld.Precision) (Interval,
	error) {
	var out Interval
	var err error
	if out.Upper, err = sampledUpper(steps, relation, delta, prec); err != nil {
		return Interval{}, err
	}
	for _, way := range []pld.Kind{pld.Remove, pld.Add} {
		terms, _ := realised(steps, relation, way)
		e, err := pld.Lower(terms, delta, prec)
		if err != nil {
			return Interval{}, reject("%v", err)
		}
		out.Lower = math.Max(out.Lower, e)
	}
	return out, nil
}

// sampledUpper is the upper bound of SampledEpsilon. AddRemove needs both directions; the curves of
// ReplaceOne hold for both.
func sampledUpper(steps []SampledStep, relation Relation, delta float64, prec pld.Precision) (float64,
	error) {
	if err := validateDelta(delta); err != nil {
		return 0, err
	}
	ways := []pld.Kind{pld.Remove, pld.Add}
	if relation == ReplaceOne {
		ways = ways[:1]
	}
	worst := 0.0
	for _, way := range ways {
		terms, err := dominating(steps, relation, way)
		if err != nil {
			return 0, err
		}
		e, err := pld.Upper(terms, delta, prec)
		if err != nil {
			return 0, reject("%v", err)
		}
		worst = math.Max(worst, e)
	}
	return worst, nil
}

// dominating returns the curves that bound the steps from above in one direction.
func dominating(steps []SampledStep, relation Relation, way pld.Kind) ([]pld.Term, error) {
	var terms []pld.Term
	for _, s := range steps {
		t := pld.Term{Kind: way, Mu: s.Mu, Rate: s.Rate, Count: s.Count}
		switch {
		case relation != ReplaceOne && relation != AddRemove:
			return nil, reject("unknown %v", relation)
		case s.Sampling == SamplingNone && s.Rate != 0 && s.Rate != 1:
			return nil, reject("a sample rate of %v needs a sampling", s.Rate)
		case s.Sampling == SamplingNone:
			t.Rate = 1
		case s.Sampling == SamplingPoisson && relation == ReplaceOne:
			t.Kind, t.Mu = pld.Replace, s.Mu/2
		case s.Sampling == SamplingFixed && relation == ReplaceOne:
			t.Kind = pld.Amplified
		case s.Sampling == SamplingFixed:
			return nil, reject("sampling without replacement is proven for replace-one neighbours only")
		case s.Sampling != SamplingPoisson:
			return nil, reject("unknown %v", s.Sampling)
		}
		if t.Mu > pld.MaxMu {
			return nil, reject("sigma is too small: losses are computed for distances of up to %d sigma, not %g",
				pld.MaxMu, t.Mu)
		}
		terms = append(terms, t)
	}
	return terms, nil
}

// realised returns pairs that real neighbours attain, for a lower bound.
func realised(steps []SampledStep, relation Relation, way pld.Kind) ([]pld.Term, error) {
	terms, err := dominating(steps, relation, way)
	for i := range terms {
		if terms[i].Kind == pld.Amplified { // neighbours with all other records at -C
			terms[i].Kind = way
		}
	}
	return terms, err
}

// SampledRelease is Count integer sums over sampled records, or Count sums of shuffled reports.
type SampledRelease struct {
	Release  // Sensitivity is that of the unsampled sum: C or 2C, where C bounds the term of a record
	Sampling Sampling
	Rate     float64 // sampling rate, in (0, 1]; 0 or 1 with SamplingNone
	Count    int
	Shuffled Shuffled // if not zero, the release and its sampling must be
}

// validate returns an error with the name of an invalid field.
func (x SampledRelease) validate() error {
	if x.Shuffled != (Shuffled{}) {
		if x.Release != (Release{}) || x.Sampling != SamplingNone || x.Rate != 0 {
			return reject("shuffled reports have no noise and no sampling")
		}
		return x.Shuffled.Validate()
	}
	switch {
	case x.Sampling > SamplingFixed:
		return reject("unknown %v", x.Sampling)
	case x.Sampling == SamplingNone && x.Rate != 0 && x.Rate != 1:
		return reject("a sample rate of %v needs a sampling", x.Rate)
	case x.Sampling != SamplingNone && !(x.Rate > 0 && x.Rate <= 1):
		return reject("sample rate %v is not in (0, 1]", x.Rate)
	}
	return x.Release.Validate()
}

// sampledIntegerEpsilon is the upper bound of [SampledEpsilon] for integer noise, for sampled and
// unsampled sums together. Sampling mixes the integer outputs with the same weights as the Gaussian
// outputs, so that the pointwise ratio of Theorem 3 holds for the mixtures (docs/privacy.md,
// section 6). It is infinite if the noise is too small for the theorem.
func sampledIntegerEpsilon(releases []SampledRelease, relation Relation, delta float64,
	prec pld.Precision) (float64, error) {
	var all []sampledSums
	for i, x := range releases {
		if err := x.validate(); err != nil {
			return 0, reject("release %d: %v", i, err)
		}
		if x.Count < 1 {
			return 0, reject("release %d: count %d", i, x.Count)
		}
		all = append(all, sampledSums{x.sums(float64(x.Count)), x.Sampling, x.Rate})
	}
	return sampledNearGaussian(all, relation, delta, prec)
}

// MethodPLD is the method of bounds that use sampling: privacy loss distributions of
// near-Gaussian integer noise (docs/privacy.md, section 6).
const MethodPLD = "near-gaussian-pld"

// Spent returns the better of two upper bounds on the epsilon at delta of all releases: without
// using sampling ([Epsilon]), and, if a release is sampled, with privacy loss distributions
// ([sampledIntegerEpsilon]). With shuffled reports it is the better of their local guarantees and Theorem S2.
// Equal releases may be given in one element or in several. No release
// costs 0.
func Spent(releases []SampledRelease, relation Relation, delta float64, prec pld.Precision) (Bound, error) {
	if err := validateDelta(delta); err != nil {
		return Bound{}, err
	}
	var whole grouped
	merged, sampled, err := merge(releases)
	if err != nil {
		return Bound{}, err
	}
	for _, x := range merged {
		if x.Shuffled != (Shuffled{}) {
			return spentShuffled(merged, relation, delta, prec)
		}
		whole = append(whole, x.sums(float64(x.Count)))
	}
	best := whole.epsilon(delta)
	if !sampled {
		return best, nil
	}
	// If the losses cannot be computed (mu is out of range), the first bound remains.
	if e, err := sampledIntegerEpsilon(merged, relation, delta, prec); err == nil && e < best.Epsilon {
		best = Bound{Epsilon: e, Method: MethodPLD}
	}
	return best, nil
}

// merge adds up the counts of equal releases, in the order of their first occurrence.
func merge(releases []SampledRelease) (merged []SampledRelease, sampled bool, err error) {
	index := map[SampledRelease]int{}
	for i, x := range releases {
		if err := x.validate(); err != nil {
			return nil, false, reject("release %d: %v", i, err)
		}
		n := x.Count
		if n < 1 {
			return nil, false, reject("release %d: count %d", i, n)
		}
		x.Count = 0
		at, ok := index[x]
		if !ok {
			at = len(merged)
			index[x] = at
			merged = append(merged, x)
		}
		merged[at].Count += n
		sampled = sampled || x.Sampling != SamplingNone
	}
	return merged, sampled, nil
}

type sampledSums struct {
	sums
	sampling Sampling
	rate     float64
}

// smoothings are variances of rounding noise that are tried.
var smoothings = []float64{1, 1.75, 3}

func sampledNearGaussian(all []sampledSums, relation Relation, delta float64, prec pld.Precision) (float64,
	error) {
	best := math.Inf(1)
	for _, r := range smoothings {
		steps, d := smoothed(all, r)
		if d.low+d.high > 1 {
			continue
		}
		i, err := sampledUpper(steps, relation, delta*math.Exp(-d.high)*(1-0x1p-45), prec)
		if err != nil {
			return 0, err
		}
		best = math.Min(best, up(i+d.low+d.high))
		if d.low+d.high < 1e-9 {
			break // more rounding noise cannot improve the bound
		}
	}
	return best, nil
}

// smoothed replaces the variance s of each sum by s - r and adds up the deviations.
func smoothed(all []sampledSums, r float64) ([]SampledStep, deviation) {
	var steps []SampledStep
	var total deviation
	for _, x := range all {
		s := x.variance()
		if s <= r {
			return nil, deviation{math.Inf(1), math.Inf(1)}
		}
		one := sumDeviation(x.part, x.parts).plus(roundingDeviation(r))
		total = total.plus(one.times(x.n * x.dim))
		mu := up(x.sensitivity / math.Sqrt((s-r)*(1-0x1p-45)))
		steps = append(steps, SampledStep{Mu: mu, Sampling: x.sampling, Rate: x.rate, Count: int(x.n)})
	}
	return steps, total
}
