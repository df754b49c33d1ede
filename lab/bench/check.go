package bench

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"choir/protocol"
)

// Baseline is what the costs of a fixed set of cases were when it was written.
type Baseline struct {
	Header
	Repeats int         `json:"repeats"`
	Costs   []CaseCosts `json:"costs"`
}

// CaseCosts is one case's costs, by repetition. A cost is a ratio within one run:
// processor time over that of keystream and addition for as many bytes as the
// rows have (cells), or for a MiB (parts). So neither the machine's speed nor its
// load enters.
type CaseCosts struct {
	Name   string    `json:"name"`
	Values []float64 `json:"values"`
}

// checkedCells are the cells that bench check repeats; each takes a second or less.
var checkedCells = []Config{
	{Parties: 200, Dim: 100, Computes: 3, Pairs: PairsNo},
	{Parties: 100, Dim: 10000, Computes: 3, Pairs: PairsNo},
	{Parties: 8, Dim: 300000, Computes: 3, Pairs: PairsNo},
}

// MeasureBaseline repeats the fixed set, one repetition of everything after the
// other, so that a disturbance spreads.
func MeasureBaseline(ctx context.Context, repeats int) (*Baseline, error) {
	if repeats < minRepeats || repeats > 100 {
		return nil, protocol.Fail(protocol.ClassInput, "repeats: %d isn't in %d..100; fewer can't show a difference", repeats, minRepeats)
	}
	b := &Baseline{Header: newHeader(), Repeats: repeats}
	for range repeats {
		if err := b.once(ctx); err != nil {
			return nil, err
		}
	}
	return b, nil
}

func (b *Baseline) put(name string, v float64) {
	i := slices.IndexFunc(b.Costs, func(c CaseCosts) bool { return c.Name == name })
	if i < 0 {
		i = len(b.Costs)
		b.Costs = append(b.Costs, CaseCosts{Name: name})
	}
	b.Costs[i].Values = append(b.Costs[i].Values, v)
}

// tries is how often a repetition measures each case, to keep the cheapest: what
// disturbs a measurement only ever adds to it.
const tries = 2

// once is one repetition.
func (b *Baseline) once(ctx context.Context) error {
	rate, least := 0.0, newCheapest()
	for _, cfg := range checkedCells {
		cfg.Driver, cfg.Settle, cfg.Sigma = DriverStream, 1, 1<<10
		for range tries {
			r, err := Run(ctx, cfg)
			if err != nil {
				return err
			}
			rate = max(rate, r.Limits.KeystreamAdd)
			least.cell(r)
		}
	}
	for _, part := range Parts() {
		p, err := MeasurePart(part, tries, true)
		if err != nil {
			return err
		}
		for _, row := range p.Rows {
			least.keep(fmt.Sprintf("%s: %s %d", part, row.Case, row.Size), row.Fastest*rate/(1<<20))
		}
	}
	for _, name := range least.names {
		b.put(name, least.cost[name])
	}
	return nil
}

// cheapest keeps the least of each cost, in the order in which they first came.
type cheapest struct {
	names []string
	cost  map[string]float64
}

func newCheapest() *cheapest { return &cheapest{cost: map[string]float64{}} }

func (c *cheapest) keep(name string, v float64) {
	have, ok := c.cost[name]
	if !ok {
		c.names = append(c.names, name)
	}
	if !ok || v < have {
		c.cost[name] = v
	}
}

// cell keeps a cell's costs: of the round, of what takes a twentieth of it or more,
// and of the path that adds.
func (c *cheapest) cell(r *Result) {
	cell := fmt.Sprintf("N=%d d=%d M=%d", r.Parties, r.Dim, r.Computes)
	unit := float64(8*r.Parties*r.Dim) / r.Limits.KeystreamAdd
	for _, p := range r.Phases {
		if p.InRound && p.CPUSeconds > 0.05*r.CPURound {
			c.keep(fmt.Sprintf("%s: %s %s", cell, p.Role, p.Phase), p.CPUSeconds/unit)
		}
	}
	c.keep(cell+": round", r.CPURound/unit)
	c.keep(cell+": add path", 1/r.AddPath.LimitRatio)
	c.keep(cell+": allocations a contribution", float64(r.allocs())/float64(r.Parties*r.Computes))
}

