package app_test

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	mathrand "math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"choir/attack/threat"
	"choir/learn/bayes"
	"choir/learn/dataset"
	"choir/learn/response"
	"choir/privacy/ledger"
	"choir/protocol"
	"choir/session/app"
	"choir/session/internal/rig"
	"choir/session/run"
	"choir/session/terms"
)

// reports is an application in which records report one of three wards.
func reports(t testing.TB, gamma float64, records uint32) *app.Shuffle {
	t.Helper()
	schema := &dataset.Schema{Version: dataset.SchemaVersion, Source: "public: made up for a test",
		Target: dataset.Binary("died", "no", "yes"), Missing: dataset.Refuse, Unseen: dataset.Refuse,
		Columns: []dataset.Column{dataset.Categorical("ward", "icu", "er", "gen")}}
	raw, err := schema.Canonical()
	if err != nil {
		t.Fatal(err)
	}
	return &app.Shuffle{Version: 1, Schema: json.RawMessage(raw), Survey: response.Config{
		Estimate: response.Histogram, Columns: []response.Column{{Name: "ward", Categories: 3}},
		Gamma: uint64(math.Ceil(gamma * (1 << 32))), Records: records, MaxRecords: 1000}}
}

// inWards are records of the given wards.
func inWards(wards ...int) (d bayes.Data) {
	for _, w := range wards {
		x := []float64{0, 0, 0, 1}
		x[w] = 1
		d.X = append(d.X, x...)
		d.Y = append(d.Y, 0)
	}
	return d
}

// TestShuffledSession: the state at the end of a session over NATS is the histogram of all reports, bit for
// bit, which are new in every round.
func TestShuffledSession(t *testing.T) {
	for _, single := range []bool{false, true} { // a sum, a mix-net
		t.Run(fmt.Sprintf("mix-net %t", single), func(t *testing.T) {
			a := reports(t, 0.7, 2)
			a.Survey.Single = single
			shuffledSession(t, a)
		})
	}
}

// TestNoisySession: the same for reports with discrete Laplace noise through a mix-net, whose figures include
// the mean of what the sites have.
func TestNoisySession(t *testing.T) {
	schema := &dataset.Schema{Version: dataset.SchemaVersion, Source: "public: made up for a test",
		Target: dataset.Binary("died", "no", "yes"), Missing: dataset.Refuse, Unseen: dataset.Refuse,
		Columns: []dataset.Column{dataset.Numeric("age", 0, 100)}}
	raw, err := schema.Canonical()
	if err != nil {
		t.Fatal(err)
	}
	noise, err := response.NewNoise(11, 3)
	if err != nil {
		t.Fatal(err)
	}
	a := &app.Shuffle{Version: 1, Schema: json.RawMessage(raw), Survey: response.Config{Estimate: response.Mean,
		Columns: []response.Column{{Name: "age", Categories: 11}}, Noise: &noise, Single: true, Records: 2,
		MaxRecords: 1000}}
	c := rig.AppCase{App: a, Noise: protocol.NoiseShuffle, Rounds: 1}
	for _, ages := range [][]float64{{20, 30}, {40, 40, 50}, {60, 70}, {80, 80, 90}} {
		var d bayes.Data
		for _, age := range ages {
			d.X, d.Y = append(d.X, (age-50)/50, 1), append(d.Y, 0)
		}
		c.Parts = append(c.Parts, d)
	}
	l := c.Plan(t, protocol.NoiseShuffle, func(ts *terms.Terms) { ts.Epsilon, ts.Delta = 3, 1e-5 })
	rig.OverNATS(t, l)
	r, err := l.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if want := c.Plainly(t, l.Session.Plan); !slices.Equal(r.Model, want) || len(r.Reports[0]) != 10 {
		t.Errorf("the result is %v, the counts of the reports %v", r.Model, want)
	}
	layout, err := a.Layout()
	if err != nil {
		t.Fatal(err)
	}
	rows, err := layout.Figures(r.Model, 1, 1-1e-9) // of ten reports
	if err != nil || len(rows) != 2 || !(rows[1].Lower <= 56 && rows[1].Upper >= 56) || rows[1].NoiseSD < 10 {
		t.Errorf("%+v, %v: the mean is 56", rows, err)
	}
	p := *l.Session.Plan
	p.Reports.Keep += 2
	if terms.CheckPlan(&p) == nil {
		t.Error("a plan that claims more randomness than its reports have was accepted")
	}
	a.Survey.Noise = &response.Noise{Keep: 1 << 20, Margin: noise.Margin}
	raw, err = a.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	_, err = app.Parse(app.NameShuffle, raw)
	if err == nil || !strings.Contains(err.Error(), "want at most 21") {
		t.Errorf("reports with a local guarantee of 83: %v", err)
	}
}

