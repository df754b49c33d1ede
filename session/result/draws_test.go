package result_test

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"choir/learn/dataset"
	"choir/protocol"
	"choir/session/internal/rig"
	"choir/session/result"
	"choir/session/terms"
)

// TestDraws: the draws of a sampler are the same in model.json and model.npz and have a line
// each in draws.csv, and a prediction is the average over them.
func TestDraws(t *testing.T) {
	c := rig.AppCases(t)["mcmc"]
	s := c.Plan(t, protocol.NoiseNone, func(*terms.Terms) {}).Session
	f, err := result.NewModelFile(s, c.Plainly(t, s.Plan), nil)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := f.Write(dir); err != nil {
		t.Fatal(err)
	}
	if f.Draws == nil || f.Draws.Chains != 3 || len(f.Draws.Values) < 6 {
		t.Fatalf("draws %+v", f.Draws)
	}
	x := []float64{0.3, -0.2, 0.1, 1}
	want := 0.0
	for _, w := range f.Draws.Values {
		a := 0.0
		for j, v := range w {
			a += v * x[j]
		}
		want += 1 / (1 + math.Exp(-a)) / float64(len(f.Draws.Values))
	}
	records, err := dataset.ReadRecords(strings.NewReader("x0,x1,x2,y\n0.3,-0.2,0.1,yes\n"),
		dataset.CSVOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"model.json", "model.npz"} {
		again, err := result.ReadModel(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if !slices.EqualFunc(again.Draws.Values, f.Draws.Values, slices.Equal) {
			t.Errorf("%s has other draws", name)
		}
		p, err := again.Predict(records, "")
		if err != nil {
			t.Fatal(err)
		}
		if p.Predictive != "draws" || math.Abs(p.Rows[0].Mean-want) > 1e-12 || p.Labelled != 1 {
			t.Errorf("%s predicts %+v by %s, want %v", name, p.Rows[0], p.Predictive, want)
		}
	}
	table, err := os.ReadFile(filepath.Join(dir, "draws.csv"))
	if err != nil || strings.Count(string(table), "\n") != len(f.Draws.Values)+1 {
		t.Errorf("draws.csv, %v:\n%s", err, table)
	}
	text, err := os.ReadFile(filepath.Join(dir, "model.json"))
	if err != nil {
		t.Fatal(err)
	}
	rig.WriteFile(t, dir, "model.json", strings.Replace(string(text), `"chains": 3`, `"chains": 100`, 1))
	if _, err := result.ReadModel(filepath.Join(dir, "model.json")); err == nil {
		t.Error("draws of a hundred chains are read, of which there are fewer")
	}
	other := rig.AppCases(t)["virtual"]
	s = other.Plan(t, protocol.NoiseNone, func(*terms.Terms) {}).Session
	if f, err = result.NewModelFile(s, other.Plainly(t, s.Plan), nil); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Predict(records, "draws"); err == nil {
		t.Error("a posterior without draws predicts by them")
	}
}
