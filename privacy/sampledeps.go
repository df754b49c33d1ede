package privacy

import (
	"math"

	"choir/privacy/pld"
)

// Interval brackets an epsilon: what is claimed and what is certainly not less.
type Interval struct {
	Lower float64 // no smaller epsilon holds
	Upper float64 // this one does
}

// SampledStep is Count rounds of a Gaussian sum over sampled records.
type SampledStep struct {
	Mu    float64 // full sensitivity over noise standard deviation: C/sigma for AddRemove, 2C/sigma for ReplaceOne
	Rate  float64 // sampling rate, in (0, 1]
	Count int
}

// SampledEpsilon composes sampled Gaussian rounds, which may differ, by their privacy
// loss distributions (package pld). Poisson sampling is proven for both relations, fixed
// size for ReplaceOne; fixed size with AddRemove is refused, since the sample's size would
// tell the relation (docs/privacy.md, section 6 has the pairs and the proof that they are worst).
func SampledEpsilon(steps []SampledStep, relation Relation, sampling Sampling, delta float64, prec pld.Precision) (Interval, error) {
	out := Interval{}
	var err error
	if out.Upper, err = sampledUpper(steps, relation, sampling, delta, prec); err != nil {
		return out, err
	}
	pairs, _ := dominatingPairs(relation, sampling)
	for _, kind := range pairs.lower {
		e, err := pld.Lower(pairs.terms(steps, kind), delta, prec)
		if err != nil {
			return Interval{}, refuse("%v", err)
		}
		out.Lower = math.Max(out.Lower, e)
	}
	return out, nil
}

// sampledUpper is SampledEpsilon without the lower bound's work.
func sampledUpper(steps []SampledStep, relation Relation, sampling Sampling, delta float64, prec pld.Precision) (float64, error) {
	pairs, err := dominatingPairs(relation, sampling)
	if err != nil {
		return 0, err
	}
	if err := validateDelta(delta); err != nil {
		return 0, err
	}
	worst := 0.0
	for _, kind := range pairs.upper {
		e, err := pld.Upper(pairs.terms(steps, kind), delta, prec)
		if err != nil {
			return 0, refuse("%v", err)
		}
		worst = math.Max(worst, e)
	}
	return worst, nil
}

// pairSet says which curves bound a mechanism from above, every one of them needed,
// which neighbours realise bounds from below, and how mu scales.
type pairSet struct {
	upper, lower []pld.Kind
	scale        float64
}

func dominatingPairs(relation Relation, sampling Sampling) (pairSet, error) {
	both := []pld.Kind{pld.Remove, pld.Add}
	switch {
	case relation != ReplaceOne && relation != AddRemove:
		return pairSet{}, refuse("unknown %v", relation)
	case sampling == SamplingNone:
		return pairSet{both[:1], both[:1], 1}, nil
	case sampling == SamplingPoisson && relation == AddRemove:
		return pairSet{both, both, 1}, nil
	case sampling == SamplingPoisson:
		one := []pld.Kind{pld.Replace}
		return pairSet{one, one, 0.5}, nil
	case sampling == SamplingFixed && relation == ReplaceOne:
		return pairSet{[]pld.Kind{pld.Amplified}, both, 1}, nil
	case sampling == SamplingFixed:
		return pairSet{}, refuse("sampling without replacement is proven for replace-one neighbours only")
	}
	return pairSet{}, refuse("unknown %v", sampling)
}

func (p pairSet) terms(steps []SampledStep, kind pld.Kind) []pld.Term {
	var terms []pld.Term
	for _, s := range steps {
		terms = append(terms, pld.Term{Kind: kind, Mu: s.Mu * p.scale, Rate: s.Rate, Count: s.Count})
	}
	return terms
}

// SampledRelease is Count integer sums over sampled records.
type SampledRelease struct {
	Release         // Sensitivity is the unsampled sum's for the relation at hand
	Rate    float64 // sampling rate, in (0, 1]
	Count   int
}

// SampledIntegerEpsilon is SampledEpsilon's upper bound for integer noise: sampling
// mixes the integer outputs with the Gaussian ones' weights, so the pointwise ratio of Theorem 3
// carries over (docs/privacy.md, section 6). Infinite where the noise is too small for it.
func SampledIntegerEpsilon(releases []SampledRelease, relation Relation, sampling Sampling, delta float64, prec pld.Precision) (float64, error) {
	var all []sampledSums
	for i, x := range releases {
		if err := x.Validate(); err != nil {
			return 0, refuse("release %d: %v", i, err)
		}
		if x.Count < 1 {
			return 0, refuse("release %d: count %d", i, x.Count)
		}
		all = append(all, sampledSums{x.sums(float64(x.Count)), x.Rate})
	}
	return sampledNearGaussian(all, relation, sampling, delta, prec)
}

type sampledSums struct {
	sums
	rate float64
}

func sampledNearGaussian(all []sampledSums, relation Relation, sampling Sampling, delta float64, prec pld.Precision) (float64, error) {
	best := math.Inf(1)
	for _, r := range []float64{1, 1.75, 3} {
		steps, d := smoothed(all, r)
		if d.low+d.high > 1 {
			continue
		}
		i, err := sampledUpper(steps, relation, sampling, delta*math.Exp(-d.high)*(1-0x1p-45), prec)
		if err != nil {
			return 0, err
		}
		best = math.Min(best, up(i+d.low+d.high))
		if d.low+d.high < 1e-9 {
			break // more rounding noise can only lose
		}
	}
	return best, nil
}

// smoothed replaces each sum's variance s by s - r, and adds up the deviations.
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
		steps = append(steps, SampledStep{Mu: mu, Rate: x.rate, Count: int(x.n)})
	}
	return steps, total
}
