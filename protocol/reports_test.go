package protocol

import (
	"math"
	"reflect"
	"strings"
	"testing"

	"choir/privacy"
)

// reporting makes the test plan one of reports: three parties, of which all take part.
func reporting(p *Plan) *Plan {
	p.MinParties, p.Colluders, p.Noise, p.FracBits, p.Clip, p.PerParty = 3, 0, NoiseShuffle, 0, 1, 1000
	p.Reports = Reports{Records: 40, Columns: 1, Categories: 3, Gamma: 1 << 30}
	p.Relation, p.Epsilon, p.Delta, p.Accountant = uint8(privacy.ReplaceOne), 4, 1e-5, AccountantShuffled
	return p
}

// TestReportingPlan: a plan of reports is valid, is decoded as it was, and charges the reports of all parties
// but a curious one.
func TestReportingPlan(t *testing.T) {
	p := reporting(testPlan())
	if err := p.Validate(); err != nil {
		t.Fatal(err)
	}
	if err := p.CheckPrivacy(); err != nil {
		t.Fatal(err)
	}
	b, err := p.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	back, err := unmarshalPlan(b)
	if err != nil || !reflect.DeepEqual(back, p) {
		t.Errorf("%+v became %+v: %v", p, back, err)
	}
	c, claimed := p.Charge(2)
	want := privacy.Shuffled{Reports: 80, Categories: 3, Gamma: 1 << 30}
	if !claimed || c.Shuffled != want || c.Count != 2 {
		t.Errorf("two attempts are charged %+v", c)
	}
	spent := 0.0
	for attempts := 1; attempts <= 3; attempts++ {
		b, _, err := p.Spends(attempts)
		if err != nil || b.Epsilon <= spent || b.Epsilon > float64(attempts)*want.Local()*(1+1e-9) {
			t.Errorf("%d attempts spend %+v: %v", attempts, b, err)
		}
		spent = b.Epsilon
	}
	p.Colluders = 1
	if more, _, err := p.Spends(3); err != nil || more.Epsilon <= spent {
		t.Errorf("with a colluder %+v, without %v: %v", more, spent, err)
	}
	p.Epsilon = spent
	if err := p.CheckPrivacy(); err == nil || !strings.Contains(err.Error(), "3 attempts spend") {
		t.Errorf("the claim without the colluder: %v", err)
	}
}

// TestReportingPlanRejections: each row breaks one field of a valid plan, and the error names it.
func TestReportingPlanRejections(t *testing.T) {
	for name, row := range map[string]struct {
		want  string
		alter func(p *Plan)
	}{
		"no records":         {"records", func(p *Plan) { p.Reports.Records = 0 }},
		"many records":       {"records", func(p *Plan) { p.Reports.Records = 1<<30 + 1 }},
		"no columns":         {"columns", func(p *Plan) { p.Reports.Columns = 0 }},
		"many columns":       {"columns", func(p *Plan) { p.Reports.Columns = 1<<10 + 1 }},
		"one category":       {"categories", func(p *Plan) { p.Reports.Categories = 1 }},
		"many categories":    {"categories", func(p *Plan) { p.Reports.Categories = 4 }},
		"no randomness":      {"gamma", func(p *Plan) { p.Reports.Gamma = 0 }},
		"too random":         {"gamma", func(p *Plan) { p.Reports.Gamma = 1<<32 + 1 }},
		"noise beside gamma": {"keep", func(p *Plan) { p.Reports.Keep = 1 << 31 }},
		"no noise": {"local epsilon", func(p *Plan) {
			p.Reports.Gamma, p.Reports.Keep = 0, 1
			p.Dim, p.Reports.Categories = 9, 9
		}},
		"noise":              {"variance", func(p *Plan) { p.Variance = 1 }},
		"sampling":           {"sampling", func(p *Plan) { p.Sampling, p.SampleRate = 1, 0.5 }},
		"no honest reports":  {"honest reports", func(p *Plan) { p.Colluders = 2 }},
		"no claim":           {"epsilon", func(p *Plan) { p.Epsilon = 0 }},
		"infinite":           {"epsilon", func(p *Plan) { p.Epsilon = math.Inf(1) }},
		"delta":              {"delta", func(p *Plan) { p.Delta = 0 }},
		"add-remove":         {"epsilon", func(p *Plan) { p.Relation = uint8(privacy.AddRemove) }},
		"relation":           {"relation", func(p *Plan) { p.Relation = 0 }},
		"accountant":         {"accountant", func(p *Plan) { p.Accountant = AccountantInteger }},
		"mix-net, numbers":   {"dim", func(p *Plan) { p.Reports.MixRecords = 40 }},
		"mix-net, records":   {"mix_records", func(p *Plan) { p.Dim, p.Reports.MixRecords = 1, 39 }},
		"mix-net, reports":   {"max_records", func(p *Plan) { p.Dim, p.Reports.MixRecords = 1, 1<<14 }},
		"mix-net, audit":     {"audit", func(p *Plan) { p.Dim, p.Reports.MixRecords, p.Audit = 1, 40, true }},
		"reports with noise": {"placed with none", func(p *Plan) { p.Noise = NoiseNone }},
	} {
		t.Run(name, func(t *testing.T) {
			p := reporting(testPlan())
			row.alter(p)
			err := p.Validate()
			if err == nil {
				err = p.CheckPrivacy()
			}
			if ClassOf(err) != ClassInput || !strings.Contains(err.Error(), row.want) {
				t.Errorf("%v, want %q", err, row.want)
			}
		})
	}
}
