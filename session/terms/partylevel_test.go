package terms_test

import (
	"context"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"choir/learn/bayes"
	"choir/learn/evaluate"
	"choir/protocol"
	"choir/session/app"
	"choir/session/internal/rig"
	"choir/session/terms"
)

// TestPartyLevelOfEvaluations: two data sets of one party whose targets all differ are within the sensitivity
// that the table of adversaries has for a party, in rounds that learn and in those that evaluate. At the
// dataset level all of a party's data has the plan's epsilon, also with an evaluation; one that counts single
// records loses that, and the plan warns of it.
func TestPartyLevelOfEvaluations(t *testing.T) {
	dir, head := planTOML(t)
	head = strings.Replace(head, "rounds = 4\n", "", 1) +
		"[learning]\nstrategy = \"dataset\"\nschema_file = \"classes.json\"\nrecords = 1000\n"
	for name, c := range map[string]struct {
		text     string
		whole    bool   // a party's data has the plan's epsilon
		warnings string // what one of them has
	}{
		"no evaluation": {head, true, ""},
		"parties":       {head + "[evaluation]\nevery = 2\n", true, "evaluation] count "},
		"records":       {head + "[evaluation]\nevery = 2\nper_party = false\n", false, "leave per_party out"},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := terms.NewPlan(rig.WriteFile(t, dir, "plan.toml", c.text), time.Now())
			if err != nil {
				t.Fatal(err)
			}
			g, err := terms.GuaranteesOf(p)
			if err != nil {
				t.Fatal(err)
			}
			of := g.Layers[0].Party
			if c.whole && (of == nil || *of > 1) || !c.whole && of != nil && *of < 100 {
				t.Errorf("a party has epsilon %v, want the plan's: %v", of, c.whole)
			}
			assumed := strings.Contains(strings.Join(g.Assumptions, "\n"), "differ in all records of one party")
			if assumed != c.whole {
				t.Errorf("assumes %q, want neighbours in all of a party's records: %v", g.Assumptions, c.whole)
			}
			all := strings.Join(g.Warnings, "\n")
			if !strings.Contains(all, c.warnings) || c.warnings == "" && strings.Contains(all, "[evaluation]") {
				t.Errorf("warnings %q, want %q", g.Warnings, c.warnings)
			}
			whole, learned := app.PartySensitivity(p), p.Sensitivity
			evaluated, learning := farthest(t, p)
			if evaluated > float64(whole) || learning > float64(learned) {
				t.Errorf("data sets are %v and %v apart, above %d and %d", evaluated, learning, whole, learned)
			}
			if c.whole != (whole <= learned) {
				t.Errorf("a party's sensitivity is %d, a record's %d", whole, learned)
			}
			least := float64(learned) / 4
			if !c.whole {
				least = 10 * float64(learned)
			}
			if c.warnings != "" && evaluated < least {
				t.Errorf("data sets are %v apart where they evaluate: this plan tells nothing of the bound", evaluated)
			}
		})
	}
}

// TestBlurredScores: a plan whose scores will have wide intervals by the noise alone has a warning, and no
// other.
func TestBlurredScores(t *testing.T) {
	dir, head := planTOML(t)
	head = strings.Replace(head, "rounds = 4\n", "", 1)
	const of = "[learning]\nschema_file = \"%s.json\"\nrecords = %d\n[evaluation]\n"
	for name, c := range map[string]struct{ text, want string }{
		"many records": {fmt.Sprintf(of, "classes", 20_000), ""},
		"few records":  {fmt.Sprintf(of, "classes", 200), "the accuracy will be uncertain by"},
		"many numbers": {fmt.Sprintf(of, "lines", 1_000_000), ""},
		"few numbers":  {fmt.Sprintf(of, "lines", 200), "the mean squared error will be uncertain by"},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := terms.NewPlan(rig.WriteFile(t, dir, "plan.toml", head+c.text), time.Now())
			if err != nil {
				t.Fatal(err)
			}
			warnings, err := terms.Warnings(p)
			all := strings.Join(warnings, "\n")
			if err != nil || !strings.Contains(all, c.want) || c.want == "" && strings.Contains(all, "[evaluation]") {
				t.Errorf("warnings %q, %v, want %q", warnings, err, c.want)
			}
		})
	}
}

// TestBlurredByAsMuch: the accuracy of as many held-out records as a plan declares, half of them predicted
// rightly, has an interval that is as wide as the plan's warning names, and what their sampling adds.
func TestBlurredByAsMuch(t *testing.T) {
	dir, head := planTOML(t)
	text := head + "[learning]\nschema_file = \"classes.json\"\nrecords = 600\n[evaluation]\n"
	p, err := terms.NewPlan(rig.WriteFile(t, dir, "plan.toml", text), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	a, err := app.Of(p)
	if err != nil {
		t.Fatal(err)
	}
	e, n := app.EvaluationOf(a), 0.2*600
	u := e.Unit(p.Sensitivity)
	sum := make([]int64, e.Dim())
	sum[0] = int64(2 * float64(u) * n)
	point, err := e.Estimate(sum, app.SumVariance(p), evaluate.Target{Binary: true}, u)
	if err != nil {
		t.Fatal(err)
	}
	half := 100 * (point.Accuracy.High - point.Accuracy.Low) / 2
	warnings, err := terms.Warnings(p)
	found := regexp.MustCompile(`uncertain by ([0-9]+) points`).FindStringSubmatch(strings.Join(warnings, "\n"))
	if err != nil || found == nil {
		t.Fatalf("%q, %v", warnings, err)
	}
	points, err := strconv.ParseFloat(found[1], 64)
	if sampling := 100 * 1.96 * 0.5 / math.Sqrt(n); err != nil || half < points-0.5 || half > points+sampling {
		t.Errorf("%v points, %v; the interval has %v to each side, of which sampling is at most %v", points, err,
			half, sampling)
	}
}

// farthest is how far two data sets of a party with opposite targets are apart at most, over the rounds that
// evaluate and those that learn.
func farthest(t *testing.T, p *protocol.Plan) (evaluated, learning float64) {
	t.Helper()
	const rows = 300
	a, err := app.Of(p)
	if err != nil {
		t.Fatal(err)
	}
	features := a.(*app.PVI).PVI.Features
	var sides []app.Party
	for _, y := range []float64{0, 1} {
		d := bayes.Data{X: make([]float64, rows*features)}
		for i := range rows {
			d.X[(i+1)*features-1] = 1
			d.Y = append(d.Y, y)
		}
		side, err := a.Join(app.PartyConfig{Plan: p, Data: d, Rand: constant(0)})
		if err != nil {
			t.Fatal(err)
		}
		sides = append(sides, side)
	}
	state := a.Model(p).Initial()
	for round := uint32(1); round <= p.Rounds; round++ {
		var apart float64
		var updates [][]int64
		for _, side := range sides {
			q, _, err := side.Propose(context.Background(),
				protocol.Work{Round: round, Attempt: 1, Model: state, State: side.InitialState()})
			if err != nil {
				t.Fatal(err)
			}
			updates = append(updates, q)
		}
		for i, x := range updates[0] {
			apart = math.Hypot(apart, float64(x-updates[1][i]))
		}
		if app.EvaluationOf(a).At(int(round), int(p.Rounds)) {
			evaluated = max(evaluated, apart)
		} else {
			learning = max(learning, apart)
		}
	}
	return evaluated, learning
}

// constant is a reader of this byte.
type constant byte

func (c constant) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(c)
	}
	return len(p), nil
}
