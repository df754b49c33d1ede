package result

import (
	"math"

	"choir/learn/table"
	"choir/protocol"
	"choir/session/app"
)

// Tables are the figures of a plan with [table] or [shuffle].
type Tables struct {
	SchemaVersion int     `json:"schema_version"`
	Plan          string  `json:"plan"`
	Level         float64 `json:"level"`    // probability of the intervals
	Epsilon       float64 `json:"epsilon"`  // for one record; 0: none is claimed
	Delta         float64 `json:"delta"`    // the claim's
	NoiseSD       float64 `json:"noise_sd"` // of every count; 0 for reports, whose noise differs
	// LocalEpsilon is what a report of a plan with [shuffle] keeps against all others together.
	LocalEpsilon float64     `json:"local_epsilon,omitempty"`
	By           string      `json:"by,omitempty"`
	Rows         []table.Row `json:"rows"`
}

// FolderTables returns the tables of a session's folder, with central intervals of the
// given probability.
func FolderTables(dir string, level float64) (*Tables, error) {
	if !(level > 0 && level < 1) {
		return nil, errLevel(level)
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
	if err == nil {
		switch a := a.(type) {
		case *app.Table:
			return tablesOf(p, a, f.State, level)
		case *app.Shuffle:
			rounds, err := counted(dir, p)
			if err != nil {
				return nil, err
			}
			return reportsOf(p, a, f.State, rounds, level)
		}
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

// counted is the number of rounds whose reports are in the result: a lost round has none. Without a
// transcript it is that of the plan.
func counted(dir string, p *protocol.Plan) (rounds int, err error) {
	all, err := ReadRecords(dir)
	if err != nil {
		return int(p.Rounds), nil
	}
	entries, err := protocol.UnmarshalTranscript(all[0].Transcript)
	if err != nil {
		return 0, protocol.Fail(protocol.ClassIntegrity, "%w", err)
	}
	s := protocol.Bind(p)
	for _, entry := range entries {
		if len(entry) == 0 || protocol.Kind(entry[0]) != protocol.KindResult &&
			protocol.Kind(entry[0]) != protocol.KindMixResult {
			continue
		}
		_, m, err := s.Receive(entry)
		if err != nil {
			return 0, protocol.Fail(protocol.ClassIntegrity, "transcript: %w", err)
		}
		outcome := protocol.OutcomeVoid
		switch m := m.(type) {
		case *protocol.Result:
			outcome = m.Outcome
		case *protocol.MixResult:
			outcome = m.Outcome
		}
		if outcome == protocol.OutcomeAccepted {
			rounds++
		}
	}
	if rounds == 0 {
		return 0, protocol.Fail(protocol.ClassInput, "%s: no round has reports", dir)
	}
	return rounds, nil
}

// reportsOf are the estimates from the counts of the reports of some rounds.
func reportsOf(p *protocol.Plan, a *app.Shuffle, state []int64, rounds int, level float64) (*Tables, error) {
	s, err := a.Layout()
	if err != nil {
		return nil, protocol.Fail(protocol.ClassIntegrity, "plan: %w", err)
	}
	rows, err := s.Figures(state, rounds, level)
	if err != nil {
		return nil, protocol.Fail(protocol.ClassIntegrity, "the result: %w", err)
	}
	charge, _ := p.Charge(1)
	return &Tables{SchemaVersion: 1, Plan: p.ID().String(), Level: level, Epsilon: p.Epsilon, Delta: p.Delta,
		LocalEpsilon: charge.Shuffled.Local(), Rows: rows}, nil
}

// CSV has a line for each figure.
func (t *Tables) CSV() (header []string, rows [][]any) {
	header = []string{"table", "group", "level", "statistic", "value", "noise_sd", "lower", "upper"}
	for _, r := range t.Rows {
		rows = append(rows, []any{r.Table, r.Group, r.Level, r.Statistic, r.Value, r.NoiseSD, r.Lower, r.Upper})
	}
	return header, rows
}
