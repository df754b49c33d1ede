package collude

import "context"

// Cell is one coalition of a sweep.
type Cell struct {
	Parties   int      `json:"parties"`
	Nodes     int      `json:"nodes"`
	Tolerated bool     `json:"tolerated"`
	Claimed   *float64 `json:"claimed"` // null: no bound
	Measured  float64  `json:"measured"`
}

// Sweep measures epsilon for the aggregator with every number of parties and compute nodes that
// the plan tolerates, and with one more of each, on one session. Its verdicts are those of the
// cells, and of a session without noise, the control.
func (o Options) Sweep(ctx context.Context) (*Result, error) {
	if o.Time > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, o.Time)
		defer cancel()
	}
	o.Runs = o.runs()
	out := &Result{SchemaVersion: 1, Target: o.Target, Coalition: "every one with the aggregator", Runs: o.Runs,
		Seed: o.Seed, Verdicts: []Outcome{}, NotCovered: notCovered()}
	run := &Run{Options: o, sessions: map[string]*record{}}
	most := min(o.Target.Colluders+2, o.Target.Parties-1)
	for nodes := 0; nodes <= o.Target.Nodes; nodes++ {
		for parties := 0; parties <= most; parties++ {
			if o.Progress != nil {
				o.Progress(len(out.Cells), (most+1)*(o.Target.Nodes+1), "epsilon")
			}
			c := Coalition{Parties: parties, Nodes: nodes, Aggregator: true}
			run.Coalition = c
			v, err := run.one(ctx, epsilon{}, false)
			if err != nil {
				return nil, err
			}
			out.add(c, v, o.Target)
		}
	}
	v, err := run.one(ctx, epsilon{}, true)
	if err != nil {
		return nil, err
	}
	out.Verdicts = append(out.Verdicts, v)
	if o.Out != "" {
		err = out.write(o.Out)
	}
	return out, err
}

func (r *Result) add(c Coalition, v Outcome, t Target) {
	if v.Detail != nil && len(r.Cells) > 0 {
		v.Detail.ROC = nil // one curve is enough
	}
	r.Verdicts = append(r.Verdicts, v)
	if v.Measured != nil {
		r.Cells = append(r.Cells, Cell{Parties: c.Parties, Nodes: c.Nodes, Tolerated: t.tolerated(c),
			Claimed: v.Claimed, Measured: *v.Measured})
	}
}
