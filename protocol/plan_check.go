package protocol

import (
	"fmt"
	"math"
	"regexp"

	"choir/crypto/channel"
	"choir/crypto/commit"
	"choir/crypto/fixedpoint"
	"choir/privacy"
)

var memberName = regexp.MustCompile(`^[a-z][a-z0-9-]{0,31}$`)

// Bounds on a plan, which hold before anything is allocated for it.
const (
	maxDim        = 1 << 28
	MaxMembers    = 1 << 17
	MaxRounds     = 1 << 20
	maxLocalSteps = 1 << 16
	maxRecords    = 1 << 30 // of a party that all others count on
	maxColumns    = 1 << 10 // reports of a record
)

// Validate rejects a plan that no honest member would sign, naming the field. It checks all that
// needs no clock and no accountant: the roster, the counts and the grid's headroom. CheckPrivacy
// checks the privacy claim.
func (p *Plan) Validate() error {
	checks := []func() error{
		p.checkRoster, p.checkCounts, p.checkNoise, p.checkAudit, p.checkHeadroom, p.checkPredecessor,
		p.checkForm,
	}
	for _, check := range checks {
		if err := check(); err != nil {
			return Fail(ClassInput, "plan: %w", err)
		}
	}
	return nil
}

func (p *Plan) checkRoster() error {
	if len(p.Members) > MaxMembers {
		return fmt.Errorf("members: %d is more than %d", len(p.Members), MaxMembers)
	}
	names, keys := map[string]bool{}, map[[32]byte]bool{}
	for i, m := range p.Members {
		switch {
		case !memberName.MatchString(m.Name):
			return fmt.Errorf("members[%d]: name %q is not 1-32 of [a-z0-9-] starting with a letter", i, m.Name)
		case m.Role < RoleParty || m.Role > RoleAggregator:
			return fmt.Errorf("members[%d] (%s): no such role %d", i, m.Name, m.Role)
		case names[m.Name]:
			return fmt.Errorf("members[%d]: the name %q is used twice; each member has a card of its own", i, m.Name)
		case keys[m.Key]:
			return fmt.Errorf("members[%d] (%s): the identity key is used twice", i, m.Name)
		case i > 0 && compareMembers(p.Members[i-1], m) >= 0:
			return fmt.Errorf("members[%d] (%s): roster is not in order of role and name", i, m.Name)
		case m.NotAfter < p.NotAfter:
			return fmt.Errorf("members[%d] (%s): the identity expires before the plan does", i, m.Name)
		}
		names[m.Name], keys[m.Key] = true, true
	}
	if n := p.Parties(); n < 1 {
		return fmt.Errorf("members: no party")
	}
	if m := p.Computes(); m < 2 {
		return fmt.Errorf("members: %d compute nodes; one alone would see every contribution, so at least 2", m)
	}
	if a := p.countRole(RoleAggregator); a != 1 {
		return fmt.Errorf("members: %d aggregators, not 1", a)
	}
	return nil
}

func (p *Plan) checkCounts() error {
	n := uint32(p.Parties())
	switch {
	case p.NotAfter <= p.Created:
		return fmt.Errorf("not_after: the plan ends before it begins")
	case p.Suite != channel.SuiteHybrid && p.Suite != channel.SuiteX25519:
		return fmt.Errorf("suite: unknown cipher suite %d", p.Suite)
	case p.Dim < 1 || p.Dim > maxDim:
		return fmt.Errorf("dim: %d is not in 1..%d", p.Dim, maxDim)
	case p.FracBits > 52:
		return fmt.Errorf("frac_bits: %d is more than 52", p.FracBits)
	case p.Rounds < 1 || p.Rounds > MaxRounds:
		return fmt.Errorf("rounds: %d is not in 1..%d", p.Rounds, MaxRounds)
	case p.SpareAttempts > MaxRounds:
		return fmt.Errorf("spare_attempts: %d is more than %d", p.SpareAttempts, MaxRounds)
	case p.MinParties < 1 || p.MinParties > n:
		return fmt.Errorf("min_parties: N_min = %d is not in 1..N = %d", p.MinParties, n)
	case p.Colluders >= n:
		return fmt.Errorf("colluders: T = %d is not below N = %d", p.Colluders, n)
	case p.PerParty < p.Clip:
		return fmt.Errorf("per_party: %d is below clip = %d", p.PerParty, p.Clip)
	case p.DeadlineMS < 1 || p.GraceMS > p.DeadlineMS:
		return fmt.Errorf("deadline_ms, grace_ms: %d, %d must satisfy 0 <= grace <= deadline, deadline >= 1",
			p.DeadlineMS, p.GraceMS)
	}
	return nil
}

