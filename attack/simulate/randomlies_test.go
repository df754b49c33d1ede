package simulate

import (
	"math/rand/v2"
	"testing"

	"choir/attack/simulate/lies"
	"choir/protocol"
)

// TestRandomLies lets a coalition of a party, two of three nodes and the aggregator, or a part of it, lie at
// random in sessions with and without noise, audit and faults. Whatever honest members reveal, sign and
// charge is right, and none of them is accused.
func TestRandomLies(t *testing.T) {
	seeds := uint64(1500)
	if testing.Short() {
		seeds = 150
	}
	for seed := range seeds {
		r := rand.New(rand.NewPCG(seed, 2))
		setup := Setup{Seed: seed, Parties: 4, Computes: 3, Dim: 3, Rounds: 2, Spares: 2, MinParties: 3,
			Noise: []protocol.Placement{protocol.NoiseNone, protocol.NoiseParty, protocol.NoiseCompute}[r.IntN(3)]}
		setup.Audit = setup.Noise != protocol.NoiseCompute && r.IntN(2) == 0
		setup.Paired = r.IntN(3) == 0
		setup.Dim = max(setup.Dim, setup.digits())
		profile := Profile{} // every message arrives at once
		if r.IntN(2) == 0 {
			profile, _ = ProfileByName([]string{"calm", "lossy", "crashes", "chaos"}[r.IntN(4)])
		}
		liar, coalition := lies.New(seed), map[string]bool{}
		for len(coalition) == 0 {
			for _, who := range []string{"p0", "c0", "c1", "agg"} {
				if r.IntN(2) == 0 {
					coalition[who] = true
				}
			}
		}
		s := seams{giveUp: 3000, honest: func(i int) bool { return !coalition[setup.memberName(i)] }}
		s.machine = func(m *member, honest protocol.Machine) protocol.Machine {
			if !coalition[m.name] {
				return honest
			}
			return &cheat{Machine: honest, s: m.w.session, key: m.key, self: uint32(m.i), view: m.disk,
				change: func(c *cheat) {
					c.eff.Send = liar.Alter(c.eff.Send, func(m protocol.Message) ([]byte, error) {
						return c.s.Sign(c.key, c.self, m)
					})
				}}
		}
		w, err := newWorld(setup, profile, newChaos(seed, nil, false), s)
		if err != nil {
			t.Fatal(err)
		}
		w.run()
		for _, v := range w.oracle.violations {
			if v.Rule != "stuck" && v.Rule != "bad end" { // see indulgent
				t.Errorf("seed %d, %v, %q: %s\n%q", seed, coalition, profile.Name, v, liar.Told)
			}
		}
	}
}
