package study

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func sample() *Result {
	return &Result{SchemaVersion: 1, Name: "sample", Title: "A sample", Source: "nowhere", Seeds: 3,
		Transport: Memory,
		Spent: []Spent{{Method: "m", Epsilon: 0.99, Delta: 1e-5, Accountant: "exact",
			Relation: "replace-one", Noise: "some"}},
		Rows: []Row{
			Row{Case: "a", Method: "m", Measure: Accuracy, Bar: 0.8, Paper: &Figure{0.81, 0.001, "Table 1"},
				Values: []float64{0.79, 0.8, 0.81}}.Mean(),
			Row{Case: "a", Method: "m", Measure: KL, Values: []float64{3, 1, 2}}.Median(),
		},
		Panels: []Panel{{Title: "p", XLabel: "x", YLabel: "y", Curves: []Curve{
			{Name: "c", X: []float64{1, 2}, Y: []float64{3, 4}, SE: []float64{0.1, 0.2}}}}},
	}
}

// TestVerdicts against differences worked out by hand: Student's 97.5 % quantile with
// 2 degrees of freedom is 4.3027, and the standard error of 101, 102, 103 is 1/sqrt(3).
func TestVerdicts(t *testing.T) {
	three := []float64{101, 102, 103}
	edge := 4.3027 / math.Sqrt(3)
	tests := []struct {
		name    string
		measure Measure
		paper   Figure
		values  []float64
		want    Verdict
	}{
		{"within the interval", Accuracy, Figure{Value: 102 + edge - .01}, three, Reproduced},
		{"below it", Accuracy, Figure{Value: 102 + edge + .01}, three, Worse},
		{"above it", Accuracy, Figure{Value: 102 - edge - .01}, three, Better},
		{"above it, less is better", KL, Figure{Value: 102 - edge - .01}, three, Worse},
		{"below it, less is better", KL, Figure{Value: 102 + edge + .01}, three, Better},
		{"one seed", LogLikelihood, Figure{Value: -1}, []float64{-1.5}, Worse},
		{"one seed, equal", LogLikelihood, Figure{Value: -1}, []float64{-1}, Reproduced},
		{"precision of the reading", Accuracy, Figure{Value: 1, Precision: .05}, []float64{.96}, Reproduced},
		{"published figure is uncertain", MAE, Figure{Value: 8.26, Precision: 13.2}, []float64{1.15, 1.15},
			Uninformative},
		{"published figure is uncertain, far off", MAE, Figure{Value: 3.5, Precision: .4},
			[]float64{.1, .1}, Uninformative},
		{"a ratio that is uncertain on a log scale", RelativeMAE, Figure{Value: 5, Precision: .6}, []float64{5, 5},
			Uninformative},
		// log 1.1 - log 1 = .0953, and the figure is known to .08.
		{"a ratio beyond its precision", RelativeMAE, Figure{Value: 1.1, Precision: .088}, []float64{1, 1}, Better},
		{"a ratio within its precision", RelativeMAE, Figure{Value: 1.08, Precision: .0864}, []float64{1, 1},
			Reproduced},
		{"ours is uncertain", Accuracy, Figure{Value: .8}, []float64{.6, .8, 1}, Uninformative},
		{"ours is uncertain but clearly worse", KL, Figure{Value: 1}, []float64{5, 6, 7}, Worse},
		{"ten times as large", KL, Figure{Value: 1}, []float64{10, 10}, NotComparable},
		{"a tenth", KL, Figure{Value: 1}, []float64{.1, .1}, NotComparable},
		{"other sign", LogLikelihood, Figure{Value: -1}, []float64{1, 1}, NotComparable},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if r := (Row{Measure: test.measure, Paper: &test.paper,
				Values: test.values}).Mean(); r.Verdict != test.want {
				t.Errorf("%s, want %s", r.Verdict, test.want)
			}
		})
	}
	if r := (Row{Measure: Accuracy, Values: []float64{1}}).Mean(); r.Verdict != Unpublished {
		t.Error(r.Verdict)
	}
}

func TestBars(t *testing.T) {
	if !(Row{Measure: MAE, Bar: 2, Ours: 1.9}).reaches() ||
		(Row{Measure: Accuracy, Bar: 2, Ours: 1.9}).reaches() {
		t.Error("a bar is on the wrong side")
	}
}

// TestMedian: interquartile range 2 of 1..5, standard error 1.2533 (2/1.349) / sqrt 5.
func TestMedian(t *testing.T) {
	r := Row{Values: []float64{5, 1, 4, 2, 3}}.Median()
	if r.Ours != 3 || math.Abs(r.SE-0.83098) > 1e-5 {
		t.Errorf("%v, %v", r.Ours, r.SE)
	}
}

// TestWriteAndRead: what is written is read back, complete, and a result that was
// tampered with is refused.
func TestWriteAndRead(t *testing.T) {
	dir := t.TempDir()
	r := sample()
	if err := r.Write(dir); err != nil {
		t.Fatal(err)
	}
	for _, ext := range []string{".json", ".csv", ".md", ".svg", ".png"} {
		if s, err := os.Stat(filepath.Join(dir, "sample"+ext)); err != nil || s.Size() == 0 {
			t.Errorf("%s: %v", ext, err)
		}
	}
	all, err := ReadAll(dir)
	if err != nil || len(all) != 1 || all[0].Results("f") != r.Results("f") {
		t.Fatal(err)
	}
	for _, want := range []string{"| .8100 | .8000 (.0058) | -.0100 | .8000, reached | reproduced |",
		"| median KL divergence | - | 2 (0.536) |", "0.9900", "](f/sample.svg)"} {
		if !strings.Contains(all[0].Results("f"), want) {
			t.Errorf("the page lacks %q:\n%s", want, all[0].Results("f"))
		}
	}
	b, err := os.ReadFile(filepath.Join(dir, "sample.json"))
	if err != nil {
		t.Fatal(err)
	}
	for old, bad := range map[string]string{`"reproduced"`: `"better"`,
		`"schema_version": 1`: `"schema_version": 2`, `"values"`: `"seen"`} {
		if err := os.WriteFile(filepath.Join(dir, "sample.json"),
			[]byte(strings.Replace(string(b), old, bad, 1)), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadAll(dir); err == nil {
			t.Errorf("%s for %s was taken", bad, old)
		}
	}
	if _, err := ReadAll(t.TempDir()); err == nil {
		t.Error("an empty folder was taken")
	}
}

// TestProgress: steps are numbered, the status has the time that is left, and what is kept
// of a result is marked and reads back.
func TestProgress(t *testing.T) {
	var lines, states []string
	var kept *Result
	o := Options{
		Progress: func(s string) { lines = append(lines, s) },
		Status:   func(s string) { states = append(states, s) },
		Kept:     func(r *Result) { kept = r },
	}
	o = o.Begin(2)
	o.Tell("one")
	o.Tell("two")
	if got := strings.Join(lines, "|"); got != "[1/2] one|[2/2] two" {
		t.Errorf("lines %q", got)
	}
	if len(states) != 3 || states[0] != "0 of 2 steps" || !strings.HasSuffix(states[1], " left") ||
		states[2] != "2 of 2 steps" {
		t.Errorf("states %q", states)
	}
	o.Keep(&Result{})
	if kept != nil {
		t.Error("a result without rows was kept")
	}
	o.Keep(sample())
	if kept == nil || !kept.Unfinished || kept.Check() != nil {
		t.Errorf("kept %+v", kept)
	}
	if o := (Options{Only: []string{"b"}}); o.Count("a", "b") != 1 || o.Count("a", "c") != 2 {
		t.Error("counts of what is picked")
	}
}
