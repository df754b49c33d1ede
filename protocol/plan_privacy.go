package protocol

import (
	"fmt"

	"choir/privacy"
)

// AccountantInteger is the accountant that CheckPrivacy recomputes: integer
// Gaussian noise composed over the plan's releases, see privacy.Epsilon.
const AccountantInteger = "gaussian-integer"

// AccountantSampled is AccountantInteger with the privacy losses of sampled records,
// see privacy.SampledIntegerEpsilon. A plan with a sampling names it.
const AccountantSampled = "gaussian-integer-pld"

// Release is one of the plan's noisy sums as the worst adversary that the plan
// tolerates sees it: T colluding parties, one more curious party, and all
// compute nodes but one (Paper I, Theorem 1; HiddenParts). With NoiseLocal it is
// one local step, seen by everybody else together. ok is false for a plan that
// claims no epsilon.
func (p *Plan) Release() (r privacy.Release, ok bool) {
	if p.Noise == NoiseNone || p.Sensitivity == 0 {
		return privacy.Release{}, false
	}
	return privacy.Release{Sensitivity: p.Sensitivity, PartVariance: p.Variance,
		Parts: uint32(p.HiddenParts()), Dim: p.Dim}, true
}

// Charge is what a number of attempts release: each one sum, or LocalSteps
// steps, with the plan's sampling. ok is false for a plan that claims no epsilon.
func (p *Plan) Charge(attempts int) (c privacy.SampledRelease, ok bool) {
	r, ok := p.Release()
	return privacy.SampledRelease{Release: r, Sampling: privacy.Sampling(p.Sampling), Rate: p.SampleRate,
		Count: attempts * int(max(1, p.LocalSteps))}, ok
}

// Spends is what a number of attempts under the plan cost at the plan's delta:
// a true upper bound against the adversary of Release. ok is false when the
// plan claims nothing. With sampling it takes some tenths of a second.
func (p *Plan) Spends(attempts int) (b privacy.Bound, ok bool, err error) {
	c, ok := p.Charge(attempts)
	if !ok || attempts < 1 {
		return privacy.Bound{}, ok, nil
	}
	b, err = privacy.Spent([]privacy.SampledRelease{c}, privacy.Relation(p.Relation), p.Delta, privacy.PlanPrecision())
	return b, true, err
}

// CheckPrivacy recomputes the plan's claim: all rounds and spare attempts
// together stay within (epsilon, delta). No member signs, and no role starts
// under, a plan that claims more than its noise gives.
func (p *Plan) CheckPrivacy() error {
	if err := p.checkTerms(); err != nil {
		return Fail(ClassInput, "plan: %w", err)
	}
	b, ok, err := p.Spends(p.Releases())
	if err != nil {
		return Fail(ClassInput, "plan: epsilon: %w", err)
	}
	if ok && !(b.Epsilon <= p.Epsilon) {
		return Fail(ClassInput, "plan: epsilon: %d attempts spend %.6g at delta %g, more than the %.6g that the plan claims", p.Releases(), b.Epsilon, p.Delta, p.Epsilon)
	}
	return nil
}

// checkTerms: a claim says how neighbours are meant and who does the sums.
func (p *Plan) checkTerms() error {
	if _, ok := p.Release(); !ok {
		return nil
	}
	if r := privacy.Relation(p.Relation); r != privacy.ReplaceOne && r != privacy.AddRemove {
		return fmt.Errorf("relation: unknown %v", r)
	}
	want := AccountantInteger
	if p.Sampling != 0 {
		want = AccountantSampled
	}
	if p.Accountant != want {
		return fmt.Errorf("accountant: %q isn't %q", p.Accountant, want)
	}
	return nil
}
