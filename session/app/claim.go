package app

import (
	"errors"
	"fmt"
	"math"

	"choir/crypto/fixedpoint"
	"choir/learn/pvi"
	"choir/privacy"
	"choir/protocol"
)

// CheckClaim checks that the plan's numbers and its privacy claim cover what the
// application releases.
func CheckClaim(p *protocol.Plan, a Spec) error {
	if err := checkSuccessor(p, a); err != nil {
		return err
	}
	if err := a.Check(p); err != nil {
		return err
	}
	dim, bits := a.Size()
	switch {
	case dim != int(p.Dim):
		return fmt.Errorf("the model has %d numbers, the plan's dim is %d", dim, p.Dim)
	case bits != p.FracBits:
		return fmt.Errorf("frac_bits is %d, the plan's is %d", bits, p.FracBits)
	}
	m, err := a.Mechanism()
	if err != nil {
		if p.Noise == protocol.NoiseNone && errors.Is(err, pvi.ErrUnbounded) {
			return nil
		}
		return err
	}
	return checkMechanism(p, a, m)
}

// checkMechanism checks that the plan's claim is computed for the mechanism.
func checkMechanism(p *protocol.Plan, a Spec, m pvi.Mechanism) error {
	if m.PerParty > p.PerParty || m.Clip > p.Clip {
		return fmt.Errorf("one term reaches %d grid units and one party's sum %d; "+
			"the plan's clip and per_party, %d and %d, don't cover that", m.Clip, m.PerParty, p.Clip, p.PerParty)
	}
	if p.Noise == protocol.NoiseNone {
		return nil
	}
	if _, ok := a.(*Shuffle); ok {
		return nil // Check has compared the reports
	}
	steps := uint32(0)
	if m.Local {
		steps = uint32(m.Steps)
	}
	sampling, rate := samplingOf(m)
	switch {
	case p.Noise == protocol.NoiseShuffle:
		return fmt.Errorf("noise: only the application %q randomises reports, not %q: leave noise out",
			NameShuffle, a.Name())
	case m.Local != (p.Noise == protocol.NoiseLocal):
		return fmt.Errorf("the method's noise is %s, the plan's is placed with %v", placement(m), p.Noise)
	case privacy.Relation(p.Relation) != privacy.ReplaceOne:
		return fmt.Errorf("the plan's epsilon is for %v neighbours, the method's bound for replace-one: a record "+
			"that is taken out moves those after it to other shards, or between learning and evaluation",
			privacy.Relation(p.Relation))
	case m.Sensitivity > p.Sensitivity:
		return fmt.Errorf("one record moves a release by %d grid units; "+
			"the plan's sensitivity, %d, doesn't cover that", m.Sensitivity, p.Sensitivity)
	case m.Dim > int(p.Dim):
		return fmt.Errorf("a release has %d coordinates, the plan accounts for %d", m.Dim, p.Dim)
	case steps != p.LocalSteps:
		return fmt.Errorf("the method noises %d steps a round, the plan accounts for %d", steps, p.LocalSteps)
	case uint8(sampling) != p.Sampling || rate != p.SampleRate:
		return fmt.Errorf("the method samples records by %v at rate %v, the plan accounts for %v at %v",
			sampling, rate, privacy.Sampling(p.Sampling), p.SampleRate)
	}
	return nil
}

// cutTail is how many deviations of the noise are below the bound on what a party sends, besides those of
// its norm's mean, so that it is cut with a probability below exp(-800) in an attempt.
const cutTail = 40

// Summed reports whether a plan with local noise lets its sums alone speak: every contribution is one noised
// release, which the bound on it practically never cuts, and depends on nothing else but public values and
// the party's data. A coalition without all compute nodes then faces the noise of all honest parties in the
// set. In a plan of one round no update depends on earlier noise. In a chain of plans all of them must be so.
func Summed(p *protocol.Plan) bool {
	if p.Noise != protocol.NoiseLocal || p.After != nil && !Summed(p.After.Plan) {
		return false
	}
	l, err := PVIOf(p)
	if err != nil {
		return false
	}
	m, err := l.PVI.Mechanism()
	if err != nil || !m.Summed || m.Released && (p.Rounds > 1 || p.After != nil) {
		return false
	}
	whole, err := l.PVI.Sensitivity(pvi.ReplaceParty) // twice the norm before the noise
	tail := math.Sqrt(float64(p.Variance)) * (math.Sqrt(float64(p.Dim)) + cutTail)
	return err == nil && float64(m.PerParty) >= float64(whole)/2+tail
}

