package terms_test

import (
	"strings"
	"testing"

	"choir/privacy"
	"choir/protocol"
	"choir/session/app"
	"choir/session/internal/rig"
	"choir/session/terms"
)

// TestSumClaimsForWholeVectors: a plan for a bare sum may claim what hides a party's whole
// vector, and nobody signs one that claims for less: its accountant would be right about
// records that nothing clips.
func TestSumClaimsForWholeVectors(t *testing.T) {
	const perParty = 1 << 20
	for _, c := range []struct {
		relation    privacy.Relation
		sensitivity uint64
		change      func(*protocol.Plan)
		refused     string
	}{
		{privacy.ReplaceOne, 2 * perParty, nil, ""},
		{privacy.ReplaceOne, 2*perParty - 1, nil, "sensitivity"},
		{privacy.ReplaceOne, 1, nil, "sensitivity"},
		{privacy.AddRemove, perParty, nil, ""},
		{privacy.AddRemove, perParty - 1, nil, "sensitivity"},
		{privacy.ReplaceOne, 2 * perParty, func(p *protocol.Plan) {
			p.Noise, p.LocalSteps = protocol.NoiseLocal,
				1
		}, "neither noises nor samples"},
	} {
		list, _ := rig.Members(t, 6, 2)
		p, err := terms.Base(rig.Terms(list))
		if err != nil {
			t.Fatal(err)
		}
		p.Dim, p.FracBits, p.Clip, p.PerParty, p.Application = 3, 10, 1, perParty, app.NameSum
		p.Noise = protocol.NoiseParty
		p.Variance = 1 << 50
		p.Relation = uint8(c.relation)
		p.Sensitivity = c.sensitivity
		p.Epsilon, p.Delta, p.Accountant = 10, 1e-5, protocol.AccountantInteger
		if c.change != nil {
			c.change(p)
		}
		if err := p.Validate(); err != nil {
			t.Fatal(err)
		}
		if err := p.CheckPrivacy(); err != nil {
			t.Fatal(err)
		}
		err = terms.CheckPlan(p)
		if refused := err != nil; refused != (c.refused != "") || refused && !strings.Contains(err.Error(),
			c.refused) {
			t.Errorf("%v with sensitivity %d: %v, want %q", c.relation, c.sensitivity, err, c.refused)
		}
	}
}
