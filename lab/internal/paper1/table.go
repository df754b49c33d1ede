package paper1

import (
	"fmt"
	"slices"

	"choir/lab/internal/published"
	"choir/lab/study"
)

// add puts a data set's rows and curves into the result. The published code's errors
// are shown over its own error without privacy, and ours over ours.
func (s set) add(r *study.Result, n *published.Numbers, f found, plain []float64) {
	p := study.Panel{Title: s.name, XLabel: "epsilon", YLabel: "median MAE over the non-private one",
		LogX: true, YMin: 0.95, YMax: 3}
	for _, m := range methods() {
		c := study.Curve{Name: m.name + " (ours)"}
		for i, epsilon := range epsilons() {
			row := study.Row{Case: fmt.Sprintf("%s, epsilon %g", s.name, epsilon), Method: m.name,
				Measure: study.RelativeMAE, Values: over(f[m.name][i], plain)}
			if tabled(epsilon) {
				where := fmt.Sprintf("%s, epsilon %g", s.name, epsilon)
				row.Paper = n.Figure(where, m.name, study.RelativeMAE)
			}
			row = row.Median()
			c.X = append(c.X, epsilon)
			c.Y = append(c.Y, row.Ours)
			c.SE = append(c.SE, row.SE)
			if row.Paper != nil {
				r.Rows = append(r.Rows, row)
			}
		}
		p.Curves = append(p.Curves, c)
		if k := n.Curve(s.name, m.name, study.RelativeMAE); k != nil &&
			(m.name == "proj DDP" || m.name == "input perturbation") {
			k.Name = m.name + " (published code)"
			p.Curves = append(p.Curves, *k)
		}
	}
	r.Panels = append(r.Panels, p)
	r.Rows = append(r.Rows, claims(s.name, f)...)
}

// tabled reports whether an epsilon's errors are in the table.
func tabled(epsilon float64) bool { return epsilon == 1 || epsilon == 3.162 || epsilon == 10 }

func over(a, b []float64) []float64 {
	out := slices.Clone(a)
	for i := range out {
		out[i] /= b[i]
	}
	return out
}

// claims are the paper's two: the distributed methods do as well as with a trusted
// aggregator, and better than input perturbation. Each is the median over all epsilons and seeds of
// a ratio of errors; the bar is the claim.
func claims(set string, f found) (rows []study.Row) {
	for _, c := range []struct {
		a, b string
		bar  float64
	}{{"DDP", "TA", 1.1}, {"proj DDP", "proj TA", 1.1}, {"DDP", "input perturbation", 1},
		{"proj DDP", "input perturbation", 1}} {
		row := study.Row{Case: set + ", all epsilons", Method: c.a + " over " + c.b,
			Measure: study.RelativeMAE, Bar: c.bar}
		for i := range epsilons() {
			row.Values = append(row.Values, over(f[c.a][i], f[c.b][i])...)
		}
		rows = append(rows, row.Median())
	}
	return rows
}

func settings() []study.Setting {
	return []study.Setting{{Name: "parties", Value: "10, with the rows dealt out in turn"},
		{Name: "test rows", Value: "500 (red wine), 1000 (white wine, abalone)"},
		{Name: "delta", Value: "1e-4"}, {Name: "DDP, TA, input perturbation",
			Value: "records held to norm 1.5 in units of the bounds"},
		{Name: "proj DDP, proj TA", Value: "10 rounds, the first for means and standard deviations; " +
			"records held to norm sqrt(columns) in standard deviations"}}
}
