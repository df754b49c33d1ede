package session

import (
	"encoding/json"
	"fmt"
	mathrand "math/rand/v2"
	"slices"
	"strings"
	"testing"

	"choir/learn/dataset"
	"choir/learn/gauss"
	"choir/learn/global"
	"choir/learn/pvi"
	"choir/learn/stats"
	"choir/protocol"
)

// appCase is an application on a small learning problem.
type appCase struct {
	app    App
	noise  protocol.Placement // where its noise goes in a private plan
	rounds int
	parts  []pvi.Data
}

// schemaOf encodes so many columns, the bias among them.
func schemaOf(t testing.TB, features int, classes bool) json.RawMessage {
	t.Helper()
	schema := &dataset.Schema{Version: dataset.SchemaVersion, Source: "public: made up for a test", Target: dataset.Numeric("y", -8, 8), Missing: dataset.Refuse, Unseen: dataset.Refuse}
	if classes {
		schema.Target = dataset.Binary("y", "no", "yes")
	}
	for j := range features - 1 {
		schema.Columns = append(schema.Columns, dataset.Numeric(fmt.Sprintf("x%d", j), -1, 1))
	}
	raw, err := schema.Canonical()
	if err != nil {
		t.Fatal(err)
	}
	return json.RawMessage(raw)
}

// appCases has every application, and DP-PVI with joint noise, with local noise on
// shards and with noisy steps.
func appCases(t *testing.T) map[string]appCase {
	classes, lines := randomParts(3, 40, 4, true), randomParts(3, 40, 4, false)
	thirds := []float64{0.25, 0.25, 0.5}
	virtual := pvi.Config{Model: pvi.Logistic, Family: gauss.MeanField, Strategy: pvi.Virtual, Features: 4, Shards: 5, PriorPrecision: 1, PrecisionFloor: 1,
		Clip: 0.1, FracBits: 24, DampingBits: 16, Damping: 0.3, DampingDecay: 0.1, Beta: 0.5, Steps: 5, LearningRate: 0.05}
	perturbation := virtual
	perturbation.Strategy, perturbation.Shards, perturbation.Beta, perturbation.Local = pvi.Perturbation, 1, 0, true
	optimisation := perturbation
	optimisation.Strategy, optimisation.Clip, optimisation.FracBits, optimisation.Sampling, optimisation.SampleRate = pvi.Optimisation, 2, 19, pvi.SamplingPoisson, 0.5
	learn := func(c pvi.Config) App {
		return &Learning{Version: 1, PVI: c, Weights: thirds, Schema: schemaOf(t, 4, true)}
	}
	g := DefaultGlobal(4, 150)
	g.SampleRate, g.LearningRate, g.MaxRecords = 0.3, 0.05, 1000
	s := stats.Config{Features: 4, PriorPrecision: 1, Bound: 4, TargetBound: 16, MomentRounds: 1, Radius: 3, FracBits: 8, Records: 150, MaxRecords: 1000}
	return map[string]appCase{
		"virtual":      {learn(virtual), protocol.NoiseParty, 3, classes},
		"perturbation": {learn(perturbation), protocol.NoiseLocal, 3, classes},
		"optimisation": {learn(optimisation), protocol.NoiseLocal, 3, classes},
		"global":       {&GlobalVI{Version: 1, Global: g, Schema: schemaOf(t, 4, true)}, protocol.NoiseParty, 6, classes},
		"statistics":   {&Statistics{Version: 1, Statistics: s, Schema: schemaOf(t, 4, false)}, protocol.NoiseParty, 3, lines},
	}
}

// plan is the case's plan; the caller may change the terms.
func (c appCase) plan(t testing.TB, noise protocol.Placement, adjust func(*Terms)) *Local {
	t.Helper()
	list, keys := members(t, len(c.parts), 3)
	ts := terms(list)
	ts.Rounds, ts.Noise = c.rounds, noise
	if noise != protocol.NoiseNone {
		ts.Epsilon, ts.Delta = 2, 1e-5
	}
	adjust(&ts)
	p, err := ts.Plan(c.app)
	if err != nil {
		t.Fatal(err)
	}
	l := local(t, p, keys)
	if l.Model, err = NewModel(p); err != nil {
		t.Fatal(err)
	}
	ls := c.learners(t, p)
	l.App = func(i uint32) protocol.Application { return ls[i] }
	l.Proposer = func(i uint32) protocol.Proposer { return ls[i] }
	return l
}

