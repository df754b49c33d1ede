package result

import (
	"math"

	"choir/learn/table"
	"choir/protocol"
	"choir/session/app"
)

// Tables are the figures of a plan with [table].
type Tables struct {
	SchemaVersion int         `json:"schema_version"`
	Plan          string      `json:"plan"`
	Level         float64     `json:"level"`    // probability of the intervals
	Epsilon       float64     `json:"epsilon"`  // for one record; 0: none is claimed
	Delta         float64     `json:"delta"`    // the claim's
	NoiseSD       float64     `json:"noise_sd"` // of every count
	By            string      `json:"by,omitempty"`
	Rows          []table.Row `json:"rows"`
}

// FolderTables returns the tables of a session's folder, with central intervals of the
// given probability.
func FolderTables(dir string, level float64) (*Tables, error) {
	if !(level > 0 && level < 1) {
		return nil, protocol.Fail(protocol.ClassInput, "level: %v isn't in (0, 1)", level)
	}
	f, err := folderModel(dir)
	if err != nil {
		return nil, err
	}
	signed, err := FolderPlan(dir)
	if err != nil {
		return nil, err
	}
	if signed == nil {
		return nil, protocol.Fail(protocol.ClassInput, "%s: the folder has no plan, which describes the tables",
			dir)
	}
	p := signed.Plan
	if f.Plan != p.ID().String() {
		return nil, protocol.Fail(protocol.ClassIntegrity,
			"%s: the result is that of plan %s, not of the folder's", dir,
			f.Plan)
	}
	a, err := app.Parse(p.Application, p.Parameters)
	if t, ok := a.(*app.Table); err == nil && ok {
		return tablesOf(p, t, f.State, level)
	}
	return nil, protocol.Fail(protocol.ClassInput, "%s: the result of application %s isn't tables", dir,
		p.Application)
}

func tablesOf(p *protocol.Plan, a *app.Table, state []int64, level float64) (*Tables, error) {
	l, err := a.Layout()
	if err != nil {
		return nil, protocol.Fail(protocol.ClassIntegrity, "plan: %w", err)
	}
	if len(state) != l.Dim() {
		return nil, protocol.Fail(protocol.ClassIntegrity, "the result has %d cells, the plan %d", len(state),
			l.Dim())
	}
	variance := app.SumVariance(p)
	return &Tables{SchemaVersion: 1, Plan: p.ID().String(), Level: level, Epsilon: p.Epsilon, Delta: p.Delta,
		NoiseSD: math.Ldexp(math.Sqrt(variance), -int(p.FracBits)), By: a.Table.By,
		Rows: l.Estimate(state, variance, level)}, nil
}

// CSV has a line for each figure.
func (t *Tables) CSV() (header []string, rows [][]any) {
	header = []string{"table", "group", "level", "statistic", "value", "noise_sd", "lower", "upper"}
	for _, r := range t.Rows {
		rows = append(rows, []any{r.Table, r.Group, r.Level, r.Statistic, r.Value, r.NoiseSD, r.Lower, r.Upper})
	}
	return header, rows
}
