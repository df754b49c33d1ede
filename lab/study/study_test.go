package study

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func sample() *Result {
	return &Result{SchemaVersion: 1, Name: "sample", Title: "A sample", Source: "nowhere", Seeds: 3, Transport: Memory,
		Spent: []Spent{{Method: "m", Epsilon: 0.99, Delta: 1e-5, Accountant: "exact", Relation: "replace-one", Noise: "some"}},
		Rows: []Row{
			Row{Case: "a", Method: "m", Measure: Accuracy, Bar: 0.8, Paper: &Figure{0.9, 0.001, "Table 1"}, Values: []float64{0.7, 0.8, 0.9}}.Mean(),
			Row{Case: "a", Method: "m", Measure: KL, Values: []float64{3, 1, 2}}.Median(),
		},
		Panels: []Panel{{Title: "p", XLabel: "x", YLabel: "y", Curves: []Curve{{Name: "c", X: []float64{1, 2}, Y: []float64{3, 4}, SE: []float64{0.1, 0.2}}}}},
	}
}

// TestVerdicts against differences worked out by hand: Student's 97.5 % quantile with
// 2 degrees of freedom is 4.3027, and the standard error of 1, 2, 3 is 1/sqrt(3).
func TestVerdicts(t *testing.T) {
	for _, c := range []struct {
		measure Measure
		paper   float64
		values  []float64
		want    Verdict
	}{
		{Accuracy, 2 + 4.30/math.Sqrt(3), []float64{1, 2, 3}, Reproduced},
		{Accuracy, 2 + 4.31/math.Sqrt(3), []float64{1, 2, 3}, Worse},
		{Accuracy, 2 - 4.31/math.Sqrt(3), []float64{1, 2, 3}, Better},
		{KL, 2 - 4.31/math.Sqrt(3), []float64{1, 2, 3}, Worse},
		{KL, 2 + 4.31/math.Sqrt(3), []float64{1, 2, 3}, Better},
		{LogLikelihood, -1, []float64{-1.5}, Worse},
		{LogLikelihood, -1, []float64{-1}, Reproduced},
	} {
		r := Row{Measure: c.measure, Paper: &Figure{Value: c.paper}, Values: c.values}.Mean()
		if r.Verdict != c.want {
			t.Errorf("%+v: %s", c, r.Verdict)
		}
	}
	r := Row{Measure: Accuracy, Paper: &Figure{Value: 1, Precision: 0.5}, Values: []float64{0.5}}.Mean()
	if r.Verdict != Reproduced || !(Row{Measure: MAE, Bar: 2, Ours: 1.9}).Reaches() || (Row{Measure: Accuracy, Bar: 2, Ours: 1.9}).Reaches() {
		t.Error("precision or bars")
	}
	if r := (Row{Measure: Accuracy, Values: []float64{1}}).Mean(); r.Verdict != Unpublished {
		t.Error(r.Verdict)
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
	if err != nil || len(all) != 1 || Page(all, "f") != Page([]*Result{r}, "f") {
		t.Fatal(err)
	}
	for _, want := range []string{"| .9000 | .8000 (.0577) | -.1000 | .8000, reached | reproduced |", "| median KL divergence | - | 2 (0.536) |", "0.9900", "](f/sample.svg)"} {
		if !strings.Contains(Page(all, "f"), want) {
			t.Errorf("the page doesn't say %q:\n%s", want, Page(all, "f"))
		}
	}
	b, err := os.ReadFile(filepath.Join(dir, "sample.json"))
	if err != nil {
		t.Fatal(err)
	}
	for old, bad := range map[string]string{`"reproduced"`: `"better"`, `"schema_version": 1`: `"schema_version": 2`, `"values"`: `"seen"`} {
		if err := os.WriteFile(filepath.Join(dir, "sample.json"), []byte(strings.Replace(string(b), old, bad, 1)), 0o600); err != nil {
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
