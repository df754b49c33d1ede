package report

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"choir/lab/trial"
	"choir/learn/dataset"
	"choir/learn/evaluate"
)

// TestEvaluations: the calibration names the class that it is about, and an error that noise hides is not
// written as 0.
func TestEvaluations(t *testing.T) {
	some := evaluate.Interval{Value: 0.8, Low: 0.7, High: 0.9}
	bins := []evaluate.Bin{{To: 1, Records: some, Gap: &some}}
	for name, c := range map[string]struct {
		target dataset.Column
		point  evaluate.Point
		want   []string
		not    string
	}{
		"classes": {dataset.Binary("died", "no", "yes"), evaluate.Point{Accuracy: &some, Calibration: bins},
			[]string{"The share of died=yes", "0.800 (0.700 to 0.900)"}, "second class"},
		"a number": {dataset.Numeric("stay", 0, 60), evaluate.Point{RMSE: &evaluate.Interval{High: 1.829},
			Calibration: []evaluate.Bin{{To: 1, Records: some}}},
			[]string{"hidden by noise (at most 1.829)", "distribution function"}, "0.000 (0.000"},
	} {
		c.point.LogLikelihood = some
		t.Run(name, func(t *testing.T) {
			p := &Page{Kind: "Session", Title: "t"}
			if err := p.evaluations([]evaluate.Point{c.point}, c.target); err != nil {
				t.Fatal(err)
			}
			html := rendered(t, p)
			for _, want := range c.want {
				if !strings.Contains(html, want) {
					t.Errorf("no %q in the report", want)
				}
			}
			if strings.Contains(html, c.not) {
				t.Errorf("%q is in the report", c.not)
			}
		})
	}
}

// TestTitleWithoutName: the report of a plan that has no name has a title.
func TestTitleWithoutName(t *testing.T) {
	dir := t.TempDir()
	config := filepath.Join(dir, "sum.toml")
	text := "rounds = 1\n[sum]\ncolumns = 1\nbound = 10.0\n"
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	made, err := trial.Write(trial.Options{Dir: filepath.Join(dir, "trial"), Config: config, Parties: 2,
		Nodes: 2, Epsilon: 1, Delta: 1e-5})
	if err != nil {
		t.Fatal(err)
	}
	p, err := ofPlan(filepath.Join(made.Dir, "plan.choir"))
	if err != nil || p.Title != "Plan" {
		t.Errorf("%+v, %v", p, err)
	}
}
