package paper4

import (
	"testing"

	"choir/lab/bed"
	"choir/lab/study"
	"choir/learn/pvi"
)

// TestQuickNetwork runs two rounds of DP optimisation over the secure sum: they are
// accounted for, and they already predict better than the majority's share, .7607, would
// in the mean log likelihood, -.55.
func TestQuickNetwork(t *testing.T) {
	o := study.Options{Seeds: 1, Transport: study.Memory, Quick: true, Only: []string{"DP optimisation"}}
	r, err := Network().Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Check(); err != nil {
		t.Error(err)
	}
	if len(r.Rows) != 2 || len(r.Spent) != 1 || !(r.Spent[0].Epsilon > 1 && r.Spent[0].Epsilon <= 2) {
		t.Errorf("spent %+v, %d rows", r.Spent, len(r.Rows))
	}
	for _, row := range r.Rows {
		if row.Measure == study.LogLikelihood && !(row.Ours > -0.55 && row.Ours < -0.3) {
			t.Errorf("%+v", row)
		}
	}
}

// TestQuickNetworks: every other method runs with the network, within the budget of
// (2, 1e-5). Two rounds of few records teach it nothing: that is the study's business.
func TestQuickNetworks(t *testing.T) {
	c := figure4()
	data, err := c.data(study.Options{}, c.splits[1], 1)
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range data.Parts {
		const rows = 100
		data.Parts[i] = pvi.Data{X: p.X[:rows*len(p.X)/len(p.Y)], Y: p.Y[:rows]}
	}
	against, err := c.reference(data)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range c.methods[1:] {
		tr, err := m.run(t.Context(), study.Options{Transport: bed.Clear, Quick: true}, data, against, c.epsilon, 1)
		if err != nil {
			t.Fatal(err)
		}
		if s := tr.spent; !(s.Epsilon > 1.5 && s.Epsilon <= 2) || s.Delta != 1e-5 ||
			s.Relation != "replace-one" {
			t.Errorf("%+v", s)
		}
		if l := tr.last(); !(l[0] > 0.2 && l[0] < 0.9 && l[1] > -20 && l[1] < -0.3) {
			t.Errorf("%s: %v", m.name, l)
		}
		if s := tr.calibration; len(s) != 1 || !(s[0].ECE > 0) || s[0].Width != 0 || s[0].Coverage != nil {
			t.Errorf("%s: %+v", m.name, s)
		}
	}
}
