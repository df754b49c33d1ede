package experiment

import (
	"crypto/sha256"
	"fmt"
	"math"
	"path/filepath"
	"strings"

	"choir/crypto/fixedpoint"
	"choir/crypto/noise"
	"choir/learn/dataset"
	"choir/learn/table"
	"choir/protocol"
	"choir/session/app"
	"choir/session/result"
	"choir/session/terms"
)

// summing is a bare sum: every party has one row of numbers.
func (h *Rehearsal) summing(p *protocol.Plan, made *terms.Rehearsal, out *Counted) (*counting, error) {
	files, err := h.files(made)
	if err != nil {
		return nil, err
	}
	grid := fixedpoint.Grid{FracBits: p.FracBits}
	c := &counting{model: app.Sum{Dim: int(p.Dim)}}
	total := make([]float64, p.Dim)
	var drawn []string
	for i, name := range made.Parties {
		var v app.Fixed
		if file := files[name]; file != "" {
			x, err := dataset.LoadMatrix(file)
			if err != nil {
				return nil, protocol.Fail(protocol.ClassInput, "data: %w", err)
			}
			if v, err = app.Row(p, file, x); err != nil {
				return nil, err
			}
		} else {
			drawn = append(drawn, name)
			if v, err = h.row(p, i); err != nil {
				return nil, err
			}
		}
		own := make([]float64, p.Dim)
		grid.Float(own, v)
		for j := range total {
			total[j] += own[j]
		}
		c.sides = append(c.sides, summand{app.Sum{Dim: int(p.Dim)}, v})
		out.Records = append(out.Records, 1)
	}
	if len(drawn) > 0 {
		out.Warnings = append(out.Warnings, "rows that are drawn stand for "+strings.Join(drawn, ", "))
	}
	c.exact = func() ([]float64, error) { return total, nil }
	c.tables = func() (*result.Tables, error) { return h.sums(p) }
	return c, nil
}

// files are the parties' files by name.
func (h *Rehearsal) files(made *terms.Rehearsal) (map[string]string, error) {
	files := map[string]string{}
	for i, path := range h.Data {
		name, file, err := made.Party(i, path, len(h.Data))
		if err != nil {
			return nil, err
		}
		if files[name] != "" {
			return nil, protocol.Fail(protocol.ClassInput, "data: two files for %s", name)
		}
		files[name] = file
	}
	return files, nil
}

// row is a row in a random direction, half as long as the plan allows.
func (h *Rehearsal) row(p *protocol.Plan, party int) (app.Fixed, error) {
	g, err := noise.NewGaussian(1 << 20)
	if err != nil {
		return nil, err
	}
	v := make(app.Fixed, p.Dim)
	seed := sha256.Sum256(fmt.Appendf(nil, "rehearsal %d party %d", h.Seed, party))
	if err := g.FillSeeded(v, seed); err != nil {
		return nil, err
	}
	norm := 1.0
	for _, x := range v {
		norm += float64(x) * float64(x)
	}
	for i, x := range v {
		v[i] = int64(float64(x) / math.Sqrt(norm) * float64(p.PerParty) / 2)
	}
	return v, nil
}

// summand is a party with one row.
type summand struct {
	app.Sum
	app.Fixed
}

// sums are the coordinates with the intervals of the noise.
func (h *Rehearsal) sums(p *protocol.Plan) (*result.Tables, error) {
	m, err := result.ReadModel(filepath.Join(h.Out, "model.json"))
	if err != nil {
		return nil, err
	}
	sd := math.Ldexp(math.Sqrt(app.SumVariance(p)), -int(p.FracBits))
	t := &result.Tables{SchemaVersion: 1, Plan: m.Plan, Level: 0.95, Epsilon: p.Epsilon, Delta: p.Delta,
		NoiseSD: sd}
	for i, v := range m.Mean {
		t.Rows = append(t.Rows, table.Row{Table: "coordinate", Level: fmt.Sprint(i), Statistic: "sum", Value: v,
			NoiseSD: sd, Lower: v - z95*sd, Upper: v + z95*sd})
	}
	return t, nil
}

// z95 is the 97.5 % quantile of the normal distribution.
const z95 = 1.959963984540054