// learners are the parties' sides, with seeded samples and local noise.
func (c appCase) learners(t testing.TB, p *protocol.Plan) []Learner {
	t.Helper()
	ls := make([]Learner, len(c.parts))
	for i, part := range c.parts {
		var err error
		if ls[i], err = c.app.Join(Seat{Plan: p, Party: uint32(i), Data: part, Rand: mathrand.NewChaCha8([32]byte{7, byte(i)})}); err != nil {
			t.Fatal(err)
		}
	}
	return ls
}

// plainly is the same learning with the sum in the clear.
func (c appCase) plainly(t *testing.T, p *protocol.Plan) []int64 {
	t.Helper()
	ls, states := c.learners(t, p), make([][]byte, len(c.parts))
	for i, l := range ls {
		states[i] = l.InitialState()
	}
	model := c.app.Model().Initial()
	for round := uint32(1); round <= p.Rounds; round++ {
		sum := make([]int64, p.Dim)
		for i, l := range ls {
			update, memo, err := l.Propose(t.Context(), protocol.Work{Round: round, Attempt: 1, Model: model, State: states[i]})
			if err != nil {
				t.Fatal(err)
			}
			for j, v := range update {
				sum[j] += v
			}
			if states[i], err = l.Settle(round, states[i], memo); err != nil {
				t.Fatal(err)
			}
		}
		var err error
		if model, err = c.app.Model().Fold(round, model, sum); err != nil {
			t.Fatal(err)
		}
	}
	return model
}

