package protocol

import (
	"fmt"

	"choir/privacy"
)

// The accountants that CheckPrivacy recomputes a claim with.
const (
	// AccountantInteger composes integer Gaussian noise over the plan's releases, see
	// privacy.Epsilon.
	AccountantInteger = "gaussian-integer"
	// AccountantSampled also uses the privacy losses of sampled records, see
	// privacy.SampledIntegerEpsilon. Plans with sampling name it.
	AccountantSampled = "gaussian-integer-pld"
	// AccountantShuffled composes randomised reports that a sum shuffles, see privacy.Shuffled.
	AccountantShuffled = "shuffled-response"
)

// Claims reports whether the plan claims an epsilon.
func (p *Plan) Claims() bool {
	_, noisy := p.Release()
	return noisy || p.Noise == NoiseShuffle
}

// shuffled is what an attempt reveals of one column to the worst adversary that the plan tolerates: the
// counts of the reports of at least N_min - T - 1 parties, the victim's included, besides what it knows.
func (p *Plan) shuffled() privacy.Shuffled {
	return privacy.Shuffled{Reports: p.HiddenParts() * uint64(p.Reports.Records),
		Categories: p.Reports.Categories, Gamma: p.Reports.Gamma, Keep: p.Reports.Keep}
}

// Release returns one of the plan's noisy sums as the worst adversary that the plan tolerates
// sees it: T colluding parties, one more curious party, and all compute nodes but one ([DCA],
// Theorem 1; see HiddenParts). With NoiseLocal it is one local step, seen by all other members
// together. ok is false for a plan that claims no epsilon for its noise.
func (p *Plan) Release() (r privacy.Release, ok bool) {
	if p.Noise == NoiseNone || p.Sensitivity == 0 {
		return privacy.Release{}, false
	}
	return privacy.Release{Sensitivity: p.Sensitivity, PartVariance: p.Variance,
		Parts: uint32(p.HiddenParts()), Dim: p.Dim}, true
}

// Charge returns what a number of attempts release: one sum each, or LocalSteps steps each,
// with the plan's sampling, or the reports of each column. ok is false for a plan that claims no epsilon.
//
// Columns with fewer categories than Reports has count like the others: with the same gamma, reports over
// fewer are those over more after each uniform one is sent to the two values with some probability.
func (p *Plan) Charge(attempts int) (c privacy.SampledRelease, ok bool) {
	if p.Noise == NoiseShuffle {
		return privacy.SampledRelease{Shuffled: p.shuffled(), Count: attempts * int(p.Reports.Columns)}, true
	}
	r, ok := p.Release()
	return privacy.SampledRelease{Release: r, Sampling: privacy.Sampling(p.Sampling), Rate: p.SampleRate,
		Count: attempts * int(max(1, p.LocalSteps))}, ok
}

// Spends returns an upper bound on what a number of attempts cost at the plan's delta, against
// the adversary of Release, together with those of all predecessors. ok is false if the plan claims
// no epsilon. With sampling it takes some tenths of a second.
func (p *Plan) Spends(attempts int) (b privacy.Bound, ok bool, err error) {
	c, ok := p.Charge(attempts)
	if !ok {
		return privacy.Bound{}, false, nil
	}
	releases, hidden := p.spentBefore()
	if !hidden {
		return privacy.Bound{}, true, fmt.Errorf("colluders: T = %d would have known all noise of a predecessor, "+
			"whose N_min was smaller", p.Colluders)
	}
	if attempts > 0 {
		releases = append(releases, c)
	}
	if len(releases) == 0 {
		return privacy.Bound{}, true, nil
	}
	b, err = privacy.Spent(releases, privacy.Relation(p.Relation), p.Delta, privacy.PlanPrecision())
	return b, true, err
}

// CheckPrivacy recomputes the plan's claim: all rounds and spare attempts together stay within
// (epsilon, delta). No member signs a plan that fails it, and no role starts under one.
func (p *Plan) CheckPrivacy() error {
	if err := p.checkTerms(); err != nil {
		return Fail(ClassInput, "plan: %w", err)
	}
	b, ok, err := p.Spends(p.Releases())
	if err != nil {
		return Fail(ClassInput, "plan: epsilon: %w", err)
	}
	if ok && !(b.Epsilon <= p.Epsilon) {
		return Fail(ClassInput, "plan: epsilon: %d attempts spend %.6g at delta %g, more than the plan's %.6g",
			p.Releases(), b.Epsilon, p.Delta, p.Epsilon)
	}
	return nil
}

// checkTerms checks that a claim names the neighbouring relation and the right accountant.
func (p *Plan) checkTerms() error {
	if !p.Claims() {
		return nil
	}
	if r := privacy.Relation(p.Relation); r != privacy.ReplaceOne && r != privacy.AddRemove {
		return fmt.Errorf("relation: unknown %v", r)
	}
	want := AccountantInteger
	switch {
	case p.Noise == NoiseShuffle:
		want = AccountantShuffled
	case p.Sampling != 0:
		want = AccountantSampled
	}
	if p.Accountant != want {
		return fmt.Errorf("accountant: %q is not %q", p.Accountant, want)
	}
	return nil
}