// PartySensitivity bounds how far two data sets of one party are apart in a sum of any round, in grid units,
// and 0 where no bound is known. Rounds of an evaluation that count a party's held-out records one by one
// have none that is like one record's.
func PartySensitivity(p *protocol.Plan) uint64 {
	l, err := PVIOf(p)
	if err != nil {
		return 0
	}
	s, err := l.PVI.Sensitivity(pvi.ReplaceParty)
	if err != nil {
		return 0
	}
	if l.Evaluation != nil {
		m, err := l.innerMechanism()
		if err != nil {
			return 0
		}
		s = max(s, l.Evaluation.Whole(m.Sensitivity))
	}
	return s
}

// Exposed reports whether, under a plan with local noise, no smaller epsilon than that of a party's own noise
// holds for who sees sums alone, because terms are single records': other parties may have so many that the
// bound on what a party sends leaves nothing of their noise.
func Exposed(p *protocol.Plan) bool {
	l, err := PVIOf(p)
	if err != nil || p.Noise != protocol.NoiseLocal {
		return false
	}
	m, err := l.PVI.Mechanism()
	return err == nil && !m.Summed
}

// placement describes where the method adds its noise.
func placement(m pvi.Mechanism) string {
	if m.Local {
		return "every party's own (local)"
	}
	return "joint, on the sum"
}

// samplingOf converts between the packages' names.
func samplingOf(m pvi.Mechanism) (privacy.Sampling, float64) {
	switch m.Sampling {
	case pvi.SamplingPoisson:
		return privacy.SamplingPoisson, m.SampleRate
	case pvi.SamplingFixed:
		return privacy.SamplingFixed, m.SampleRate
	}
	return privacy.SamplingNone, 0
}

// Cover sets the plan's claim to cover what the application releases.
func Cover(p *protocol.Plan, a Spec) error {
	m, err := a.Mechanism()
	switch {
	case errors.Is(err, pvi.ErrUnbounded) && p.Noise == protocol.NoiseNone:
		p.Clip, p.PerParty = 0, unclippedBound(p)
		return nil
	case errors.Is(err, pvi.ErrUnbounded):
		return fmt.Errorf("clip: a private plan needs one above 0")
	case err != nil:
		return err
	}
	p.Clip, p.PerParty = m.Clip, max(m.Clip, m.PerParty)
	if p.Noise == protocol.NoiseNone {
		return nil
	}
	if s, ok := a.(*Shuffle); ok {
		if p.Noise != protocol.NoiseShuffle {
			return fmt.Errorf("noise: reports are randomised by themselves, their noise can't be placed "+
				"with %v: leave noise out", p.Noise)
		}
		p.Reports, err = s.Reports()
		return err
	}
	if p.Noise == protocol.NoiseShuffle {
		return fmt.Errorf("only the application %q randomises reports, not %q", NameShuffle, a.Name())
	}
	if m.Local != (p.Noise == protocol.NoiseLocal) {
		return fmt.Errorf("noise: the method's noise is %s, it can't be placed with %v: leave noise out",
			placement(m), p.Noise)
	}
	sampling, rate := samplingOf(m)
	p.Sensitivity = m.Sensitivity
	p.Sampling = uint8(sampling)
	p.SampleRate = rate
	if m.Local {
		p.LocalSteps = uint32(m.Steps)
	}
	return nil
}

// unclippedBound is a bound on one party for which the field has just headroom.
func unclippedBound(p *protocol.Plan) uint64 {
	if p.Paired {
		return fixedpoint.MaxPaired / uint64(p.Parties())
	}
	return (1 << 62) / uint64(p.Parties())
}
