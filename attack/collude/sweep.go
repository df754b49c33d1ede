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

// Sweep runs attacks for the aggregator with every number of parties and compute nodes that the plan
// tolerates, and with one more of each: those of Scenarios, or without any the measurement of epsilon.
// Coalitions share sessions. The controls run once, against the largest coalition that is tolerated.
func (o Options) Sweep(ctx context.Context) (*Result, error) {
	ctx, cancel := o.limited(ctx)
	defer cancel()
	attacks, err := o.swept()
	if err != nil {
		return nil, err
	}
	o.Runs = o.runs()
	out := &Result{SchemaVersion: 1, Target: o.Target, Coalition: "every one with the aggregator", Runs: o.Runs,
		Seed: o.Seed, Verdicts: []Outcome{}, NotCovered: notCovered()}
	run := newRun(o)
	most := min(o.Target.Colluders+2, o.Target.Parties-1)
	for nodes := 0; nodes <= o.Target.Nodes; nodes++ {
		for parties := 0; parties <= most; parties++ {
			run.Coalition = Coalition{Parties: parties, Nodes: nodes, Aggregator: true}
			for i, a := range attacks {
				if o.Progress != nil {
					o.Progress((nodes*(most+1)+parties)*len(attacks)+i, (most+1)*(o.Target.Nodes+1)*len(attacks),
						a.Info().ID)
				}
				v, err := run.one(ctx, a, false)
				if err != nil {
					return nil, err
				}
				out.add(run.Coalition, v, o.Target)
			}
		}
	}
	run.Coalition = Coalition{Parties: min(o.Target.Colluders+1, most), Nodes: o.Target.Nodes - 1,
		Aggregator: true}
	for _, a := range attacks {
		v, err := run.one(ctx, a, true)
		if err != nil {
			return nil, err
		}
		out.Verdicts = append(out.Verdicts, v)
	}
	if o.Out != "" {
		err = out.write(o.Out)
	}
	return out, err
}

// swept are the attacks of a sweep.
func (o *Options) swept() ([]Attack, error) {
	switch {
	case len(o.Scenarios) > 0:
		return o.selected()
	case o.Target.Reports != nil:
		return []Attack{reports{}}, nil
	}
	return []Attack{epsilon{}}, nil
}

func (r *Result) add(c Coalition, v Outcome, t Target) {
	if v.Detail != nil && len(r.Cells) > 0 {
		v.Detail.ROC = nil // one curve is enough
	}
	r.Verdicts = append(r.Verdicts, v)
	of := v.Scenario == (epsilon{}).Info().ID || v.Scenario == (reports{}).Info().ID
	if v.Measured != nil && of {
		r.Cells = append(r.Cells, Cell{Parties: c.Parties, Nodes: c.Nodes, Tolerated: t.tolerated(c),
			Claimed: v.Claimed, Measured: *v.Measured})
	}
}
