//go:build !race

package experiment

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"choir/learn/bayes"
	"choir/learn/pvi"
	"choir/session/result"
)

// TestModelsOfFewRecords: where predictions have other means than single weights, the model file that a
// session writes can be read, and has both.
func TestModelsOfFewRecords(t *testing.T) {
	for _, c := range []struct {
		name          string
		rows, columns int
		d             Demo
	}{
		{"numbers", 300, 5, Demo{Model: bayes.Linear, Method: MethodPVI, Strategy: pvi.NameVirtual, Epsilon: 0.3}},
		{"trace", 80, 8, Demo{Model: bayes.Logistic, Method: MethodMCMC, Epsilon: 6}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			d := c.d
			d.Parties, d.Computes, d.Delta, d.NoReferences = 3, 2, 1e-5, true
			d.Out, d.InMemory = filepath.Join(dir, "out"), true
			d.Data = Source{Path: filepath.Join(dir, "rows.csv"), Target: "y", Linear: d.Model == bayes.Linear,
				Train: 0.8, Seed: 1}
			if err := os.WriteFile(d.Data.Path, []byte(fewRows(c.rows, c.columns, d.Data.Linear)), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := d.Run(t.Context()); err != nil {
				t.Fatal(err)
			}
			m, err := result.ReadModel(filepath.Join(d.Out, "model.json"))
			if err != nil {
				t.Fatal(err)
			}
			q, err := m.Predictive.Likelihood.Posterior(m.Predictive.Natural)
			if err != nil {
				t.Fatal(err)
			}
			if !m.NoiseIncluded || slices.Equal(q.Mean(), m.Mean) {
				t.Errorf("noise included: %v; predictions have the means of single weights", m.NoiseIncluded)
			}
		})
	}
}

// fewRows is a file of rows of normal columns, and a number or a class.
func fewRows(rows, columns int, linear bool) string {
	r := rand.New(rand.NewPCG(31, 32))
	var text strings.Builder
	for i := range columns {
		fmt.Fprintf(&text, "x%d,", i)
	}
	text.WriteString("y\n")
	for range rows {
		score := r.NormFloat64() / 2
		for i := range columns {
			x := r.NormFloat64()
			score += x / float64(i+1)
			fmt.Fprintf(&text, "%.4f,", x)
		}
		if linear {
			fmt.Fprintf(&text, "%.4f\n", score)
		} else {
			fmt.Fprintf(&text, "%t\n", score > 0)
		}
	}
	return text.String()
}
