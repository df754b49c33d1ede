package terms_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"choir/protocol"
	"choir/session/internal/rig"
	"choir/session/internal/site"
	"choir/session/terms"
)

// TestUnclippedPairsHaveRoom: where nothing is clipped a party may send as much as an element has
// room for, be it 2^62 over the parties for one coordinate or 2^31 - 1 over them for two.
func TestUnclippedPairsHaveRoom(t *testing.T) {
	c := rig.LearningCases()["logistic"]
	c.Config.Clip = 0
	for _, paired := range []bool{false, true} {
		l, _ := rig.LearningPlanOf(t, c, func(ts *terms.Terms) {
			ts.Paired, ts.Noise, ts.Epsilon, ts.Delta = paired,
				protocol.NoiseNone, 0, 0
		})
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

// TestPlanFileOfPairs: a plan file's paired is in the plan, for a sum and with room for it only.
func TestPlanFileOfPairs(t *testing.T) {
	now := time.Unix(1_900_000_000, 0)
	dir, _ := site.Deploy(t, now)
	plan := func(paired string, bound float64) (*protocol.Plan, error) {
		return terms.NewPlan(rig.WriteFile(t, dir, "pairs.toml",
			fmt.Sprintf("lifetime = \"24h\"\nparties = [\"party-a.card\", \"party-b.card\"]\ncomputes = "+
				"[\"node-a.card\", \"node-b.card\"]\naggregator = \"agg.card\"\n"+
				"%s[sum]\ncolumns = 3\nfrac_bits = 4\nbound = %.1f\n", paired, bound)), now)
	}
	for text, want := range map[string]bool{"": false, "paired = false\n": false, "paired = true\n": true} {
		if p, err := plan(text, 10); err != nil || p.Paired != want {
			t.Errorf("%q: pairs %t, %v", text, p != nil && p.Paired, err)
		}
	}
	const most = (1<<31 - 1) / 2 / 16 // of two parties, in sixteenths; rounded down
	if _, err := plan("paired = true\n", most); err != nil {
		t.Error(err)
	}
	if _, err := plan("paired = true\n", most+1); protocol.ClassOf(err) != protocol.ClassInput ||
		!strings.Contains(err.Error(), "2^31 - 1") {
		t.Errorf("two sums that don't fit an element: %v", err)
	}
	if _, err := plan("", most+1); err != nil {
		t.Error(err)
	}
}
