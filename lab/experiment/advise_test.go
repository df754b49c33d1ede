package experiment

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"choir/crypto/identity"
	"choir/learn/dataset"
	"choir/protocol"
	"choir/session/app"
	"choir/session/terms"
)

func advisor(t *testing.T, schema string) *Advisor {
	t.Helper()
	s, err := dataset.ParseTOML([]byte(schema))
	if err != nil {
		t.Fatal(err)
	}
	return &Advisor{Schema: s, Records: []int{60, 90}, Computes: 2, Epsilon: 2, Delta: 1e-5, Worlds: 1, Seed: 5}
}

// TestAdvise: every candidate is tried on twins, the best is first, and its plan file leads
// to the very plan that was tried, without any default.
func TestAdvise(t *testing.T) {
	number := strings.Replace(rehearsedSchema, `["no", "yes"]`,
		"{ lo = 0, hi = 100, center = 50, scale = 10 }", 1)
	for name, c := range map[string]struct {
		schema   string
		accuracy float64
		signals  int
	}{
		"classes, known accuracy": {rehearsedSchema, 0.9, 1},
		"a number":                {number, 0, 3},
	} {
		if testing.Short() && c.accuracy > 0 {
			continue
		}
		t.Run(name, func(t *testing.T) {
			ad := advisor(t, c.schema)
			ad.Accuracy = c.accuracy
			told := 0
			ad.Progress = func(done, total int, _ string) {
				if told++; done > total {
					t.Errorf("%d of %d", done, total)
				}
			}
			a, err := ad.Run(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			if len(a.Settings) < 4 || len(a.Signals) != c.signals || len(a.Layers) == 0 || len(a.BreakEven) == 0 ||
				told < 8 {
				t.Errorf("%+v; told %d times", a, told)
			}
			for i, s := range a.Settings {
				if s.Refused == "" && (len(s.Scores) != c.signals || s.Upload <= 0 || math.IsNaN(s.Mean) ||
					i > 0 && s.Mean > a.Settings[i-1].Mean) {
					t.Errorf("setting %d: %+v", i, s)
				}
			}
			for i, s := range a.Alone {
				if s.LogLik < a.Majority[i].LogLik {
					t.Errorf("signal %g: a party alone reaches %.3f, the majority %.3f", a.Signals[i], s.LogLik,
						a.Majority[i].LogLik)
				}
			}
			checkAdvised(t, ad, a, c.schema)
		})
	}
}

// checkAdvised compares the plan of the advised file with the plan that was tried.
func checkAdvised(t *testing.T, ad *Advisor, a *Advice, schema string) {
	t.Helper()
	text, err := a.Plan("schema.toml")
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(text) {
		if bytes.Contains(line, []byte(" = ")) && !bytes.Contains(line, []byte("    # ")) {
			t.Errorf("no comment in %s", line)
		}
	}
	dir := t.TempDir()
	for name, b := range map[string][]byte{"plan.toml": text, "schema.toml": []byte(schema)} {
		t.Run(name, func(t *testing.T) {
			if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
				t.Fatal(err)
			}
		})
	}
	enrol := func(name string, role protocol.Role) (protocol.Member, error) {
		k := testKey(t)
		return terms.NewMember(name, role, k.Public()), nil
	}
	again, err := terms.NewRehearsal(filepath.Join(dir, "plan.toml"), time.Now(), 0, enrol)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	_, p, err := ad.plan(a.Settings[0].config, ad.Records, ad.Epsilon)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(p.Parameters, again.Plan.Parameters) || p.Rounds != again.Plan.Rounds ||
		p.Variance != again.Plan.Variance {
		t.Errorf("%s\nis not\n%s\nfrom\n%s", again.Plan.Parameters, p.Parameters, text)
	}
}

// TestAdviceOfUnlikeParties: where one party has most records, joining may pay for the others and not for it,
// and the advice names both, in whatever order the parties are.
func TestAdviceOfUnlikeParties(t *testing.T) {
	ad := advisor(t, rehearsedSchema)
	ad.Records, ad.Accuracy, ad.Epsilon = []int{20, 20, 20, 3000}, 0.9, 0.5
	a, err := ad.Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if !a.Uneven() || len(a.Fewest) != 1 || !(a.Fewest[0].LogLik < a.Alone[0].LogLik-0.05) {
		t.Errorf("alone %+v, with fewest %+v", a.Alone, a.Fewest)
	}
	fewest := "together is better than the party with the fewest, 20, alone"
	most := "the party with the most, 3000, alone, without any privacy, is better"
	if len(a.BreakEven) != 2 || !strings.Contains(a.BreakEven[0], fewest) || !strings.Contains(a.BreakEven[1],
		most) {
		t.Errorf("%q", a.BreakEven)
	}
	even := &Advice{Records: []int{300, 400, 500}}
	if even.Uneven() {
		t.Errorf("%v is uneven", even.Records)
	}
}

