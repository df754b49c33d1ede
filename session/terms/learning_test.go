package terms_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"choir/learn/bayes"
	"choir/learn/pvi"
	"choir/protocol"
	"choir/session/app"
	"choir/session/internal/rig"
	"choir/session/terms"
)

// TestFiveLines: a plan that names a schema and a budget gets virtual clients of one record, and
// rounds, clip, damping and precisions that follow from the plan; each is shown as a default.
func TestFiveLines(t *testing.T) {
	dir, head := planTOML(t)
	head = strings.Replace(head, "rounds = 4\n", "", 1)
	p, err := terms.NewPlan(rig.WriteFile(t, dir, "five.toml",
		head+"[learning]\nschema_file = \"classes.json\"\n"), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	l, err := app.PVIOf(p)
	if err != nil {
		t.Fatal(err)
	}
	c := l.PVI
	v, ok := c.Strategy.(pvi.Virtual)
	if !ok || v.ShardRows != 1 || v.Optimiser != pvi.Natural || v.Steps != 1 || c.Model != bayes.Logistic {
		t.Errorf("strategy %+v, model %q", c.Strategy, c.Model)
	}
	if p.Rounds < 20 || !(c.Clip > 0 && c.Damping > 0 && c.StartPrecision > c.PrecisionFloor &&
		c.PrecisionFloor >= 1) {
		t.Errorf("%d rounds, %+v", p.Rounds, c)
	}
	all, err := terms.Parameters(p)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		if s.Source == "named" {
			t.Errorf("%s is shown as named: %s", s.Name, s.Value)
		}
	}
}

// TestNamedSettings: what a file names is taken and shown as named, and the rest follows from it.
func TestNamedSettings(t *testing.T) {
	dir, head := planTOML(t)
	plan := func(name, lines string) (pvi.Config, map[string]string) {
		t.Helper()
		p, err := terms.NewPlan(rig.WriteFile(t, dir, name+".toml",
			head+"[learning]\nschema_file = \"classes.json\"\n"+lines), time.Now())
		if err != nil {
			t.Fatal(err)
		}
		l, err := app.PVIOf(p)
		if err != nil {
			t.Fatal(err)
		}
		all, err := terms.Parameters(p)
		if err != nil {
			t.Fatal(err)
		}
		sources := map[string]string{}
		for _, s := range all {
			sources[s.Name] = s.Source
			if !json.Valid(s.Value) {
				t.Errorf("%s: %s", s.Name, s.Value)
			}
		}
		return l.PVI, sources
	}
	plain, _ := plan("plain", "records = 3000\n")
	wide, sources := plan("wide", "records = 3000\nclip = 2.0\n")
	if wide.Clip != 2 || sources["clip"] != "named" || sources["rounds"] != "named" {
		t.Errorf("clip %v is %q, rounds are %q", wide.Clip, sources["clip"], sources["rounds"])
	}
	if !(wide.PrecisionFloor > plain.PrecisionFloor) || strings.HasPrefix(sources["precision_floor"], "named") {
		t.Errorf("floor %v for %v, %q: it follows the noise", wide.PrecisionFloor, plain.PrecisionFloor,
			sources["precision_floor"])
	}
	few, _ := plan("few", "records = 100\n")
	many, _ := plan("many", "records = 100000\n")
	if !(few.Clip < many.Clip) {
		t.Errorf("clip %v for few records and %v for many", few.Clip, many.Clip)
	}
}

// TestPlanWarns: a plan whose noise drowns what it could learn says so before anybody signs.
func TestPlanWarns(t *testing.T) {
	dir, head := planTOML(t)
	for _, tc := range []struct{ name, lines, want string }{
		{"few records", "records = 60\n", "noise may drown 60 records"},
		{"three factors", "strategy = \"dataset\"\n", "with 3 parties a party alone learns more"},
		{"few rounds", "records = 30000\n", ""},
		{"statistics", "[statistics]\nschema_file = \"lines.json\"\nrecords = 60\n",
			"drown the statistics of 60 records"},
		{"committee", "[learning]\nschema_file = \"lines.json\"\nmodel = \"linear\"\nstrategy = \"bcm-same\"\n",
			"leave strategy out"},
		{"committee of millions", "[learning]\nschema_file = \"lines.json\"\nmodel = \"linear\"\n" +
			"strategy = \"bcm-split\"\nrecords = 3000000\n", "ends short of the regression's weights"},
		{"ranges alone", "records = 150\nstrategy = \"virtual\"\ncentre_rounds = 1\n",
			"so 1 of 4 rounds measure where they lie"},
		{"ranges of many records", "records = 30000\n", ""},
		{"wide ranges of few records", "[global]\nschema_file = \"classes.json\"\nrecords = 600\n" +
			"centre_rounds = 2\n", "noise will hide that, and the weight with it"},
		{"ranges that nobody measures", "records = 30000\nstrategy = \"optimisation\"\n",
			"no round of this plan measures where in it they lie"},
		{"trace of few records", "[mcmc]\nschema_file = \"classes.json\"\nrecords = 60\n",
			"noise may drown 60 records"},
		{"trace of a rare class", "[mcmc]\nschema_file = \"classes.json\"\nrecords = 600\n",
			"noise may drown 600 records of 3 columns if one class"},
		{"trace of many records", "[mcmc]\nschema_file = \"classes.json\"\nrecords = 200000\n", ""},
		{"slow chain", "[mcmc]\nschema_file = \"classes.json\"\nrecords = 3000\nmethod = \"penalty\"\n",
			"take method \"trace\""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			section := "[learning]\nschema_file = \"classes.json\"\n" + tc.lines
			if strings.HasPrefix(tc.lines, "[") {
				section = tc.lines
			}
			head := head
			if strings.HasPrefix(tc.lines, "[mcmc]") { // has stages
				head = strings.Replace(head, "rounds = 4", "rounds = 100", 1)
			}
			p, err := terms.NewPlan(rig.WriteFile(t, dir, "warn.toml", head+section), time.Now())
			if err != nil {
				t.Fatal(err)
			}
			s, err := terms.Summarise(&protocol.SignedPlan{Plan: p})
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(s.Warnings, "; "); tc.want != "" && !strings.Contains(got, tc.want) {
				t.Errorf("warnings %q, want %q", got, tc.want)
			}
		})
	}
}

