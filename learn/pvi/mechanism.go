package pvi

import (
	"errors"
	"fmt"
)

// ErrUnproven: no bound on what a configuration reveals is proven.
var ErrUnproven = errors.New("no privacy bound is proven for this configuration")

// Mechanism describes what a round releases under noise, for plans and accounting.
// Neighbours are those of ReplaceRecord. Every round is Steps releases of an integer vector
// of Dim coordinates, in units of 2^-FracBits, to each coordinate of which discrete
// Gaussian noise of the plan's variance is added.
type Mechanism struct {
	// Local: every party adds noise to its own releases, its update is post-processing of
	// them, and nothing is added to the sum over parties. A record is at one party, so the
	// parties' costs do not add up: the hidden noise is that party's only. Otherwise the
	// release is the sum over all parties, with joint noise.
	Local bool
	// Summed, with Local: a party sends its one release of a round itself, cut to PerParty. Unless releases
	// depend on the party's earlier ones, the sum over parties, seen alone, hides the noise of all of them
	// (docs/methods.md, section 4).
	Summed bool
	// Released: a release depends on the party's own earlier ones.
	Released bool
	// Clip is the L2 bound of one term before it is summed.
	Clip uint64
	// Sensitivity is the L2 distance of the unsampled releases of two neighbours, given
	// everything released before: 2 Clip.
	Sensitivity uint64
	Dim         int // coordinates that are noised in one release
	Steps       int // releases in a round, at least 1
	// Sampling and SampleRate determine how records enter a release.
	Sampling   Sampling
	SampleRate float64
	// perParty bounds the L2 norm of what a party sends, before the noise of a
	// joint placement and after that of a local one.
	PerParty uint64
}

// Mechanism returns the configuration's mechanism; docs/methods.md has the theorems.
// Errors: ErrUnbounded without clipping, ErrUnproven for private noise in private factors
// under joint noise, which is published but less private than claimed
// (docs/noisy-factors.md), ErrConfig, ErrOverflow.
func (c Config) Mechanism() (Mechanism, error) {
	if err := c.Validate(); err != nil {
		return Mechanism{}, err
	}
	p := c.params()
	if c.Factors == FactorsNoisy && !p.Local {
		return Mechanism{}, fmt.Errorf("factors \"noisy\" under joint noise: %w", ErrUnproven)
	}
	m := Mechanism{Local: p.Local, Summed: p.Local && !c.traits().records, Released: c.Released(),
		Dim: c.Dim(), Steps: 1, Sampling: p.Sampling, SampleRate: p.SampleRate}
	var err error
	if m.Clip, err = c.bound(1); err != nil {
		return Mechanism{}, err
	}
	if m.Sensitivity, err = c.Sensitivity(ReplaceRecord); err != nil {
		return Mechanism{}, err
	}
	if m.PerParty, err = c.perParty(); err != nil {
		return Mechanism{}, err
	}
	if t := c.traits(); t.records && t.iterative {
		m.Steps = p.Steps
	}
	return m, nil
}

// clipUnits returns the integer bound of one term. A mean over shards is a sum of terms
// that were divided before they were clipped.
func (c Config) clipUnits() (uint64, error) {
	clip := c.Clip
	if a, ok := c.Strategy.(Averaging); ok {
		clip /= float64(a.Shards)
	}
	return c.grid().IntBound(clip)
}