// TestEveryAppSecureEqualsPlain: for each application, the secure session ends in the
// very integers of the plain one, in memory and over NATS. Joint noise is off, so that
// sums can be compared; noise that parties add to their own steps is on, and seeded.
func TestEveryAppSecureEqualsPlain(t *testing.T) {
	ran := 0
	for name, c := range appCases(t) {
		for _, bus := range []string{"memory", "nats"} {
			t.Run(name+"/"+bus, func(t *testing.T) {
				noise := protocol.NoiseNone
				if c.noise == protocol.NoiseLocal {
					noise = c.noise
				}
				l := c.plan(t, noise, func(*Terms) {})
				if bus == "nats" {
					overNATS(t, l)
				}
				secure, err := l.Run(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				plain := c.plainly(t, l.Session.Plan)
				if slices.Equal(plain, c.app.Model().Initial()) {
					t.Fatal("the plain run learnt nothing: the comparison would be empty")
				}
				if !slices.Equal(secure.Model, plain) {
					t.Errorf("secure %v\nplain  %v", secure.Model, plain)
				}
			})
			ran++
		}
	}
	if ran != 10 {
		t.Fatalf("%d cases ran, not 10", ran)
	}
}

// TestEveryAppPrivately: each application runs under a private plan whose releases spend
// no more than its budget, and leaves a proper posterior.
func TestEveryAppPrivately(t *testing.T) {
	for name, c := range appCases(t) {
		t.Run(name, func(t *testing.T) {
			l := c.plan(t, c.noise, func(ts *Terms) { ts.SpareAttempts = 1 })
			p := l.Session.Plan
			if err := CheckPlan(p); err != nil {
				t.Fatal(err)
			}
			b, ok, err := p.Spends(p.Releases())
			if err != nil || !ok || b.Epsilon > 2 || b.Epsilon < 1.9 {
				t.Errorf("spends %v (%v, %v), the budget is 2", b.Epsilon, ok, err)
			}
			rep, err := l.Run(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			q, err := c.app.Posterior(p, rep.Model)
			if err != nil {
				t.Fatal(err)
			}
			if scores, err := q.Evaluate(c.parts[0]); err != nil || scores.Rows != c.parts[0].Rows() {
				t.Errorf("scores %+v, %v", scores, err)
			}
		})
	}
}

// TestCheckPlanRefusesMismatch: a plan whose numbers cover less than its application
// does isn't signed, and the refusal names what is wrong. The variance is made huge
// first, so that no case is refused for its epsilon instead.
func TestCheckPlanRefusesMismatch(t *testing.T) {
	spoilers := []struct {
		name, want string
		spoil      func(p *protocol.Plan) bool // false: doesn't apply
	}{
		{"sensitivity", "sensitivity", func(p *protocol.Plan) bool { p.Sensitivity--; return true }},
		{"per party", "per_party", func(p *protocol.Plan) bool { p.PerParty--; return p.PerParty >= p.Clip }},
		{"clip", "clip", func(p *protocol.Plan) bool { p.Clip--; return true }},
		{"placement", "placed with", func(p *protocol.Plan) bool {
			if p.Noise == protocol.NoiseLocal {
				p.Noise, p.LocalSteps = protocol.NoiseParty, 0
			} else {
				p.Noise, p.LocalSteps = protocol.NoiseLocal, 1
			}
			return true
		}},
		{"steps", "steps a round", func(p *protocol.Plan) bool { p.LocalSteps--; return p.LocalSteps > 0 && p.LocalSteps < 1000 }},
		{"rate", "samples records", func(p *protocol.Plan) bool { p.SampleRate /= 2; return p.Sampling != 0 }},
		{"sampling", "samples records", func(p *protocol.Plan) bool {
			was := p.Sampling
			p.Sampling, p.SampleRate, p.Accountant = 1, 0.01, protocol.AccountantSampled
			return was == 0
		}},
		{"dim", "dim is", func(p *protocol.Plan) bool { p.Dim++; return true }},
		{"grid", "frac_bits is", func(p *protocol.Plan) bool { p.FracBits++; return true }},
		{"application", "no such application", func(p *protocol.Plan) bool { p.Application = "magic"; return true }},
		{"parameters", "parameters", func(p *protocol.Plan) bool { p.Parameters = append(p.Parameters, ' '); return true }},
		{"schema", "columns", func(p *protocol.Plan) bool {
			p.Parameters = []byte(strings.Replace(string(p.Parameters), `"features":4`, `"features":3`, 1))
			return true
		}},
	}
	for name, c := range appCases(t) {
		checked, good := 0, c.plan(t, c.noise, func(*Terms) {}).Session.Plan
		for _, s := range spoilers {
			p := *good
			p.Variance, p.Parameters = 1<<50, slices.Clone(good.Parameters)
			if !s.spoil(&p) {
				continue
			}
			checked++
			_, err := AppOf(&p)
			if err == nil || !strings.Contains(err.Error(), s.want) || protocol.ClassOf(err) != protocol.ClassInput {
				t.Errorf("%s, %s: %v, want a refusal that names %q", name, s.name, err, s.want)
			}
		}
		if checked < 9 {
			t.Errorf("%s: only %d spoilers applied", name, checked)
		}
	}
}

func TestTermsRefusePlacement(t *testing.T) {
	list, _ := members(t, 3, 2)
	for name, c := range appCases(t) {
		ts := terms(list)
		ts.Rounds, ts.Epsilon, ts.Delta, ts.Noise = c.rounds, 1, 1e-5, protocol.NoiseLocal
		if c.noise == protocol.NoiseLocal {
			ts.Noise = protocol.NoiseCompute
		}
		if _, err := ts.Plan(c.app); err == nil || !strings.Contains(err.Error(), "can't be placed") {
			t.Errorf("%s: %v", name, err)
		}
	}
	c := appCases(t)["statistics"]
	ts := terms(list)
	ts.Rounds, ts.Noise = 1, protocol.NoiseNone
	if _, err := ts.Plan(c.app); err == nil || !strings.Contains(err.Error(), "moment_rounds") {
		t.Errorf("no round left for the statistics: %v", err)
	}
}

// TestGlobalNeedsRandomness: samples without a source would be no samples.
func TestGlobalNeedsRandomness(t *testing.T) {
	c := appCases(t)["global"]
	p := c.plan(t, c.noise, func(*Terms) {}).Session.Plan
	if _, err := c.app.Join(Seat{Plan: p, Data: c.parts[0]}); err == nil {
		t.Error("a party without randomness joined")
	}
	if c.app.(*GlobalVI).Global.Optimiser != global.Adam {
		t.Error("the defaults have changed")
	}
}

func FuzzParseApp(f *testing.F) {
	names := []string{AppPVI, AppGlobal, AppStatistics}
	f.Add(uint8(0), []byte(`{"version":1}`))
	f.Add(uint8(1), []byte(`{"version":1,"global":{"model":"logistic","features":2,"prior_precision":1,"initial_sd":0.1,"clip":3,"frac_bits":18,"sample_rate":0.02,"records":10,"max_records":10,"optimiser":"adam","learning_rate":0.01,"rate_decay":0,"averaging":3},"schema":null}`))
	f.Add(uint8(2), []byte(`{"version":1,"statistics":{"features":2,"prior_precision":1,"noise_sd":0,"bound":1,"target_bound":1,"moment_rounds":1,"radius":2,"threshold":0,"target_threshold":0,"frac_bits":12,"records":10,"max_records":10},"schema":null}`))
	f.Fuzz(func(t *testing.T, which uint8, b []byte) {
		a, err := parseApp(names[int(which)%len(names)], b)
		if err != nil {
			return
		}
		again, err := a.Marshal()
		if err != nil || string(again) != string(b) {
			t.Fatalf("%q is read as %q, %v", b, again, err)
		}
		if _, err := a.Mechanism(); err != nil && a.Name() != AppPVI {
			t.Fatalf("valid parameters without a mechanism: %v", err)
		}
	})
}
