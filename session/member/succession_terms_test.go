package member_test

import (
	"os"
	"strings"
	"testing"

	"choir/protocol"
	"choir/session/member"
	"choir/session/terms"
)

// TestSuccessorWithNewKeys: a party of the same name and another key has an empty factor, while what it
// contributed stays; whoever makes or reads the plan is warned. A node's new key changes nothing.
func TestSuccessorWithNewKeys(t *testing.T) {
	c := newChain(t)
	members := []string{"party-a", "party-b", "node-a", "node-b", "agg"}
	c.run(c.first("rounds = 4\n[privacy]\nepsilon = 8.0\ndelta = 1e-5\n"+
		"[learning]\nschema_file = \"schema.json\"\n", members...), 2, members...)
	s, err := member.SuccessionOf(c.path("plan1.choir.out"), "")
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct{ renewed, warns string }{
		{"", ""}, {"node-a", ""}, {"agg", ""}, {"party-b", "party-b has another key than before"},
	} {
		if row.renewed != "" {
			for _, file := range []string{row.renewed + ".key", row.renewed + ".card"} {
				if err := os.Rename(c.path(file), c.path("old-"+file)); err != nil {
					t.Fatal(err)
				}
			}
			c.made[row.renewed] = false
		}
		p, err := terms.NewSuccessor(c.terms("plan2", "", members), c.now, s.After)
		if err != nil {
			t.Fatal(err)
		}
		warnings, err := terms.Warnings(p)
		if err != nil {
			t.Fatal(err)
		}
		if text := strings.Join(warnings, "\n"); strings.Contains(text, "another key") != (row.warns != "") ||
			!strings.Contains(text, row.warns) {
			t.Errorf("with a new key of %q: %q", row.renewed, warnings)
		}
	}
}

// TestSuccessorsPromise: a successor audits its sums as its predecessor did, and protects from as many
// colluding parties, unless its file declines, and whoever reads it is told of what the predecessor protects
// from and it does not.
func TestSuccessorsPromise(t *testing.T) {
	c := newChain(t)
	members := []string{"party-a", "party-b", "party-c", "node-a", "node-b", "agg"}
	c.run(c.first("rounds = 4\naudit = true\ncolluders = 1\n[privacy]\nepsilon = 8.0\ndelta = 1e-5\n"+
		"[learning]\nschema_file = \"schema.json\"\n", members...), 2, members...)
	s, err := member.SuccessionOf(c.path("plan1.choir.out"), "")
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		body  string
		audit bool
		less  []string
	}{
		{"", true, nil},
		{"colluders = 0\n", true, []string{"up to 0 parties may collude, before it was 1"}},
		{"colluders = 1\naudit = true\n", true, nil},
		{"colluders = 1\naudit = false\n", false, []string{"no audit"}},
	} {
		p, err := terms.NewSuccessor(c.terms("plan2", row.body, members), c.now, s.After)
		if err != nil {
			t.Fatal(err)
		}
		summary, err := terms.Summarise(&protocol.SignedPlan{Plan: p})
		if err != nil {
			t.Fatal(err)
		}
		less := summary.After.Less
		if p.Audit != row.audit || len(less) != len(row.less) ||
			len(less) > 0 && !strings.Contains(less[0], row.less[0]) {
			t.Errorf("%q: audit %t, less %q", row.body, p.Audit, less)
		}
		if want := uint32(1); !strings.Contains(row.body, "colluders = 0") && p.Colluders != want {
			t.Errorf("%q: %d colluders, want %d", row.body, p.Colluders, want)
		}
	}
	for body, roster := range map[string][]string{"": {"party-a", "party-b", "node-a", "node-b", "agg"},
		"dropouts = 1\n": members} {
		_, err := terms.NewSuccessor(c.terms("plan3", body, roster), c.now, s.After)
		if protocol.ClassOf(err) != protocol.ClassInput || !strings.Contains(err.Error(), "colluders is missing") {
			t.Errorf("where the predecessor's colluders leave no honest party: %v", err)
		}
	}
}