func (p *Plan) checkNoise() error {
	if p.Noise != NoiseShuffle && p.Reports != (Reports{}) {
		return fmt.Errorf("noise: randomised reports, but it is placed with %v", p.Noise)
	}
	switch p.Noise {
	case NoiseNone:
		return p.checkNoNoise()
	case NoiseShuffle:
		return p.checkReports()
	case NoiseParty:
		if p.HiddenParts() < 1 {
			return fmt.Errorf("noise: N_min - T - 1 = %d leaves no honest noise (N_min = %d, T = %d)",
				int64(p.MinParties)-int64(p.Colluders)-1, p.MinParties, p.Colluders)
		}
	case NoiseCompute:
	case NoiseLocal:
		if p.LocalSteps < 1 || p.LocalSteps > maxLocalSteps {
			return fmt.Errorf("local_steps: %d is not in 1..%d with noise placed locally", p.LocalSteps, maxLocalSteps)
		}
		if n := uint64(p.Releases()) * uint64(p.LocalSteps); n > 1<<31 {
			return fmt.Errorf("local_steps: %d in each of %d attempts are more releases than the accountant supports",
				p.LocalSteps, p.Releases())
		}
		if p.Sensitivity == 0 {
			return fmt.Errorf("sensitivity: 0, but noise placed locally is there for its claim alone")
		}
	default:
		return fmt.Errorf("noise: unknown placement %d", p.Noise)
	}
	if p.Variance < 1 || p.Variance > 1<<62 {
		return fmt.Errorf("variance: %d is not in 1..2^62", p.Variance)
	}
	if p.Noise != NoiseLocal && p.LocalSteps != 0 {
		return fmt.Errorf("local_steps: %d, but noise is placed with %v", p.LocalSteps, p.Noise)
	}
	if err := p.checkSampling(); err != nil {
		return err
	}
	return p.checkClaim()
}

// checkNoNoise checks that a plan without noise makes no claim, and that its exact sums hide each
// party: from T colluding ones and one more in a single sum, and in the difference of two.
func (p *Plan) checkNoNoise() error {
	if p.Variance != 0 || p.Epsilon != 0 || p.Delta != 0 || p.Sensitivity != 0 ||
		p.Sampling != 0 || p.SampleRate != 0 || p.LocalSteps != 0 {
		return fmt.Errorf("noise: placement none claims no epsilon, " +
			"so variance, sampling, local steps, sensitivity, epsilon and delta must be 0")
	}
	switch {
	case uint64(p.MinParties) < uint64(p.Colluders)+2:
		return fmt.Errorf("min_parties: without noise a sum over N_min = %d parties can show T = %d colluding "+
			"ones a single contribution; N_min must be at least T + 2: "+
			"allow fewer dropouts or colluders", p.MinParties,
			p.Colluders)
	case p.Rounds > 1 && int(p.MinParties) < p.Parties() && !p.UnsafeDifferences:
		return fmt.Errorf("rounds: without noise the difference of two rounds' sums can be one party's "+
			"contribution, as N_min = %d of N = %d parties may be counted; allow no dropouts, plan one round, or set "+
			"unsafe_differences if the contributions have nothing in common from round to round",
			p.MinParties, p.Parties())
	}
	return nil
}

