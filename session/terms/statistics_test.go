package terms_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"choir/learn/dataset"
	"choir/protocol"
	"choir/session/app"
	"choir/session/internal/rig"
	"choir/session/terms"
)

// TestMoments: a plan that names neither moment rounds nor units measures the columns' lengths in one round
// of ten where many declared records stand out of the noise, and one that measures what noise hides says so.
func TestMoments(t *testing.T) {
	dir, head := planTOML(t)
	standardised := &dataset.Schema{Version: dataset.SchemaVersion, Source: "a test", Missing: dataset.Refuse,
		Unseen: dataset.Refuse, Target: dataset.Standardised("y", -4, 4, 0, 1)}
	for _, name := range []string{"x1", "x2", "x3"} {
		standardised.Columns = append(standardised.Columns, dataset.Standardised(name, -4, 4, 0, 1))
	}
	canonical, err := standardised.Canonical()
	if err != nil {
		t.Fatal(err)
	}
	rig.WriteFile(t, dir, "standard.json", string(canonical))
	for _, tc := range []struct {
		name, rounds, lines string
		want                int
		warns               bool
	}{
		{"many records", "10", "records = 100000\n", 1, false},
		{"twenty rounds", "20", "records = 100000\n", 2, false},
		{"few records", "10", "records = 500\n", 0, false},
		{"few records, named", "10", "records = 500\nmoment_rounds = 2\n", 2, true},
		{"none named", "10", "records = 100000\nmoment_rounds = -1\n", 0, false},
		{"records not declared", "10", "", 0, false},
		{"units named", "10", "records = 100000\ntarget_bound = 3.0\n", 0, false},
		{"four rounds", "4", "records = 100000\n", 0, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			text := strings.Replace(head, "rounds = 4", "rounds = "+tc.rounds, 1) +
				"[statistics]\nschema_file = \"standard.json\"\n" + tc.lines
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

// TestStatisticsOfRanges: where ranges alone are public fewer records are enough for moment rounds, which
// tell how long columns are, and no warning says to leave them out. Of many records the radius is up to four
// times the usual one, since noise is little then; with a category, too, whose columns add up to a constant.
func TestStatisticsOfRanges(t *testing.T) {
	columns := func(category bool) []dataset.Column {
		all := []dataset.Column{ranged(t, "age=18:95"), ranged(t, "visits=0:20")}
		if category {
			all[1] = dataset.Categorical("ward", "A", "B")
		}
		return all
	}
	const usual = 1.7 // more than .8 times the norm of a record of these columns and a target
	for _, tc := range []struct {
		records  int
		category bool
		moments  int
		wide     bool
	}{{1500, false, 1, false}, {60_000_000, false, 1, true}, {60_000_000, true, 1, true},
		{60, false, 0, false}} {
		dir, head := planTOML(t)
		schema := &dataset.Schema{Version: dataset.SchemaVersion, Source: "a test", Missing: dataset.Refuse,
			Unseen: dataset.Refuse, Columns: columns(tc.category),
			Target: dataset.Numeric("cost", 0, 100_000)}
		canonical, err := schema.Canonical()
		if err != nil {
			t.Fatal(err)
		}
		rig.WriteFile(t, dir, "ranges.json", string(canonical))
		text := fmt.Sprintf("%s[statistics]\nschema_file = \"ranges.json\"\nrecords = %d\n"+
			"max_records = 65536\n",
			strings.Replace(head, "rounds = 4", "rounds = 10", 1), tc.records)
		p, err := terms.NewPlan(rig.WriteFile(t, dir, "ranges.toml", text), time.Now())
		if err != nil {
			t.Fatal(err)
		}
		a, err := app.Of(p)
		if err != nil {
			t.Fatal(err)
		}
		c := a.(*app.Statistics).Statistics
		if c.MomentRounds != tc.moments || (c.Radius > 2*usual) != tc.wide || c.Radius > 5*usual {
			t.Errorf("%+v: %d moment rounds, radius %g", tc, c.MomentRounds, c.Radius)
		}
		s, err := terms.Summarise(&protocol.SignedPlan{Plan: p})
		if err != nil {
			t.Fatal(err)
		}
		if all := strings.Join(s.Warnings, "; "); strings.Contains(all, "leave moment_rounds out") {
			t.Errorf("%+v: warnings %q", tc, s.Warnings)
		}
	}
}

// ranged is a column of which nothing but a range is public.
func ranged(t *testing.T, text string) dataset.Column {
	t.Helper()
	c, err := dataset.ParseColumn(text)
	if err != nil {
		t.Fatal(err)
	}
	return c
}
