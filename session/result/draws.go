package result

import (
	"fmt"
	"math"
	"slices"

	"choir/learn/dataset"
	"choir/learn/mcmc"
	"choir/protocol"
	"choir/session/app"
)

// drawsFile is the table of draws in a folder of results.
const drawsFile = "draws.csv"

// Draws are a sampler's draws from the posterior, and how far they can be trusted.
type Draws struct {
	Method mcmc.Method `json:"method"`
	Chains int         `json:"chains"`
	// Values are the weights by draw, then chain. Those of a trace posterior predict: single weights have a
	// wider law where records are few.
	Values [][]float64 `json:"values,omitempty"`
	// Effective is how many independent draws they are worth, by weight, and SplitRHat how much
	// wider all are than halves of chains: 1 is agreement, more than 1.05 is not. There are
	// none for fewer than 4 draws of a chain.
	Effective []float64 `json:"effective_draws,omitempty"`
	SplitRHat []float64 `json:"split_r_hat,omitempty"`
	// Acceptance is the share of proposals that were accepted; 0 for the trace posterior.
	Acceptance float64 `json:"acceptance"`
}

// drawsOf returns the draws in a public state.
func drawsOf(m *app.MCMC, p *protocol.Plan, state []int64) (*Draws, error) {
	q, err := m.Draws(p, state)
	if err != nil {
		return nil, err
	}
	d := &Draws{Method: m.MCMC.Method, Chains: q.Chains, Values: q.Draws}
	if q.Tested > 0 {
		d.Acceptance = float64(q.Accepted) / float64(q.Tested)
	}
	if len(q.Draws) < 4*q.Chains {
		return d, nil
	}
	const most = 1e6 // of chains that never moved; JSON has no infinity
	for j := range m.MCMC.Features {
		n, r := mcmc.Diagnose(q.Draws, q.Chains, j)
		if math.IsNaN(r) || r > most {
			r = most
		}
		d.Effective, d.SplitRHat = append(d.Effective, n), append(d.SplitRHat, r)
	}
	return d, nil
}

// mixed describes chains whose draws are not to be trusted; empty for others.
func (d *Draws) mixed() string {
	if len(d.Effective) == 0 {
		return fmt.Sprintf("too few rounds to judge %d draws of each chain; more rounds, or method %q, help",
			len(d.Values)/max(1, d.Chains), mcmc.Trace)
	}
	n, r := slices.Min(d.Effective), slices.Max(d.SplitRHat)
	if r <= 1.1 && n >= 50 {
		return ""
	}
	return fmt.Sprintf("not mixed: the chains' draws are worth %.0f independent ones, and split R-hat is %.3g; "+
		"don't use their means and intervals; more rounds don't help unless epsilon or the records grow "+
		"too; method %q needs no mixing", n, r,
		mcmc.Trace)
}

// array is Values as an array.
func (d *Draws) array() *dataset.Array {
	features := 0
	if len(d.Values) > 0 {
		features = len(d.Values[0])
	}
	a := &dataset.Array{Shape: []int{len(d.Values), features}}
	for _, v := range d.Values {
		a.Data = append(a.Data, v...)
	}
	return a
}

// fill takes the draws from their array.
func (d *Draws) fill(a *dataset.Array, features int) error {
	if a == nil || a.Text || len(a.Shape) != 2 || len(a.Data) > 0 && a.Shape[1] != features {
		return fmt.Errorf("not a model: it has no array draws of %d columns, one for each weight", features)
	}
	for at := 0; at < len(a.Data); at += features {
		d.Values = append(d.Values, a.Data[at:at+features])
	}
	return nil
}

// check refuses draws that predictions can't be averaged over.
func (d *Draws) check(features int) error {
	if d.Chains < 1 || len(d.Values)%max(1, d.Chains) != 0 {
		return fmt.Errorf("%d draws of %d chains", len(d.Values), d.Chains)
	}
	for i, v := range d.Values {
		if len(v) != features {
			return fmt.Errorf("draw %d has %d weights, the model has %d", i, len(v), features)
		}
	}
	return nil
}

// sameDraws compares draws as near compares the model's other numbers.
func (f *ModelFile) sameDraws(want *ModelFile) bool {
	if f.Draws == nil || want.Draws == nil {
		return f.Draws == want.Draws
	}
	a, b := f.Draws, want.Draws
	return a.Method == b.Method && a.Chains == b.Chains && math.Abs(a.Acceptance-b.Acceptance) < 1e-9 &&
		slices.EqualFunc(a.Values, b.Values, func(x, y []float64) bool { return within(x, y, 1e-6) })
}

// drawTable returns the contents of draws.csv.
func (f *ModelFile) drawTable() (header []string, rows [][]any) {
	header = append([]string{"draw", "chain"}, f.Columns...)
	for i, v := range f.Draws.Values {
		row := []any{i/f.Draws.Chains + 1, i%f.Draws.Chains + 1}
		for _, w := range v {
			row = append(row, w)
		}
		rows = append(rows, row)
	}
	return header, rows
}
