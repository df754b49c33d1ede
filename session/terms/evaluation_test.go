package terms_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"choir/internal/config"
	"choir/protocol"
	"choir/session/app"
	"choir/session/internal/rig"
	"choir/session/terms"
)

// TestTextOfAll: the text of terms that name everything leads to the same terms, settings that may
// be left out or 0 included.
func TestTextOfAll(t *testing.T) {
	zero, bits, low := 0, uint8(3), -2.5
	want := terms.PlanConfig{Name: "t", Rounds: 3, Learning: &terms.LearningConfig{CentreRounds: &zero},
		Evaluation: &terms.EvaluationConfig{Low: &low, High: new(float64)}, Sum: &terms.SumConfig{FracBits: &bits}}
	text, err := want.Text()
	if err != nil {
		t.Fatal(err)
	}
	got := new(terms.PlanConfig)
	if err := config.ReadTOML(rig.WriteFile(t, t.TempDir(), "plan.toml", string(text)), got); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(*got, want) {
		t.Errorf("%s\nleads to %+v, want %+v", text, *got, want)
	}
}

// TestEvaluationSections: plans with an evaluation spend no more than their budget, end with an
// evaluation, and keep the defaults of learning; others name what they lack.
func TestEvaluationSections(t *testing.T) {
	dir, head := planTOML(t)
	head = strings.Replace(head, "rounds = 4\n", "", 1)
	lines := "schema_file = \"lines.json\"\nrecords = 1000\n"
	classes := "schema_file = \"classes.json\"\nrecords = 1000\n"
	plan := func(t *testing.T, text string) (*protocol.Plan, error) {
		return terms.NewPlan(rig.WriteFile(t, dir, "evaluated.toml", text), time.Now())
	}
	for name, c := range map[string]struct {
		text   string
		points int
	}{
		"learning":   {head + "[learning]\n" + classes + "[evaluation]\n", 5},
		"dataset":    {head + "[learning]\nstrategy = \"dataset\"\n" + classes + "[evaluation]\nevery = 2\n", 10},
		"paired":     {"paired = true\n" + head + "[learning]\nshards = 50\n" + classes + "[evaluation]\n", 5},
		"named":      {"rounds = 9\n" + head + "[learning]\n" + classes + "[evaluation]\nevery = 3\n", 2},
		"statistics": {"rounds = 2\n" + head + "[statistics]\n" + lines + "[evaluation]\n", 1},
		"global":     {"rounds = 8\n" + head + "[global]\nsample_rate = 1\n" + classes + "[evaluation]\n", 3},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := plan(t, c.text)
			if err != nil {
				t.Fatal(err)
			}
			b, ok, err := p.Spends(p.Releases())
			if err != nil || !ok || b.Epsilon > 1 || b.Epsilon < 0.9 {
				t.Errorf("spends %v of 1 (%v, %v)", b.Epsilon, ok, err)
			}
			a, err := app.Of(p)
			if err != nil {
				t.Fatal(err)
			}
			rounds := int(p.Rounds)
			e := app.EvaluationOf(a)
			if got := rounds - e.Learning(rounds); got != c.points || !e.At(rounds, rounds) {
				t.Errorf("%d of %d rounds evaluate, want %d", got, rounds, c.points)
			}
			settings, err := terms.Parameters(p)
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range settings {
				if s.Source == "named" && name == "learning" {
					t.Errorf("%s is %s, which nobody named", s.Name, s.Value)
				}
			}
		})
	}
	for want, text := range map[string]string{
		"sample_rate 1":         head + "[global]\nsample_rate = 0.02\n" + classes + "[evaluation]\n",
		"leave [evaluation]":    head + "[sum]\ncolumns = 2\nbound = 1\n[evaluation]\n",
		"no model":              head + "[mcmc]\nmethod = \"penalty\"\n" + classes + "[evaluation]\n",
		"held_out is 1.5":       head + "[learning]\n" + classes + "[evaluation]\nheld_out = 1.5\n",
		"one to evaluate":       "rounds = 1\n" + head + "[learning]\n" + classes + "[evaluation]\n",
		"unknown key":           head + "[learning]\n" + classes + "[evaluation]\nshare = 1\n",
		"low and high is":       head + "[learning]\n" + classes + "[evaluation]\nlow = 0\n",
		"each party's own":      head + "noise = \"local\"\n[learning]\n" + classes + "[evaluation]\n",
		"[evaluation] every is": head + "[learning]\n" + classes + "[evaluation]\nevery = -1\n",
	} {
		if _, err := plan(t, text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