// TestAdviceWeighsParties: what is tried, and written, has the parties' shares of unequal records.
func TestAdviceWeighsParties(t *testing.T) {
	ad := advisor(t, rehearsedSchema)
	for _, c := range []struct {
		records []int
		want    []float64
	}{{[]int{60, 90}, []float64{0.4, 0.6}}, {[]int{60, 60}, []float64{0.5, 0.5}}} {
		ad.Records, ad.now = c.records, time.Now()
		spec, _, err := ad.plan(ad.settings()[0].config, c.records, ad.Epsilon)
		if err != nil {
			t.Fatal(err)
		}
		if got := spec.(*app.PVI).Weights; !slices.Equal(got, c.want) {
			t.Errorf("%v: weights %v", c.records, got)
		}
	}
}

// TestAdviceIsReproducible: the same question has the same answer, whatever the members' keys are, and
// each world has noise of its own.
func TestAdviceIsReproducible(t *testing.T) {
	ad := advisor(t, rehearsedSchema)
	ad.now = time.Now()
	all := ad.settings()
	if testing.Short() {
		all = all[:1]
	}
	for _, s := range all {
		t.Run(s.Name, func(t *testing.T) {
			var got [3]Scores
			for i, k := range []int{0, 0, 1} {
				spec, p, err := ad.plan(s.config, ad.Records, ad.Epsilon)
				if err != nil {
					t.Fatal(err)
				}
				d, err := ad.world(1, 0, ad.Records)
				if err != nil {
					t.Fatal(err)
				}
				if got[i], err = ad.learn(t.Context(), spec, p, d, k); err != nil {
					t.Fatal(err)
				}
			}
			if got[0] != got[1] || got[0].LogLikelihood == got[2].LogLikelihood {
				t.Errorf("%+v, again %+v, with other noise %+v", got[0], got[1], got[2])
			}
		})
	}
}

// TestFilledPlans: the file of every candidate leads to the same plan, also where the first
// rounds measure the centres of columns that have a range only.
func TestFilledPlans(t *testing.T) {
	ranges := "[target]\ny = [\"no\", \"yes\"]\n[columns]\na = [0, 10]\nb = [0, 3]\nc = [2, 4]\n"
	for _, schema := range []string{rehearsedSchema, ranges} {
		testFilled(t, advisor(t, schema), testing.Short())
	}
}

func testFilled(t *testing.T, ad *Advisor, short bool) {
	t.Helper()
	ad.now = time.Now()
	all := ad.settings()
	if short {
		all = all[:3] // the accountant of sampled records takes seconds
	}
	for _, s := range all {
		t.Run(s.Name, func(t *testing.T) {
			_, p, err := ad.plan(s.config, ad.Records, ad.Epsilon)
			if err != nil {
				t.Fatal(err)
			}
			full, err := s.config.Fill(p)
			if err != nil {
				t.Fatal(err)
			}
			_, again, err := ad.plan(full, ad.Records, ad.Epsilon)
			if err != nil || !bytes.Equal(p.Parameters, again.Parameters) || p.Rounds != again.Rounds {
				t.Errorf("%v\n%s\nis not\n%s", err, again.Parameters, p.Parameters)
			}
		})
	}
}

// TestSignalFor: stronger signals allow better predictions.
func TestSignalFor(t *testing.T) {
	if a, b := signalFor(0.75), signalFor(0.95); !(a > 0.5 && a < 3 && b > 5 && b < 40) {
		t.Errorf("%g, %g", a, b)
	}
}

// TestAdviseRefuses: what can't be advised on names the flag.
func TestAdviseRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Advisor)
		want   string
	}{
		"one party":   {func(a *Advisor) { a.Records = []int{5} }, "records: 1 parties"},
		"no records":  {func(a *Advisor) { a.Records = []int{5, 0} }, "records: 0"},
		"too many":    {func(a *Advisor) { a.Records = []int{50_000, 50_000} }, "records: 100000"},
		"accuracy":    {func(a *Advisor) { a.Accuracy = 1.5 }, "accuracy"},
		"epsilon":     {func(a *Advisor) { a.Epsilon = -1 }, "epsilon"},
		"all collude": {func(a *Advisor) { a.Colluders = 1 }, "colluders"},
	} {
		t.Run(name, func(t *testing.T) {
			ad := advisor(t, rehearsedSchema)
			c.change(ad)
			_, err := ad.Run(context.Background())
			var known *protocol.Error
			if !errors.As(err, &known) || known.Class != protocol.ClassInput || !strings.Contains(err.Error(),
				c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

func testKey(t *testing.T) *identity.PrivateKey {
	t.Helper()
	k, err := identity.Generate(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return k
}