// TestWideRangesAreNamed: the warning of wide ranges names their columns. Codes of 0 and 1 are none, with or
// without a centre.
func TestWideRangesAreNamed(t *testing.T) {
	dir, head := planTOML(t)
	for _, tc := range []struct{ column, want string }{
		{"", ""}, {"income = [0, 1000]\n", "a range alone of income: "},
		{"age = { lo = 0, hi = 100, center = 50, scale = 15 }\n", ""},
	} {
		rig.WriteFile(t, dir, "codes.toml", "source = \"public: a test\"\n[target]\nill = [\"no\", \"yes\"]\n"+
			"[columns]\nsmoker = { lo = 0, hi = 1, center = 0.25, scale = 0.43 }\nicu = [0, 1]\n"+tc.column)
		p, err := terms.NewPlan(rig.WriteFile(t, dir, "wide.toml", head+"[global]\nschema_file = \"codes.toml\"\n"+
			"records = 600\ncentre_rounds = 2\n"), time.Now())
		if err != nil {
			t.Fatal(err)
		}
		all, err := terms.Warnings(p)
		if err != nil {
			t.Fatal(err)
		}
		got := strings.Join(all, "; ")
		if !strings.Contains(got, tc.want) || tc.want == "" && strings.Contains(got, "a range alone of") {
			t.Errorf("%q: %q", tc.column, got)
		}
	}
}