// checkReports checks a plan of randomised reports: it claims an epsilon, for reports alone.
func (p *Plan) checkReports() error {
	r := p.Reports
	switch {
	case p.HiddenParts() < 1:
		return fmt.Errorf("min_parties: N_min - T - 1 = %d leaves no honest reports (N_min = %d, T = %d)",
			int64(p.MinParties)-int64(p.Colluders)-1, p.MinParties, p.Colluders)
	case p.Variance != 0 || p.Sensitivity != 0 || p.Sampling != 0 || p.SampleRate != 0 || p.LocalSteps != 0:
		return fmt.Errorf("noise: shuffled reports have no noise, so variance, sensitivity, sampling and " +
			"local steps must be 0")
	case r.Records < 1 || r.Records > maxRecords:
		return fmt.Errorf("records: %d is not in 1..%d", r.Records, maxRecords)
	case r.Columns < 1 || r.Columns > maxColumns:
		return fmt.Errorf("columns: %d is not in 1..%d", r.Columns, maxColumns)
	case uint64(p.Releases())*uint64(r.Columns) > 1<<31:
		return fmt.Errorf("columns: %d in each of %d attempts are more reports than the accountant supports",
			r.Columns, p.Releases())
	case p.Mixes() && p.Dim != 1:
		return fmt.Errorf("dim: %d, but a mix-net carries reports of 1 number", p.Dim)
	case p.Mixes() && r.MixRecords < r.Records:
		return fmt.Errorf("mix_records: %d are fewer than the %d of every party", r.MixRecords, r.Records)
	case !p.Mixes() && r.Categories > p.Dim:
		return fmt.Errorf("categories: %d are more than the plan's dim, %d", r.Categories, p.Dim)
	case !(p.Epsilon > 0) || math.IsInf(p.Epsilon, 0):
		return fmt.Errorf("epsilon: %v is not positive", p.Epsilon)
	case !(p.Delta >= privacy.MinDelta && p.Delta < 1):
		return fmt.Errorf("delta: %v is not in [%g, 1)", p.Delta, privacy.MinDelta)
	}
	if err := p.shuffled().Validate(); err != nil || !p.Mixes() {
		return err
	}
	return p.CheckMix()
}

// checkSampling checks that a rate is given exactly with a sampling, and both only with a claim.
func (p *Plan) checkSampling() error {
	s := privacy.Sampling(p.Sampling)
	switch {
	case s > privacy.SamplingFixed:
		return fmt.Errorf("sampling: unknown number %d", p.Sampling)
	case s == privacy.SamplingNone && p.SampleRate != 0:
		return fmt.Errorf("sample_rate: %v without sampling", p.SampleRate)
	case s != privacy.SamplingNone && !(p.SampleRate > 0 && p.SampleRate <= 1):
		return fmt.Errorf("sample_rate: %v is not in (0, 1]", p.SampleRate)
	case s == privacy.SamplingFixed && privacy.Relation(p.Relation) == privacy.AddRemove:
		return fmt.Errorf("sampling: without replacement is proven for replace-one neighbours only")
	case s != privacy.SamplingNone && p.Sensitivity == 0:
		return fmt.Errorf("sampling: without a sensitivity there is no claim that it could strengthen")
	}
	return nil
}

// checkClaim checks that the claim is complete or absent. Without a claim the plan may have
// noise, but no epsilon is reported.
func (p *Plan) checkClaim() error {
	if p.Sensitivity == 0 && p.Epsilon == 0 && p.Delta == 0 {
		return nil
	}
	switch {
	case p.Clip < 1:
		return fmt.Errorf("clip: 0 bounds nothing, so it hides nothing")
	case p.Sensitivity < p.Clip && p.Noise != NoiseLocal:
		return fmt.Errorf("sensitivity: %d is below the clip %d of a single term", p.Sensitivity, p.Clip)
	case !(p.Epsilon > 0) || math.IsInf(p.Epsilon, 0):
		return fmt.Errorf("epsilon: %v is not positive", p.Epsilon)
	case !(p.Delta > 0 && p.Delta < 1):
		return fmt.Errorf("delta: %v is not in (0, 1)", p.Delta)
	}
	return nil
}

// checkAudit rejects audit mode with noise by compute nodes: the commitments are to what the
// parties sent, and would not open to a sum with other noise.
func (p *Plan) checkAudit() error {
	switch {
	case !p.Audit:
		return nil
	case p.Noise == NoiseCompute:
		return fmt.Errorf("audit: the aggregate cannot open the commitments if compute nodes add the noise")
	case p.Elements() > commit.MaxDimension:
		return fmt.Errorf("audit: %d elements are more than a commitment's %d", p.Elements(), commit.MaxDimension)
	case p.Computes() > commit.MaxShares:
		return fmt.Errorf("audit: %d compute nodes are more than the %d shares of a blinding scalar",
			p.Computes(), commit.MaxShares)
	}
	return nil
}

