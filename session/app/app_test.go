package app_test

import (
	"slices"
	"strings"
	"testing"

	"choir/learn/global"
	"choir/privacy"
	"choir/protocol"
	"choir/session/app"
	"choir/session/internal/rig"
	"choir/session/terms"
)

// TestEveryAppSecureEqualsPlain: for each application, the secure session ends in the
// very integers of the plain one, in memory and over NATS. Joint noise is off, so that
// sums can be compared; noise that parties add to their own steps is on, and seeded.
func TestEveryAppSecureEqualsPlain(t *testing.T) {
	ran := 0
	for name, c := range rig.AppCases(t) {
		for _, bus := range []string{"memory", "nats"} {
			t.Run(name+"/"+bus, func(t *testing.T) {
				noise := protocol.NoiseNone
				if c.Noise == protocol.NoiseLocal {
					noise = c.Noise
				}
				l := c.Plan(t, noise, func(*terms.Terms) {})
				if bus == "nats" {
					rig.OverNATS(t, l)
				}
				secure, err := l.Run(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				plain := c.Plainly(t, l.Session.Plan)
				if slices.Equal(plain, c.App.Model(l.Session.Plan).Initial()) {
					t.Fatal("the plain run learnt nothing: the comparison would be empty")
				}
				if !slices.Equal(secure.Model, plain) {
					t.Errorf("secure %v\nplain  %v", secure.Model, plain)
				}
			})
			ran++
		}
	}
	if ran != 26 {
		t.Fatalf("%d cases ran, not 26", ran)
	}
}

// TestEveryAppPrivately: each application runs under a private plan whose releases spend
// no more than its budget, and leaves a proper posterior.
func TestEveryAppPrivately(t *testing.T) {
	for name, c := range rig.AppCases(t) {
		t.Run(name, func(t *testing.T) {
			l := c.Plan(t, c.Noise, func(ts *terms.Terms) { ts.SpareAttempts = 1 })
			p := l.Session.Plan
			if err := terms.CheckPlan(p); err != nil {
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
			q, err := c.App.Posterior(p, rep.Model)
			if err != nil {
				t.Fatal(err)
			}
			if scores, err := q.Evaluate(c.Parts[0]); err != nil || scores.Rows != c.Parts[0].Rows() {
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
		{"relation", "add-remove", func(p *protocol.Plan) bool {
			p.Relation = uint8(privacy.AddRemove)
			return p.Sampling != uint8(privacy.SamplingFixed)
		}},
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
		{"steps", "steps a round", func(p *protocol.Plan) bool {
			p.LocalSteps--
			return p.LocalSteps > 0 &&
				p.LocalSteps < 1000
		}},
		{"rate", "samples records", func(p *protocol.Plan) bool { p.SampleRate /= 2; return p.Sampling != 0 }},
		{"sampling", "samples records", func(p *protocol.Plan) bool {
			was := p.Sampling
			p.Sampling, p.SampleRate, p.Accountant = 1, 0.01, protocol.AccountantSampled
			return was == 0
		}},
		{"dim", "dim is", func(p *protocol.Plan) bool { p.Dim++; return true }},
		{"grid", "frac_bits is", func(p *protocol.Plan) bool { p.FracBits++; return true }},
		{"application", "no such application",
			func(p *protocol.Plan) bool { p.Application = "magic"; return true }},
		{"parameters", "parameters", func(p *protocol.Plan) bool {
			p.Parameters = append(p.Parameters,
				' ')
			return true
		}},
		{"schema", "columns", func(p *protocol.Plan) bool {
			p.Parameters = []byte(strings.Replace(string(p.Parameters), `"features":4`, `"features":3`, 1))
			return true
		}},
	}
	for name, c := range rig.AppCases(t) {
		checked, good := 0, c.Plan(t, c.Noise, func(*terms.Terms) {}).Session.Plan
		for _, s := range spoilers {
			p := *good
			p.Variance, p.Parameters = 1<<50, slices.Clone(good.Parameters)
			if !s.spoil(&p) {
				continue
			}
			checked++
			_, err := app.Of(&p)
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
	list, _ := rig.Members(t, 3, 2)
	for name, c := range rig.AppCases(t) {
		ts := rig.Terms(list)
		ts.Rounds, ts.Epsilon, ts.Delta, ts.Noise = c.Rounds, 1, 1e-5, protocol.NoiseLocal
		if c.Noise == protocol.NoiseLocal {
			ts.Noise = protocol.NoiseCompute
		}
		if _, err := ts.Plan(c.App); err == nil || !strings.Contains(err.Error(), "can't be placed") {
			t.Errorf("%s: %v", name, err)
		}
	}
	c := rig.AppCases(t)["statistics"]
	ts := rig.Terms(list)
	ts.Rounds, ts.Noise = 1, protocol.NoiseNone
	if _, err := ts.Plan(c.App); err == nil || !strings.Contains(err.Error(), "moment_rounds") {
		t.Errorf("no round left for the statistics: %v", err)
	}
}

// TestGlobalNeedsRandomness: samples without a source would be no samples.
func TestGlobalNeedsRandomness(t *testing.T) {
	c := rig.AppCases(t)["global"]
	p := c.Plan(t, c.Noise, func(*terms.Terms) {}).Session.Plan
	if _, err := c.App.Join(app.PartyConfig{Plan: p, Data: c.Parts[0]}); err == nil {
		t.Error("a party without randomness joined")
	}
	if c.App.(*app.GlobalVI).Global.Optimiser != global.Adam {
		t.Error("the defaults have changed")
	}
}

// TestNames: every name is one that Parse knows, or that of plans without parameters.
func TestNames(t *testing.T) {
	for _, name := range app.Names() {
		_, err := app.Parse(name, nil)
		unknown := err != nil && strings.Contains(err.Error(), "no such application")
		if unknown != (name == app.NameSum) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzParseApp(f *testing.F) {
	names := []string{app.NamePVI, app.NameGlobal, app.NameStatistics, app.NameMCMC}
	f.Add(uint8(0), []byte(`{"version":1}`))
	f.Add(uint8(1),
		[]byte(`{"version":1,"global":{"model":"logistic","features":2,"prior_precision":1,`+
			`"initial_sd":0.1,"clip":3,"frac_bits":18,"sample_rate":0.02,"records":10,"max_records":10,`+
			`"optimiser":"adam","learning_rate":0.01,"rate_decay":0,"averaging":3},"schema":null}`))
	f.Add(uint8(2),
		[]byte(`{"version":1,"statistics":{"features":2,"prior_precision":1,"noise_sd":0,"bound":1,`+
			`"target_bound":1,"moment_rounds":1,"radius":2,"threshold":0,"target_threshold":0,`+
			`"frac_bits":12,"records":10,"max_records":10},"schema":null}`))
	f.Fuzz(func(t *testing.T, which uint8, b []byte) {
		a, err := app.Parse(names[int(which)%len(names)], b)
		if err != nil {
			return
		}
		again, err := a.Marshal()
		if err != nil || string(again) != string(b) {
			t.Fatalf("%q is read as %q, %v", b, again, err)
		}
		if _, err := a.Mechanism(); err != nil && a.Name() != app.NamePVI {
			t.Fatalf("valid parameters without a mechanism: %v", err)
		}
	})
}
