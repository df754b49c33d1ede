package terms

import (
	"fmt"

	"choir/learn/centre"
	"choir/protocol"
	"choir/session/app"
)

// A budget beyond these is allowed and warned about: e^10 is a factor of 22,000 between the
// probabilities of two worlds, and a mechanism that publishes one of 100 records whole is
// (0, .01)-private.
const (
	weakEpsilon = 10
	weakDelta   = 0.01
)

// Warnings returns what is to be feared of a plan before anybody has signed, an empty list if nothing
// is: a budget that hardly protects, and noise that its learning drowns in.
func Warnings(p *protocol.Plan) ([]string, error) {
	out := weak(p)
	drowned, err := outlook(p)
	if err != nil {
		return out, err
	}
	if drowned != "" {
		out = append(out, drowned)
	}
	ranges, err := rangesOutlook(p)
	if ranges != "" {
		out = append(out, ranges)
	}
	return out, err
}

// rangesOutlook warns of columns whose centres are measured from few records.
func rangesOutlook(p *protocol.Plan) (string, error) {
	if p.Application != app.NamePVI {
		return "", nil
	}
	a, err := app.PVIOf(p)
	if err != nil || a.CentreRounds == 0 {
		return "", err
	}
	schema, err := a.Encoding()
	if err != nil {
		return "", err
	}
	f, err := planned(p, a)
	if err != nil {
		return "", err
	}
	return f.RangesOutlook(centre.Of(schema).Len()), nil
}

// weak warns of a budget that hardly protects anybody.
func weak(p *protocol.Plan) []string {
	out := []string{}
	if p.Noise == protocol.NoiseNone {
		return out
	}
	if p.Epsilon > weakEpsilon {
		out = append(out, fmt.Sprintf("epsilon %g is hardly a protection: the probability of a result may differ "+
			"by a factor of e^%g with and without one record; take 10 or less", p.Epsilon, p.Epsilon))
	}
	if p.Delta >= weakDelta {
		out = append(out, fmt.Sprintf("delta %g is hardly a protection: it allows to publish each record whole "+
			"with that probability; take less than 1 over the number of records", p.Delta))
	}
	return out
}
