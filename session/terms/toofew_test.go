package terms_test

import (
	"strings"
	"testing"
	"time"

	"choir/session/internal/rig"
	"choir/session/terms"
)

// TestTooFew: a party is warned of if its records are far fewer than its weight says, under the settings of
// virtual clients, which follow from the number of records.
func TestTooFew(t *testing.T) {
	dir, head := planTOML(t)
	head = strings.Replace(head, "rounds = 4\n", "", 1)
	virtual := "[learning]\nschema_file = \"classes.json\"\nrecords = 9000\n"
	for name, c := range map[string]struct {
		text        string
		party, rows int
		warns       bool
	}{
		"as counted on":    {virtual, 0, 3000, false},
		"some fewer":       {virtual, 0, 200, false},
		"far fewer":        {virtual, 0, 20, true},
		"any party":        {virtual, -1, 20, true},
		"by weights":       {virtual + "weights = [0.01, 0.49, 0.5]\n", 0, 20, false},
		"by weight":        {virtual + "weights = [0.01, 0.49, 0.5]\n", 2, 20, true},
		"the least weight": {virtual + "weights = [0.01, 0.49, 0.5]\n", -1, 20, false},
		"not declared":     {strings.Replace(virtual, "records = 9000\n", "", 1), 0, 2, false},
		"steps":            {virtual + "strategy = \"optimisation\"\n", 0, 20, false},
		"statistics":       {"[statistics]\nschema_file = \"lines.json\"\nrecords = 9000\n", 0, 20, false},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := terms.NewPlan(rig.WriteFile(t, dir, "few.toml", head+c.text), time.Now())
			if err != nil {
				t.Fatal(err)
			}
			got := terms.TooFew(p, c.party, c.rows)
			if (got != "") != c.warns || c.warns && !strings.Contains(got, "which has 20: ") {
				t.Errorf("%q", got)
			}
		})
	}
}
