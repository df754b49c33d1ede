package terms

import (
	"math"
	"time"

	"choir/crypto/channel"
	"choir/crypto/identity"
	"choir/privacy"
	"choir/protocol"
	"choir/session/app"
)

// Terms are what people decide about a plan. Plan computes the rest: the grid, the
// noise, the bounds.
type Terms struct {
	Name     string
	Members  []protocol.Member // any order
	Created  time.Time
	Lifetime time.Duration
	Suite    channel.Suite // 0: hybrid

	Rounds        int
	SpareAttempts int
	Dropouts      int // N_min = N - Dropouts
	Colluders     int // T
	Deadline      time.Duration
	Grace         time.Duration
	Paired        bool // two coordinates share a field element
	Audit         bool // every sum is opened against the parties' commitments

	Noise protocol.Placement
	// UnsafeDifferences allows several rounds over different sets without noise.
	UnsafeDifferences bool
	Epsilon           float64 // with noise
	Delta             float64
}

// base returns the part of the plan that does not depend on the application.
func (t Terms) base() (*protocol.Plan, error) {
	p := &protocol.Plan{
		Name: t.Name, Created: t.Created.Unix(), NotAfter: t.Created.Add(t.Lifetime).Unix(), Suite: t.Suite,
		Members: append([]protocol.Member(nil),
			t.Members...), Rounds: uint32(t.Rounds), SpareAttempts: uint32(t.SpareAttempts),
		Colluders: uint32(t.Colluders), DeadlineMS: uint32(t.Deadline.Milliseconds()),
		GraceMS: uint32(t.Grace.Milliseconds()),
		Noise:   t.Noise, Paired: t.Paired, Audit: t.Audit, UnsafeDifferences: t.UnsafeDifferences,
	}
	if p.Suite == 0 {
		p.Suite = channel.SuiteHybrid
	}
	p.SortMembers()
	for i := range p.Members {
		if p.Members[i].NotAfter == 0 {
			p.Members[i].NotAfter = p.NotAfter
		}
	}
	switch n := p.Parties(); {
	case t.Deadline.Milliseconds() > math.MaxUint32 || t.Grace.Milliseconds() > math.MaxUint32:
		return nil, protocol.Fail(protocol.ClassInput,
			"deadline, grace: %v, %v: more than 1193h can't be waited for", t.Deadline, t.Grace)
	case t.Dropouts < 0 || t.Dropouts >= n:
		return nil, protocol.Fail(protocol.ClassInput, "dropouts: %d isn't in 0..%d", t.Dropouts, n-1)
	case t.Colluders < 0 || t.Colluders >= n:
		return nil, protocol.Fail(protocol.ClassInput, "colluders: %d isn't in 0..%d", t.Colluders, n-1)
	case t.Rounds < 1 || t.Rounds > protocol.MaxRounds:
		return nil, protocol.Fail(protocol.ClassInput, "rounds: %d isn't in 1..%d", t.Rounds, protocol.MaxRounds)
	case t.SpareAttempts < 0 || t.SpareAttempts > protocol.MaxRounds:
		return nil, protocol.Fail(protocol.ClassInput, "spare attempts: %d isn't in 0..%d", t.SpareAttempts,
			protocol.MaxRounds)
	default:
		p.MinParties = uint32(n - t.Dropouts)
	}
	return p, nil
}

// calibrate computes the noise for the budget, divided over the contributors that are
// hidden in the worst tolerated case ([DCA], Theorem 1), or enters what reports claim.
func (t Terms) calibrate(p *protocol.Plan) error {
	if t.Noise == protocol.NoiseNone {
		return nil
	}
	if t.Noise == protocol.NoiseShuffle {
		return t.account(p)
	}
	p.Epsilon = t.Epsilon
	p.Delta = t.Delta
	p.Relation = uint8(privacy.ReplaceOne)
	p.Accountant = protocol.AccountantInteger
	if p.Sampling != 0 {
		p.Accountant = protocol.AccountantSampled
	}
	parts := p.HiddenParts()
	if parts < 1 {
		return protocol.Fail(protocol.ClassInput,
			"colluders, dropouts: N_min - T - 1 = %d leaves no honest noise (N = %d, dropouts = %d, T = %d)",
			int64(p.MinParties)-int64(p.Colluders)-1, p.Parties(), t.Dropouts, t.Colluders)
	}
	releases := uint64(p.Releases()) * uint64(max(1, p.LocalSteps))
	if releases > 1<<31 {
		return protocol.Fail(protocol.ClassInput, "rounds, steps: %d releases are more than an accountant computes",
			releases)
	}
	if t.Epsilon == 0 || t.Delta == 0 {
		return protocol.Fail(protocol.ClassInput,
			"epsilon, delta: both must be named and above 0, such as epsilon = 1.0 and delta = 1e-5")
	}
	n, err := privacy.Calibrate(privacy.Target{Epsilon: t.Epsilon, Delta: t.Delta, Sensitivity: p.Sensitivity,
		Dim:      p.Dim,
		Releases: uint32(releases), Parts: uint32(parts), Sampling: privacy.Sampling(p.Sampling),
		Rate: p.SampleRate, Relation: privacy.Relation(p.Relation)})
	if err != nil {
		return protocol.Fail(protocol.ClassInput, "epsilon, delta: %w", err)
	}
	p.Variance = n.PartVariance
	return nil
}

