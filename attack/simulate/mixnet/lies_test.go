package mixnet

import (
	"math/rand/v2"
	"testing"

	"choir/attack/simulate/lies"
	"choir/protocol"
)

// TestRandomLies lets a member lie at random. No honest member is suspected unless the aggregator lies, no
// honest node opens what not all have signed, and without a lying aggregator the session ends with a
// transcript that verifies.
func TestRandomLies(t *testing.T) {
	seeds := uint64(600)
	if testing.Short() {
		seeds = 40
	}
	for seed := range seeds {
		r := rand.New(rand.NewPCG(seed, 2))
		row, liar := &Row{Who: []string{"p0", "c0", "c1", "c2", "agg"}[r.IntN(5)]}, lies.New(seed)
		row.does = func(c *cheat) {
			c.eff.Send = liar.Alter(c.eff.Send, func(m protocol.Message) ([]byte, error) {
				return c.w.s.Sign(c.key, c.self, m)
			})
		}
		w, err := row.world(seed)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.run(); err != nil {
			t.Fatal(err)
		}
		problems := w.violations()
		if row.Who != "agg" {
			if err := w.onRecord(); err != nil {
				problems = append(problems, "the transcript: "+err.Error())
			}
			for _, m := range w.members {
				if m.name != row.Who && !m.over {
					problems = append(problems, m.name+" has not ended")
				}
			}
		}
		for _, p := range problems {
			t.Errorf("seed %d, %s: %s\n%q", seed, row.Who, p, liar.Told)
		}
	}
}
