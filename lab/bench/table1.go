package bench

import (
	"context"
	"slices"

	"choir/protocol"
)

// paperSeconds are the runtimes of [DCA], Table 1: means of five
// runs with M = 10 on Spark, without encryption.
var paperSeconds = []struct {
	parties, dim int
	seconds      float64
}{
	{1e2, 1e1, 1.72}, {1e2, 1e2, 2.03}, {1e2, 1e3, 3.43}, {1e2, 1e4, 15.30},
	{1e3, 1e1, 1.89}, {1e3, 1e2, 2.86}, {1e3, 1e3, 10.56}, {1e3, 1e4, 84.95},
	{1e4, 1e1, 2.99}, {1e4, 1e2, 12.36}, {1e4, 1e3, 101.2}, {1e4, 1e4, 994.96},
	{1e5, 1e1, 8.58}, {1e5, 1e2, 65.64}, {1e5, 1e3, 610.55}, {1e5, 1e4, 1592.29},
}

// Grid selects cells of the paper's table.
type Grid struct {
	MinParties int // 0: no bound
	MaxParties int
	MinDim     int
	MaxDim     int
	Cell       Config // everything but parties and dimension; Computes 0: the paper's 10
}

// Table1 is the paper's grid with our figures and its own.
type Table1 struct {
	Header
	Suite    string       `json:"suite"`
	Sigma    uint64       `json:"sigma"`
	Computes int          `json:"compute_nodes"`
	Cells    []Table1Cell `json:"cells"`
}

// Table1Cell is one of them. Ratios are the paper's seconds over ours.
type Table1Cell struct {
	Parties      int     `json:"parties"`
	Dim          int     `json:"dim"`
	PaperSeconds float64 `json:"paper_seconds"`
	RoundRatio   float64 `json:"round_ratio"`
	TotalRatio   float64 `json:"total_ratio"`
	Result       *Result `json:"result"`
}

// RunTable1 measures the selected cells with the stream driver, small ones first. It calls
// done, if not nil, after each cell. With an error it returns the cells before it.
func RunTable1(ctx context.Context, g Grid, done func(soFar Table1, last Table1Cell)) (*Table1, error) {
	cell := g.Cell
	cell.Driver, cell.Transport = DriverStream, Memory
	if cell.Computes == 0 {
		cell.Computes = 10
	}
	cell = cell.withDefaults()
	t := &Table1{Header: newHeader(), Suite: cell.Suite.String(), Sigma: cell.Sigma, Computes: cell.Computes}
	within := func(v, lo, hi int) bool { return v >= lo && (hi == 0 || v <= hi) }
	cells := slices.Clone(paperSeconds)
	slices.SortStableFunc(cells, func(a, b struct {
		parties, dim int
		seconds      float64
	}) int {
		return a.parties*a.dim - b.parties*b.dim
	})
	for _, p := range cells {
		if !within(p.parties, g.MinParties, g.MaxParties) || !within(p.dim, g.MinDim, g.MaxDim) {
			continue
		}
		cell.Parties = p.parties
		cell.Dim = p.dim
		cell.Settle = 0
		r, err := Run(ctx, cell)
		if err != nil {
			return t, err
		}
		c := Table1Cell{p.parties, p.dim, p.seconds, p.seconds / r.SecondsRound, p.seconds / r.SecondsTotal,
			r}
		t.Cells = append(t.Cells, c)
		if done != nil {
			soFar := *t
			soFar.Cells = slices.Clone(t.Cells)
			done(soFar, c)
		}
	}
	if len(t.Cells) == 0 {
		return nil, protocol.Fail(protocol.ClassInput,
			"parties, dim: no cell of the paper's table lies within the bounds")
	}
	return t, nil
}

// Merge adds an earlier run's cells that this one lacks. Each cell's result has its command
// and machine.
func (t *Table1) Merge(earlier *Table1) {
	for _, c := range earlier.Cells {
		if c.Result != nil && !slices.ContainsFunc(t.Cells,
			func(have Table1Cell) bool { return have.Parties == c.Parties && have.Dim == c.Dim }) {
			t.Cells = append(t.Cells, c)
		}
	}
	slices.SortFunc(t.Cells, func(a, b Table1Cell) int {
		if a.Parties != b.Parties {
			return a.Parties - b.Parties
		}
		return a.Dim - b.Dim
	})
}
