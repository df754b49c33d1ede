package terms

import (
	"fmt"
	"slices"

	"choir/learn/bayes"
	"choir/learn/centre"
	"choir/learn/dataset"
	"choir/learn/pvi"
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
	scores, err := scored(p)
	out := append(append(weak(p), rekeyed(p)...), scores...)
	if err != nil {
		return out, err
	}
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

// rekeyed warns of parties of a successor that have another key than before: their data would count twice.
func rekeyed(p *protocol.Plan) (warnings []string) {
	if p.After == nil || p.Application != app.NamePVI {
		return nil
	}
	before := p.After.Plan
	for _, m := range before.Members[:before.Parties()] {
		if _, stays := p.Index(m.Key); stays {
			continue
		}
		if i := slices.IndexFunc(p.Members[:p.Parties()], func(n protocol.Member) bool {
			return n.Name == m.Name
		}); i >= 0 {
			warnings = append(warnings, fmt.Sprintf("%s has another key than before, and so is another party, which "+
				"begins with an empty factor. What its data contributed under the old key stays in the model: the same "+
				"data count twice. Go on with the old key, or make a new plan, which learns from the start", m.Name))
		}
	}
	return warnings
}

// rangesOutlook warns of columns whose centres are measured from few records, or not at all, and of those
// that noise will hide.
func rangesOutlook(p *protocol.Plan) (string, error) {
	if !slices.Contains([]string{app.NamePVI, app.NameGlobal, app.NameMCMC}, p.Application) {
		return "", nil
	}
	a, err := app.Of(p)
	if err != nil {
		return "", err
	}
	l, ok := a.(*app.PVI)
	if !ok {
		return hiding(p, a, declared(a))
	}
	schema, err := l.Encoding()
	if l.PVI.Model == bayes.External || err != nil {
		return "", err
	}
	columns := centre.Of(schema).Len()
	if l.CentreRounds == 0 {
		return unmeasured(p, l, columns), nil
	}
	f, err := planned(p, l)
	if few := f.RangesOutlook(columns); err != nil || few != "" {
		return few, err
	}
	return hiding(p, a, f.AssumedRecords())
}

// declared is the number of records of a method that declares them.
func declared(a app.Spec) int64 {
	switch a := a.(type) {
	case *app.PVI:
		return a.Records
	case *app.GlobalVI:
		return a.Global.Records
	case *app.MCMC:
		return a.MCMC.Records
	case *app.Statistics:
		return a.Statistics.Records
	}
	return 0
}

// coarse is the part of a range from which on a column may well be narrower.
const coarse = 0.1

// hiding warns of noise that hides columns in wide ranges. Numbers from 0 to 1 are taken for codes, which
// fill theirs.
func hiding(p *protocol.Plan, a app.Spec, records int64) (string, error) {
	finest, err := app.Finest(p, a, float64(records))
	if err != nil || finest < coarse {
		return "", err
	}
	schema, err := a.Encoding()
	if err != nil {
		return "", err
	}
	var wide []string
	for _, c := range schema.Columns {
		if c.RangeAlone() && !(c.Numeric.Lo == 0 && c.Numeric.Hi == 1) {
			wide = append(wide, c.Name)
		}
	}
	if len(wide) == 0 {
		return "", nil
	}
	return fmt.Sprintf("the schema has a range alone of %s: where a range is more than %.0f standard "+
		"deviations of its column wide, noise will hide that, and the weight with it; name narrower ranges, or "+
		"centers and scales that are publicly known", dataset.List(wide), 2/finest), nil
}

// unmeasured warns of logistic regression by a method that doesn't measure where columns lie.
func unmeasured(p *protocol.Plan, a *app.PVI, columns int) string {
	if columns == 0 || a.PVI.Model != bayes.Logistic || p.Noise == protocol.NoiseNone {
		return ""
	}
	return fmt.Sprintf("the schema has %d numbers with a range alone, and no round of this plan measures where "+
		"in it they lie: of columns far from the middle 90 %% intervals covered 0.7, and predictions lost 0.03 "+
		"to 0.06 nats a row; name centres and scales that are publicly known in the schema (center, scale), or "+
		"take strategy %q, %q or [global], which measure them", columns, pvi.NameVirtual, pvi.NameOptimisation)
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
