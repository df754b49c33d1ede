package collude

import (
	"fmt"
	"math"

	"choir/learn/response"
	"choir/privacy"
	"choir/protocol"
	"choir/session/app"
)

// Target is the terms of a session under attack.
type Target struct {
	Name       string             `json:"name"`        // for people
	Parties    int                `json:"parties"`     // N, at least 2
	Nodes      int                `json:"nodes"`       // M, at least 2
	MinParties int                `json:"min_parties"` // N_min
	Colluders  int                `json:"colluders"`   // T
	Rounds     int                `json:"rounds"`
	Noise      protocol.Placement `json:"noise"`
	Epsilon    float64            `json:"epsilon"` // the budget
	Delta      float64            `json:"delta"`
	Relation   privacy.Relation   `json:"relation"`

	Sensitivity uint64           `json:"sensitivity"`    // of a sum, for one record, grid units
	Variance    uint64           `json:"variance"`       // of one contributor's noise, squared units
	Dim         uint32           `json:"dim"`            // of the plan's sums
	Spares      int              `json:"spare_attempts"` // further attempts that the claim covers
	Steps       int              `json:"steps"`          // noised steps of a contribution, else 1
	Sampling    privacy.Sampling `json:"sampling"`
	Rate        float64          `json:"sample_rate"`
	// Summed reports, for local noise, that a sum hides the noise of all honest parties in it
	// (privacy.LayerTerms).
	Summed bool `json:"summed"`
	// Exposed reports, for local noise, that other parties' data can leave the victim's noise alone in a sum
	// (privacy.LayerTerms).
	Exposed   bool `json:"exposed"`
	Unclaimed bool `json:"unclaimed"` // the plan claims no epsilon
	// Reports are the shuffled reports that a plan reveals in place of noisy sums; else nil.
	Reports *protocol.Reports `json:"reports,omitempty"`
	// Noisy is the noise of reports that have it in the place of randomised response.
	Noisy *response.Noise `json:"noisy_reports,omitempty"`
}

// sensitivity is that of a Target that no plan gives: two clips of 2^20 grid units.
const sensitivity = 2 << 20

// NewTarget returns t with the noise that its budget needs, for sums of one coordinate.
func NewTarget(t Target) (Target, error) {
	t.Dim, t.Steps, t.Relation, t.Sensitivity = 1, 1, privacy.ReplaceOne, sensitivity
	t.Summed = t.Noise == protocol.NoiseLocal
	if err := t.check(); err != nil {
		return t, err
	}
	parts := t.MinParties - t.Colluders - 1
	if t.Noise != protocol.NoiseParty {
		parts = 1
	}
	if parts < 1 {
		return t, protocol.Fail(protocol.ClassInput,
			"colluders, dropouts: N_min - T - 1 = %d leaves no honest noise", parts)
	}
	n, err := privacy.Calibrate(privacy.Target{Epsilon: t.Epsilon, Delta: t.Delta, Sensitivity: t.Sensitivity,
		Dim: t.Dim, Releases: uint32(t.Rounds), Parts: uint32(parts), Relation: t.Relation})
	if err != nil {
		return t, protocol.Fail(protocol.ClassInput, "epsilon, delta: %w", err)
	}
	t.Variance = n.PartVariance
	return t, nil
}

// TargetOf returns the terms of a plan. Where it claims no epsilon, what one record may change is not stated
// either: the record is then all that a party sends, as far as its bound allows.
func TargetOf(p *protocol.Plan) (Target, error) {
	t := Target{Name: p.ID().String(), Parties: p.Parties(), Nodes: p.Computes(), MinParties: int(p.MinParties),
		Colluders: int(p.Colluders), Rounds: int(p.Rounds), Noise: p.Noise, Epsilon: p.Epsilon, Delta: p.Delta,
		Relation: privacy.Relation(p.Relation), Sensitivity: p.Sensitivity, Variance: p.Variance, Dim: p.Dim,
		Spares: int(p.SpareAttempts), Steps: int(max(1, p.LocalSteps)),
		Sampling: privacy.Sampling(p.Sampling), Rate: p.SampleRate, Summed: app.Summed(p),
		Exposed: app.Exposed(p)}
	if p.Noise == protocol.NoiseShuffle {
		t.Reports, t.Noisy = &p.Reports, noisyReports(p)
	}
	if !p.Claims() {
		t.Unclaimed, t.Delta, t.Relation, t.Dim = true, unclaimedDelta, privacy.ReplaceOne, 1
		t.Sensitivity = 2 * min(p.PerParty, mostPerParty)
		if t.Sensitivity == 0 || t.Noise == protocol.NoiseNone {
			t.Sensitivity = sensitivity
		}
	}
	return t, t.check()
}