// checkForm checks that the plan and the largest messages under it can be encoded.
func (p *Plan) checkForm() error {
	b, err := p.Marshal()
	if err != nil {
		return err
	}
	if len(b) > maxBlob {
		return fmt.Errorf("the encoding has %d bytes, more than %d", len(b), maxBlob)
	}
	n, m := p.Parties(), p.Computes()
	fixed := 4*5 + 1 + 3*32 + sealedScalarSize + len(SealedTrace{})
	if size := fixed + 36*n + 32*m + 32*Bind(p).Chunks(); size > maxSetBody {
		return fmt.Errorf("members: a result with %d parties has %d bytes, more than a message's %d",
			n, size, maxSetBody)
	}
	if size := 4*4 + 3*32 + 16*m + 32 + sealedScalarSize*m; size > maxBody {
		return fmt.Errorf("members: a contribution to %d compute nodes has %d bytes, more than a message's %d",
			m, size, maxBody)
	}
	return nil
}

// checkHeadroom rejects a grid on which a sum could wrap around the field with a probability
// above 2^-40 over the whole plan.
func (p *Plan) checkHeadroom() error {
	if err := p.headroom().Check(); err != nil {
		return fmt.Errorf("frac_bits: %w", err)
	}
	return nil
}

// headroom describes the largest sum under the plan. With NoiseCompute the sum has the noise of
// M nodes.
func (p *Plan) headroom() fixedpoint.Headroom {
	h := fixedpoint.Headroom{
		Parties: p.Parties(), PerParty: p.PerParty, NoiseVariance: p.Variance,
		Dim: int(p.Dim), Rounds: p.Releases(), Paired: p.Paired,
	}
	switch p.Noise {
	case NoiseCompute:
		h.Parties = max(h.Parties, p.Computes())
	case NoiseLocal: // the noise is part of the contributions, which are clipped
		h.NoiseVariance = 0
	}
	return h
}

// SumLimit bounds an aggregate, in grid units.
type SumLimit struct {
	Coordinate uint64 // largest magnitude of a coordinate
	Norm       uint64 // largest L2 norm
}

// AnySum is the limit that every sum of elements is within.
var AnySum = SumLimit{math.MaxInt64, math.MaxUint64}

// MaxSum bounds an aggregate, each of the two bounds except with probability 2^-40 over the plan: it is what
// N clipped updates and the noise of the whole sum can reach. A decoded aggregate beyond it is an
// overflow or a fault and is rejected. To check it is post-processing of the aggregate.
func (p *Plan) MaxSum() (SumLimit, error) {
	h := p.headroom()
	if err := h.Check(); err != nil { // if it passes, the coordinates' bound does not overflow
		return SumLimit{}, Fail(ClassInput, "plan: %w", err)
	}
	limit := SumLimit{Coordinate: h.PerParty * uint64(h.Parties)}
	limit.Norm = p.PerParty * uint64(p.Parties()) // the L2 norm of each update is at most PerParty
	if h.NoiseVariance != 0 {
		limit.Coordinate += h.Tail()
		if tail := h.NormTail(); tail > math.MaxUint64-limit.Norm {
			limit.Norm = math.MaxUint64
		} else {
			limit.Norm += tail
		}
	}
	return limit, nil
}

// Reach is how far one dishonest party can move an aggregate that is accepted, as an L2 norm in multiples
// of what an honest one can, PerParty: by the check of each coordinate alone, and with that of the norm.
// An attack cancels what the other parties and the noise add, so that the sum stays within the limit.
func (p *Plan) Reach() (coordinates, norm float64, err error) {
	limit, err := p.MaxSum()
	if err != nil {
		return 0, 0, err
	}
	one := float64(max(p.PerParty, 1))
	coordinates = 2 * float64(limit.Coordinate) * math.Sqrt(float64(p.Dim)) / one
	norm = 2*float64(limit.Norm)/one - 1 // the others' updates and the noise reach the limit less one update
	return coordinates, min(norm, coordinates), nil
}