// allocs are the objects that a round makes.
func (r *Result) allocs() (n int64) {
	for _, p := range r.Phases {
		if p.InRound {
			n += p.Allocs
		}
	}
	return n
}

// Change is how a case compares with the baseline.
type Change struct {
	Name    string  `json:"name"`
	Before  float64 `json:"before"` // medians
	Now     float64 `json:"now"`
	Spread  float64 `json:"spread"`  // the larger one of both runs, of the middle half
	Ratio   float64 `json:"ratio"`   // now over before: above 1 is slower
	P       float64 `json:"p"`       // two-sided, Mann and Whitney; 1: no difference
	Verdict string  `json:"verdict"` // "same", "slower", "faster", "new" or "gone"
}

// Comparison is bench check's answer.
type Comparison struct {
	Header
	Threshold float64  `json:"threshold"`
	Alpha     float64  `json:"alpha"`
	Slower    []string `json:"slower"`
	Changes   []Change `json:"changes"`
}

// Alpha is the level at which a difference counts. Among some dozens of cases chance
// alone reaches it once in several runs, but must move the median beyond the
// threshold as well.
const Alpha = 0.005

// minRepeats is the least for which the ranks can reach Alpha at all: 2 of the 924
// arrangements of six and six values separate them.
const minRepeats = 6

// Compare holds a run against a baseline: a case is slower when its median grew by
// more than the threshold (a fraction, at least 0) and the ranks say that chance
// doesn't explain it.
func Compare(before, now *Baseline, threshold float64) (*Comparison, error) {
	if !(threshold >= 0) {
		return nil, protocol.Fail(protocol.ClassInput, "threshold: %v isn't a fraction of at least 0", threshold)
	}
	if before.SchemaVersion != SchemaVersion || len(before.Costs) == 0 {
		return nil, protocol.Fail(protocol.ClassInput, "baseline: no baseline of schema version %d", SchemaVersion)
	}
	c := &Comparison{Header: now.Header, Threshold: threshold, Alpha: Alpha, Slower: []string{}}
	find := func(in *Baseline, name string) []float64 {
		for _, x := range in.Costs {
			if x.Name == name {
				return x.Values
			}
		}
		return nil
	}
	for _, x := range now.Costs {
		c.add(x.Name, find(before, x.Name), x.Values)
	}
	for _, x := range before.Costs {
		if find(now, x.Name) == nil {
			c.add(x.Name, x.Values, nil)
		}
	}
	return c, nil
}

func (c *Comparison) add(name string, before, now []float64) {
	d := Change{Name: name, Before: medianOf(before), Now: medianOf(now), Spread: max(spreadOf(before), spreadOf(now)), P: 1, Verdict: "same"}
	switch {
	case len(before) < minRepeats: // or a phase too small to show in every repetition
		d.Verdict = "new"
	case len(now) < minRepeats:
		d.Verdict = "gone"
	default:
		d.P, d.Ratio = mannWhitney(before, now), d.Now/d.Before
		if d.P <= Alpha && d.Ratio > 1+c.Threshold {
			d.Verdict = "slower"
			c.Slower = append(c.Slower, name)
		}
		if d.P <= Alpha && d.Ratio < 1/(1+c.Threshold) {
			d.Verdict = "faster"
		}
	}
	c.Changes = append(c.Changes, d)
}

// Err names what got slower, nil when nothing did.
func (c *Comparison) Err() error {
	if len(c.Slower) == 0 {
		return nil
	}
	return protocol.Fail(protocol.ClassFailed, "slower than the baseline: %s", strings.Join(c.Slower, "; "))
}
