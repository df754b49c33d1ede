package session

import (
	"testing"

	"choir/protocol"
)

// TestUnclippedPairsHaveRoom: where nothing is clipped a party may send as much as an element has
// room for, be it 2^62 over the parties for one coordinate or 2^31 - 1 over them for two.
func TestUnclippedPairsHaveRoom(t *testing.T) {
	c := learningCases()["logistic"]
	c.cfg.Clip = 0
	for _, paired := range []bool{false, true} {
		l, _ := learningPlanOf(t, c, func(ts *Terms) { ts.Paired, ts.Noise, ts.Epsilon, ts.Delta = paired, protocol.NoiseNone, 0, 0 })
		p := l.Session.Plan
		room := uint64(1) << 62
		if paired {
			room = 1<<31 - 1
		}
		if err := p.Validate(); err != nil || p.Paired != paired || p.PerParty != room/uint64(p.Parties()) {
			t.Errorf("pairs %t: %d parties may send %d each: %v", paired, p.Parties(), p.PerParty, err)
		}
	}
}