func shuffledSession(t *testing.T, a *app.Shuffle) {
	t.Helper()
	c := rig.AppCase{App: a, Noise: protocol.NoiseShuffle, Rounds: 2,
		Parts: []bayes.Data{inWards(0, 1, 1), inWards(2, 2), inWards(0, 1, 2, 0), inWards(1, 1, 0)}}
	l := c.Plan(t, protocol.NoiseShuffle, func(ts *terms.Terms) { ts.Epsilon, ts.Delta = 3, 1e-5 })
	rig.OverNATS(t, l)
	r, err := l.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if a.Survey.Single && (len(r.Reports) != 2 || len(r.Reports[1]) != 12) {
		t.Errorf("the mix-net carried %v", r.Reports)
	}
	want := c.Plainly(t, l.Session.Plan)
	if !slices.Equal(r.Model, want) || r.Model[0]+r.Model[1]+r.Model[2] != 24 {
		t.Errorf("the result is %v, the reports' histogram %v", r.Model, want)
	}
	p := l.Session.Plan
	side := join(t, c.App, p, 2, c.Parts[2], 9)
	distinct := map[string]bool{}
	for range 20 {
		distinct[fmt.Sprint(propose(t, side))] = true
	}
	if len(distinct) < 2 {
		t.Error("twenty attempts have the same reports")
	}
}

func join(t testing.TB, a app.Spec, p *protocol.Plan, party uint32, d bayes.Data, seed byte) app.Party {
	t.Helper()
	side, err := a.Join(app.PartyConfig{Plan: p, Party: party, Data: d,
		Rand: mathrand.NewChaCha8([32]byte{seed, byte(party)})})
	if err != nil {
		t.Fatal(err)
	}
	return side
}

func propose(t testing.TB, side app.Party) []int64 {
	t.Helper()
	update, _, err := side.Propose(t.Context(), protocol.Work{Round: 1, Attempt: 1})
	if err != nil {
		t.Fatal(err)
	}
	return update
}

// shuffledPlan is a plan of so many parties for reports.
func shuffledPlan(t testing.TB, a app.Spec, parties int, epsilon, delta float64) (*protocol.Plan, error) {
	t.Helper()
	list, _ := rig.Members(t, parties, 2)
	ts := rig.Terms(list)
	ts.Noise, ts.Epsilon, ts.Delta = protocol.NoiseShuffle, epsilon, delta
	return ts.Plan(a)
}

// TestTotalHasTheLawOfTheReports compares the total of four sites, of one record each, with the law by
// enumeration of their reports. The seed is fixed; a fresh one fails with probability 10^-9.
func TestTotalHasTheLawOfTheReports(t *testing.T) {
	a, values := reports(t, 0.5, 1), []int{0, 0, 1, 2}
	p, err := shuffledPlan(t, a, 4, 2, 1e-5)
	if err != nil {
		t.Fatal(err)
	}
	law := map[[3]int64]float64{{}: 1}
	for _, v := range values {
		next := map[[3]int64]float64{}
		for counts, mass := range law {
			for y := range 3 {
				q := 0.5 / 3
				if y == v {
					q += 0.5
				}
				c := counts
				c[y]++
				next[c] += mass * q
			}
		}
		law = next
	}
	var sides []app.Party
	for i, v := range values {
		sides = append(sides, join(t, a, p, uint32(i), inWards(v), 4))
	}
	const rounds = 20_000
	seen := map[[3]int64]int{}
	for range rounds {
		var total [3]int64
		for _, s := range sides {
			for y, c := range propose(t, s) {
				total[y] += c
			}
		}
		seen[total]++
	}
	chi := 0.0
	for c, mass := range law {
		want := mass * rounds
		chi += (float64(seen[c]) - want) * (float64(seen[c]) - want) / want
		delete(seen, c)
	}
	limit := distuv.ChiSquared{K: float64(len(law) - 1)}.Quantile(1 - 1e-9)
	if len(law) != 15 || len(seen) > 0 || chi > limit {
		t.Errorf("%d histograms, %v impossible, chi squared %.1f, limit %.1f", len(law), seen, chi, limit)
	}
}

// TestShuffledSessionKeepsItsClaim has a curious party look at totals of sites that differ in the victim's
// record, all others being in a third ward, and bounds epsilon from below: between half and all of what the
// plan claims. The bound exceeds the truth with a probability of at most 10^-9.
func TestShuffledSessionKeepsItsClaim(t *testing.T) {
	const delta = 0.01
	// Five sites of three records, of which one is curious: twelve honest reports.
	a := reports(t, 0.5, 3)
	p, err := shuffledPlan(t, a, 5, 2, delta)
	if err != nil {
		t.Fatal(err)
	}
	spent, _, err := p.Spends(1)
	if err != nil {
		t.Fatal(err)
	}
	c, _ := p.Charge(1)
	if c.Shuffled.Reports != 12 {
		t.Fatalf("the claim counts on %d reports, want 12", c.Shuffled.Reports)
	}
	see := func(victim int) []float64 {
		sides := []app.Party{join(t, a, p, 0, inWards(victim, 2, 2), byte(10+victim))}
		for i := 1; i < 5; i++ {
			sides = append(sides, join(t, a, p, uint32(i), inWards(2, 2, 2), byte(10+victim)))
		}
		seen := make([]float64, 60_000)
		for i := range seen {
			var total [3]float64
			for j, s := range sides {
				for y, n := range propose(t, s) {
					if j < 4 { // the last site subtracts its own reports
						total[y] += float64(n)
					}
				}
			}
			// The likelihood ratio; a true report is four times as likely as another.
			seen[i] = math.Log((4*total[0] + total[1] + total[2]/4) / (total[0] + 4*total[1] + total[2]/4))
		}
		return seen
	}
	found, err := threat.Test{Delta: delta, FalseAlarm: 1e-9}.Epsilon(see(0), see(1))
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("claimed %.3f, found %.3f", spent.Epsilon, found.Epsilon)
	if found.Epsilon > spent.Epsilon || found.Epsilon < spent.Epsilon/2 {
		t.Errorf("found %.3f, not between half and all of the claim %.3f", found.Epsilon, spent.Epsilon)
	}
}