func finished(p *protocol.Plan) (*protocol.Plan, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	if err := CheckGrid(p); err != nil {
		return nil, err
	}
	return p, p.CheckPrivacy()
}

// Plan returns the plan of an application. Its claim is exactly what the application's
// mechanism needs. protocol.NoiseLocal places noise on every party's steps, the other
// placements on the sum; a placement that the method does not have is refused.
func (t Terms) Plan(a app.Spec) (*protocol.Plan, error) {
	p, err := t.base()
	if err != nil {
		return nil, err
	}
	dim, bits := a.Size()
	p.Dim, p.FracBits, p.Application = uint32(dim), bits, a.Name()
	if p.Parameters, err = a.Marshal(); err != nil {
		return nil, err
	}
	if _, err := app.Parse(p.Application, p.Parameters); err != nil {
		return nil, protocol.Fail(protocol.ClassInput, "%w", err)
	}
	if err := app.Cover(p, a); err != nil {
		return nil, protocol.Fail(protocol.ClassInput, "%w", err)
	}
	if err := t.calibrate(p); err != nil {
		return nil, err
	}
	if err := app.CheckClaim(p, a); err != nil {
		return nil, protocol.Fail(protocol.ClassInput, "%w", err)
	}
	return finished(p)
}

// Learn returns the plan of DP-PVI. Its grid (pvi.frac_bits) is chosen if it is 0.
func (t Terms) Learn(l app.PVI) (*protocol.Plan, error) {
	l.Version = 1
	if l.PVI.FracBits == 0 {
		l.PVI.FracBits = GridFor(l.PVI.Clip)
	}
	return t.Plan(&l)
}

// GridFor returns the resolution, in binary digits after the point, on which a clip is
// about 2^20 grid units: rounding is a millionth of the clip, far below the noise.
func GridFor(clip float64) uint8 {
	if !(clip > 0) {
		return 24
	}
	return uint8(max(4, min(30, 20-math.Floor(math.Log2(clip)))))
}

// SumTerms are the terms of a secure sum of vectors.
type SumTerms struct {
	Dim      int
	FracBits uint8
	PerParty uint64  // bound on one party's vector, grid units, L2
	Sigma    float64 // standard deviation of the noise on the sum in the inputs' unit; 0: none
}

// Sum returns the plan of one secure sum. It claims no epsilon for its noise, since
// the sensitivity of the rows is unknown. Sigma is divided over the parties so that
// the noise of any N_min - T - 1 of them suffices ([DCA], Theorem 1).
func (t Terms) Sum(s SumTerms) (*protocol.Plan, error) {
	t.Rounds, t.SpareAttempts, t.Noise = 1, 0, protocol.NoiseNone
	p, err := t.base()
	if err != nil {
		return nil, err
	}
	p.Dim, p.FracBits, p.PerParty, p.Application = uint32(s.Dim), s.FracBits, s.PerParty, app.NameSum
	if s.Sigma != 0 {
		if err := s.noise(p); err != nil {
			return nil, err
		}
	}
	return finished(p)
}

func (s SumTerms) noise(p *protocol.Plan) error {
	p.Noise = protocol.NoiseParty
	parts := p.HiddenParts()
	if parts < 1 {
		return protocol.Fail(protocol.ClassInput,
			"sigma: %d parties can't share noise that hides one of them from another; it takes at least 2 more "+
				"than may collude", p.Parties())
	}
	v := math.Ceil(math.Ldexp(s.Sigma, int(s.FracBits)) * math.Ldexp(s.Sigma, int(s.FracBits)) / float64(parts))
	if !(s.Sigma > 0) || !(v >= 1 && v <= 1<<62) {
		return protocol.Fail(protocol.ClassInput,
			"sigma: %v isn't a positive standard deviation that the grid 2^-%d can carry", s.Sigma, s.FracBits)
	}
	p.Variance = uint64(v)
	return nil
}

// NewMember returns the roster entry of a new identity.
func NewMember(name string, role protocol.Role, key identity.PublicKey) protocol.Member {
	return protocol.Member{Name: name, Role: role, Key: key}
}