// TestCentreRounds: sums, and noisy natural-gradient steps, measure centres in a tenth of the rounds, unless
// the plan's file names another number, and the other rounds learn; a plan whose rounds all measure is
// refused.
func TestCentreRounds(t *testing.T) {
	dir, head := planTOML(t)
	head = strings.Replace(head, "rounds = 4", "rounds = 100", 1)
	for _, tc := range []struct {
		section, lines string
		want           int
	}{
		{"learning", "", 9}, {"global", "", 9}, {"mcmc", "", 9}, {"mcmc", "method = \"penalty\"\n", 9},
		{"global", "centre_rounds = 3\n", 3}, {"mcmc", "centre_rounds = 0\n", 0},
		{"mcmc", "method = \"penalty\"\nsample_rate = 0.5\nsampling_variance = 0.5\n", 0},
		{"learning", "strategy = \"dataset\"\n", 9},
		{"learning", "strategy = \"dataset\"\noptimiser = \"natural\"\n", 0},
		{"learning", "strategy = \"optimisation\"\n", 9},
		{"learning", "strategy = \"optimisation\"\noptimiser = \"adam\"\n", 0},
		{"learning", "strategy = \"averaging\"\n", 0},
		{"learning", "model = \"linear\"\nstrategy = \"virtual\"\n", 9},
		{"learning", "model = \"linear\"\nstrategy = \"dataset\"\n", 9},
		{"global", "centre_rounds = 100\n", -1},
		{"global", "centre_rounds = 120\n", -1}, {"mcmc", "centre_rounds = 100\n", -1},
		{"mcmc", "centre_rounds = -2\n", -1}, {"learning", "centre_rounds = 100\n", -1},
	} {
		section := fmt.Sprintf("[%s]\nschema_file = \"classes.json\"\nrecords = 3000\n%s", tc.section, tc.lines)
		if strings.Contains(tc.lines, "linear") {
			section = strings.Replace(section, "classes", "lines", 1)
		}
		p, err := terms.NewPlan(rig.WriteFile(t, dir, "centres.toml", head+section), time.Now())
		if tc.want < 0 {
			if err == nil || !strings.Contains(err.Error(), "want 0 to 99: none is left to learn") {
				t.Errorf("%s: %v", section, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", section, err)
			continue
		}
		a, err := app.Of(p)
		if err != nil {
			t.Fatal(err)
		}
		if got := app.CentreRounds(a); got != tc.want {
			t.Errorf("%s: %d rounds measure, want %d", section, got, tc.want)
		}
		if m, ok := a.(*app.MCMC); ok && m.MCMC.Rounds != 100-tc.want {
			t.Errorf("%s: the sampler takes %d rounds", section, m.MCMC.Rounds)
		}
	}
}

// TestFewRounds: a plan of too few rounds says how many rounds would learn by default, where that follows
// from little noise, too.
func TestFewRounds(t *testing.T) {
	dir, head := planTOML(t)
	section := "[learning]\nschema_file = \"classes.json\"\nrecords = 100000\n"
	plan := func(rounds string) *protocol.Plan {
		t.Helper()
		text := strings.NewReplacer("rounds = 4\n", rounds, "epsilon = 1.0", "epsilon = 8.0").Replace(head)
		p, err := terms.NewPlan(rig.WriteFile(t, dir, "rounds.toml", text+section), time.Now())
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	p := plan("")
	l, err := app.PVIOf(p)
	if err != nil {
		t.Fatal(err)
	}
	learn := l.PVI.Learning(int(p.Rounds))
	s, err := terms.Summarise(&protocol.SignedPlan{Plan: plan("rounds = 4\n")})
	if err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf("the default is %d rounds", learn)
	if got := strings.Join(s.Warnings, "; "); learn < 50 || !strings.Contains(got, want) {
		t.Errorf("warnings %q, want %q", got, want)
	}
}

// TestLinearWithoutStrategy: linear regression that names no strategy is by sufficient statistics,
// for which a schema and a budget suffice.
func TestLinearWithoutStrategy(t *testing.T) {
	dir, head := planTOML(t)
	for _, tc := range []struct{ name, section string }{
		{"learning", "[learning]\nschema_file = \"lines.json\"\n"},
		{"learning with records", "[learning]\nschema_file = \"lines.json\"\nrecords = 900\n"},
		{"statistics", "[statistics]\nschema_file = \"lines.json\"\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p, err := terms.NewPlan(rig.WriteFile(t, dir, "linear.toml", head+tc.section), time.Now())
			if err != nil {
				t.Fatal(err)
			}
			if p.Application != app.NameStatistics {
				t.Errorf("application %q", p.Application)
			}
		})
	}
}

// TestDatasetSources: the rules that are shown for one step a party are its own.
func TestDatasetSources(t *testing.T) {
	dir, head := planTOML(t)
	p, err := terms.NewPlan(rig.WriteFile(t, dir, "dataset.toml",
		head+"[learning]\nschema_file = \"classes.json\"\nstrategy = \"dataset\"\n"), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	all, err := terms.Parameters(p)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, s := range all {
		got[s.Name] = s.Source
	}
	for name, want := range map[string]string{"shards": "one step a party", "clip": "a mean step",
		"damping": "filter", "start_precision": "noise and the records", "optimiser": "Newton step"} {
		if !strings.Contains(got[name], want) {
			t.Errorf("%s: %q, want %q", name, got[name], want)
		}
	}
}

// TestPlanErrors: what a file gets wrong is refused before anybody signs, with its section.
func TestPlanErrors(t *testing.T) {
	dir, head := planTOML(t)
	for _, tc := range []struct{ name, section, want string }{
		{"line for classes", "[learning]\nschema_file = \"classes.json\"\nmodel = \"linear\"\n",
			"[learning] model: linear predicts a number"},
		{"classes for a number", "[learning]\nschema_file = \"lines.json\"\nmodel = \"logistic\"\n",
			"[learning] model: logistic predicts one of two classes"},
		{"global, classes for a number", "[global]\nschema_file = \"lines.json\"\nrecords = 900\n",
			"global: the method predicts one of two classes"},
		{"statistics of classes", "[statistics]\nschema_file = \"classes.json\"\n", "predicts a number"},
		{"global of no records", "[global]\nschema_file = \"classes.json\"\nrecords = -1\n",
			"[global] records is -1"},
		{"two at once", "[learning]\nschema_file = \"classes.json\"\nsteps = -1\nlearning_rate = 9.0\n",
			"; [learning] learning_rate is 9"},
		{"wrong type", "[learning]\nschema_file = \"classes.json\"\nclip = \"high\"\n",
			"learning.clip is a string, want a number"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := terms.NewPlan(rig.WriteFile(t, dir, "wrong.toml", head+tc.section), time.Now())
			if err == nil || !strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), "wrong.toml") {
				t.Errorf("%v, want %q", err, tc.want)
			}
		})
	}
}