// TestReportsThatThePlanDoesNotCover: claims for other reports than the parties', and parties without enough
// records, are refused.
func TestReportsThatThePlanDoesNotCover(t *testing.T) {
	a := reports(t, 0.5, 2)
	p, err := shuffledPlan(t, a, 4, 2, 1e-5)
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*protocol.Plan){
		"more records":     func(p *protocol.Plan) { p.Reports.Records = 3 },
		"more randomness":  func(p *protocol.Plan) { p.Reports.Gamma++ },
		"fewer columns":    func(p *protocol.Plan) { p.Reports.Columns = 0 },
		"more categories":  func(p *protocol.Plan) { p.Reports.Categories = 2 },
		"noise of parties": func(p *protocol.Plan) { p.Noise, p.Variance, p.Sensitivity = 1, 1<<40, 2 },
		"a mix-net":        func(p *protocol.Plan) { p.Reports.MixRecords, p.Dim = 2, 1 },
		"no noise":         func(p *protocol.Plan) { p.Noise = protocol.NoiseNone },
		"a plain sum":      func(p *protocol.Plan) { p.Application = app.NameSum },
	} {
		t.Run(name, func(t *testing.T) {
			q := *p
			change(&q)
			if terms.CheckPlan(&q) == nil {
				t.Error("accepted")
			}
		})
	}
	if _, err := shuffledPlan(t, a, 4, 0.1, 1e-5); protocol.ClassOf(err) != protocol.ClassInput {
		t.Errorf("a claim that the reports exceed: %v", err)
	}
	learn := rig.AppCases(t)["virtual"].App
	if _, err := shuffledPlan(t, learn, 3, 2, 1e-5); err == nil {
		t.Error("learning whose noise is placed with reports")
	}
	random := func() io.Reader { return mathrand.NewChaCha8([32]byte{}) }
	for name, c := range map[string]app.PartyConfig{
		"1 records, and the plan's epsilon counts on 2": {Data: inWards(0), Rand: random()},
		"the plan allows a party 1000":                  {Data: inWards(make([]int, 1001)...), Rand: random()},
		"no source of randomness":                       {Data: inWards(0, 1)},
	} {
		c.Plan = p
		if _, err := a.Join(c); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%v, want %q", err, name)
		}
	}
}

// TestEveryAttemptOfReportsIsCharged: a void attempt may have been revealed, so that the one after it is
// charged too, within the plan's budget and the site's own.
func TestEveryAttemptOfReportsIsCharged(t *testing.T) {
	list, _ := rig.Members(t, 4, 2)
	ts := rig.Terms(list)
	ts.Noise, ts.SpareAttempts, ts.Delta = protocol.NoiseShuffle, 1, 1e-5
	p, err := ts.Plan(reports(t, 0.5, 20)) // its epsilon is what two attempts spend
	if err != nil {
		t.Fatal(err)
	}
	chain := new(ledger.Ledger)
	l := run.NewLedger(protocol.Bind(p), chain, nil)
	for attempt := uint32(1); attempt <= 2; attempt++ {
		entry, _, err := l.Charge(1, attempt)
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Append(entry); err != nil {
			t.Fatal(err)
		}
	}
	two, err := chain.Spent(p.Delta)
	if err != nil || two.Epsilon > p.Epsilon || two.Epsilon < 0.9*p.Epsilon {
		t.Errorf("two attempts spend %v of %v: %v", two, p.Epsilon, err)
	}
	if _, _, err := l.Charge(1, 3); protocol.ClassOf(err) != protocol.ClassBudget {
		t.Errorf("a third attempt: %v", err)
	}
	if err := chain.Append(chain.NextReset("the data were replaced")); err != nil {
		t.Fatal(err)
	}
	if _, _, err := l.Charge(1, 3); protocol.ClassOf(err) != protocol.ClassBudget {
		t.Errorf("a third attempt after a reset, which is for other plans: %v", err)
	}
	own := run.NewLedger(protocol.Bind(p), new(ledger.Ledger), &ledger.Budget{Epsilon: 0.9 * two.Epsilon,
		Delta: p.Delta})
	if err := own.AffordRest(); protocol.ClassOf(err) != protocol.ClassBudget {
		t.Errorf("a site with a smaller budget: %v", err)
	}
	if _, _, err := own.Charge(1, 1); err != nil {
		t.Errorf("its first attempt: %v", err)
	}
}