// The terms of a plan that claims no epsilon: the delta at which one is measured, and the largest bound on a
// party's vector that attacks on sums reach.
const (
	unclaimedDelta = 1e-5
	mostPerParty   = 1 << 40
)

// budget is the plan's epsilon, or 1 without one. Controls must show more.
func (t Target) budget() float64 {
	if t.Unclaimed {
		return 1
	}
	return t.Epsilon
}

func (t Target) check() error {
	switch {
	case t.Parties < 2 || t.Parties > maxMembers:
		return protocol.Fail(protocol.ClassInput, "parties: %d isn't in 2..%d", t.Parties, maxMembers)
	case t.Nodes < 2 || t.Nodes > maxMembers:
		return protocol.Fail(protocol.ClassInput, "nodes: %d isn't in 2..%d", t.Nodes, maxMembers)
	case t.MinParties < 1 || t.MinParties > t.Parties:
		return protocol.Fail(protocol.ClassInput, "dropouts: %d parties can't be missing of %d",
			t.Parties-t.MinParties, t.Parties)
	case t.Colluders < 0 || t.Colluders >= t.Parties:
		return protocol.Fail(protocol.ClassInput, "colluders: T = %d isn't in 0..%d", t.Colluders, t.Parties-1)
	case t.Rounds < 1 || t.Rounds > maxRounds:
		return protocol.Fail(protocol.ClassInput, "rounds: %d isn't in 1..%d", t.Rounds, maxRounds)
	}
	return nil
}

// Sessions of more are beyond what one machine runs in minutes.
const (
	maxMembers = 200
	maxRounds  = 1000
)

// Check refuses a coalition that the session doesn't have.
func (t Target) Check(c Coalition) error {
	switch {
	case c.Parties >= t.Parties:
		return badCoalition("%d of %d parties leave no victim", c.Parties, t.Parties)
	case c.Nodes > t.Nodes:
		return badCoalition("%d compute nodes of %d", c.Nodes, t.Nodes)
	}
	return nil
}

// tolerated reports whether the plan keeps its promises against a coalition: at most T parties
// and one more, and not all compute nodes.
func (t Target) tolerated(c Coalition) bool {
	return !t.Unclaimed && (t.Noise == protocol.NoiseLocal ||
		c.Nodes < t.Nodes && c.Parties <= t.Colluders+1)
}

// hidden is the number of noise terms in a sum of a number of parties that a coalition can't
// subtract; for all compute nodes together, those in the victim's own contribution.
func (t Target) hidden(c Coalition, set int) int {
	switch {
	case t.Noise == protocol.NoiseNone:
		return 0
	case t.Noise == protocol.NoiseLocal && t.Summed && c.Nodes < t.Nodes:
		return max(1, set-c.Parties)
	case t.Noise == protocol.NoiseLocal:
		return 1
	case t.Noise == protocol.NoiseCompute:
		return t.Nodes - c.Nodes
	case c.Nodes == t.Nodes:
		return 1
	}
	return max(0, set-c.Parties)
}

// claim is the epsilon that the accountant gives for one record against a coalition that sees
// sums over sets of the given size, +Inf if no noise is hidden from it.
func (t Target) claim(c Coalition, set int) (float64, error) {
	if !c.seesSums() && c.Nodes < t.Nodes {
		return 0, nil
	}
	parts := t.hidden(c, set)
	if parts == 0 || t.Unclaimed {
		return math.Inf(1), nil
	}
	r := privacy.SampledRelease{Release: privacy.Release{Sensitivity: t.Sensitivity, PartVariance: t.Variance,
		Parts: uint32(parts), Dim: t.Dim}, Sampling: t.Sampling, Rate: t.Rate,
		Count: (t.Rounds + t.Spares) * t.Steps}
	b, err := privacy.Spent([]privacy.SampledRelease{r}, t.Relation, t.Delta, privacy.PlanPrecision())
	return b.Epsilon, err
}

// reason explains a claim of local noise that is not about the coalition: if a party's later updates depend
// on its own noise, no smaller one is proven for the sums than for the party's releases, which all compute
// nodes together see. It is empty for other claims.
func (t Target) reason(c Coalition, set int) string {
	if t.Noise != protocol.NoiseLocal || t.Summed || t.Exposed || c.Nodes == t.Nodes || set-c.Parties < 2 {
		return ""
	}
	return fmt.Sprintf("the claim of local noise is for all %d compute nodes together, who see the "+
		"victim's own noised update; this coalition sees a sum that hides the noise of %d parties, and no smaller "+
		"claim is proven for it, because updates depend on the party's earlier noise: the claim is not known to "+
		"be tight. Add the other nodes to the coalition for a measurement of it", t.Nodes, set-c.Parties)
}
