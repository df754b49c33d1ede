package run_test

import (
	"strings"
	"testing"
	"time"

	"choir/protocol"
	"choir/protocol/verify"
	"choir/session/app"
	"choir/session/internal/rig"
	"choir/session/internal/site"
	"choir/session/terms"
)

// TestAuditedSession: under terms that ask for it every party commits, the sums are what
// they are without, and a verifier finds them opened.
func TestAuditedSession(t *testing.T) {
	vectors := [][]int64{{1, -2, 3}, {40, 50, -60}, {0, 7, 0}}
	for _, audit := range []bool{false, true} {
		list, keys := rig.Members(t, len(vectors), 2)
		ts := rig.Terms(list)
		ts.Audit = audit
		p, err := ts.Sum(terms.SumTerms{Dim: 3, PerParty: 1000})
		if err != nil {
			t.Fatal(err)
		}
		l := rig.Local(t, p, keys)
		rig.Sums(l, vectors)
		r, err := l.Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		signed := &protocol.SignedPlan{Plan: p}
		for _, k := range keys {
			if err := signed.Sign(k); err != nil {
				t.Fatal(err)
			}
		}
		report, err := verify.Transcript(signed, r.Transcript, app.Sum{Dim: 3})
		if err != nil {
			t.Fatal(err)
		}
		if m := report.Model(); report.Audited != audit || m[0] != 41 || m[1] != 55 || m[2] != -57 {
			t.Errorf("audit %t: audited %t, sum %v", audit, report.Audited, m)
		}
	}
}

// TestPlanFileAsksForAudit: the plan's file can, the summary says so, and noise of the
// compute nodes, which nobody commits to, is refused beside it.
func TestPlanFileAsksForAudit(t *testing.T) {
	now := time.Unix(1_900_000_000, 0)
	dir, _ := site.Deploy(t, now)
	head := "lifetime = \"24h\"\nparties = [\"party-a.card\", \"party-b.card\"]\ncomputes = " +
		"[\"node-a.card\", \"node-b.card\"]\naggregator = \"agg.card\"\n"
	sum := "[sum]\ncolumns = 1\nfrac_bits = 4\nbound = 10.0\n"
	for text, want := range map[string]bool{"": false, "audit = false\n": false, "audit = true\n": true} {
		p, err := terms.NewPlan(rig.WriteFile(t, dir, "audit.toml", head+text+sum), now)
		if err != nil {
			t.Fatal(err)
		}
		s, err := terms.Summarise(&protocol.SignedPlan{Plan: p})
		if err != nil || p.Audit != want || s.Audit != want {
			t.Errorf("%q: the plan says %t, its summary %t, %v", text, p.Audit, s.Audit, err)
		}
	}
	c := rig.AppCases(t)["virtual"]
	list, _ := rig.Members(t, len(c.Parts), 2)
	both := rig.Terms(list)
	both.Rounds, both.Epsilon, both.Delta, both.Audit = c.Rounds, 2, 1e-5, true
	for noise, want := range map[protocol.Placement]bool{protocol.NoiseParty: true,
		protocol.NoiseCompute: false} {
		both.Noise = noise
		if _, err := both.Plan(c.App); (err == nil) != want || err != nil && !strings.Contains(err.Error(),
			"audit") {
			t.Errorf("audit, and noise of each %s: %v", noise, err)
		}
	}
}
