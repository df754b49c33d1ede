package terms_test

import (
	"strings"
	"testing"
	"time"

	"choir/protocol"
	"choir/session/app"
	"choir/session/internal/rig"
	"choir/session/terms"
)

// TestMoments: a plan that names neither moment rounds nor units measures the columns' lengths in one round
// of ten where many declared records stand out of the noise, and one that measures what noise hides says so.
func TestMoments(t *testing.T) {
	dir, head := planTOML(t)
	for _, tc := range []struct {
		name, rounds, lines string
		want                int
		warns               bool
	}{
		{"many records", "10", "records = 100000\n", 1, false},
		{"twenty rounds", "20", "records = 100000\n", 2, false},
		{"few records", "10", "records = 300\n", 0, false},
		{"few records, named", "10", "records = 300\nmoment_rounds = 2\n", 2, true},
		{"none named", "10", "records = 100000\nmoment_rounds = -1\n", 0, false},
		{"records not declared", "10", "", 0, false},
		{"units named", "10", "records = 100000\ntarget_bound = 3.0\n", 0, false},
		{"four rounds", "4", "records = 100000\n", 0, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			text := strings.Replace(head, "rounds = 4", "rounds = "+tc.rounds, 1) +
				"[statistics]\nschema_file = \"lines.json\"\n" + tc.lines
			p, err := terms.NewPlan(rig.WriteFile(t, dir, "moments.toml", text), time.Now())
			if err != nil {
				t.Fatal(err)
			}
			a, err := app.Of(p)
			if err != nil {
				t.Fatal(err)
			}
			if got := a.(*app.Statistics).Statistics.MomentRounds; got != tc.want {
				t.Errorf("%d moment rounds, want %d", got, tc.want)
			}
			s, err := terms.Summarise(&protocol.SignedPlan{Plan: p})
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Contains(strings.Join(s.Warnings, "; "), "leave moment_rounds out"); got != tc.warns {
				t.Errorf("warnings %q", s.Warnings)
			}
		})
	}
}
