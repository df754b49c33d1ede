package terms

import (
	"fmt"
	"math"

	"choir/learn/defaults"
	"choir/protocol"
	"choir/session/app"
)

// Half-widths of an interval at 95 % of scores that are still of use: of a share, and of a mean squared error
// over the mean square that the target is expected to have.
const (
	mostBlurred       = 0.2
	mostBlurredSquare = 0.5
)

// scored warns of an evaluation whose scores noise will hide, and of one that counts single records under a
// strategy that protects all of a party's data alike.
func scored(p *protocol.Plan) (all []string, err error) {
	if p.Noise == protocol.NoiseNone || p.Application == app.NameSum {
		return nil, nil
	}
	a, err := app.Of(p)
	if err != nil {
		return nil, err
	}
	e := app.EvaluationOf(a)
	if e == nil {
		return nil, nil
	}
	if !e.PerParty && app.ProtectsParties(a) {
		all = append(all, fmt.Sprintf("rounds of [evaluation] add the scores of a party's held-out records one "+
			"by one: epsilon %g is then for every record, and not for all of a party's data as a whole; if that "+
			"is to be protected, leave per_party out of [evaluation]", p.Epsilon))
	}
	hidden, err := blurred(p, a)
	if hidden != "" {
		all = append(all, hidden)
	}
	return all, err
}

// blurred warns of scores whose intervals at 95 % are too wide by the noise alone.
func blurred(p *protocol.Plan, a app.Spec) (string, error) {
	schema, err := a.Encoding()
	if err != nil {
		return "", err
	}
	e := app.EvaluationOf(a)
	n, of := e.HeldOut*float64(declared(a)), "held-out records"
	if e.PerParty {
		n, of = float64(p.Parties()), "parties"
	}
	if !(n > 0) { // not declared
		return "", nil
	}
	noise := math.Sqrt(app.SumVariance(p)) / (2 * float64(e.Unit(p.Sensitivity)))
	off := 1.96 * noise / n
	counted := fmt.Sprintf("rounds of [evaluation] count %.0f %s, with noise of %.2g", n, of, noise)
	if schema.Classification() {
		if off <= mostBlurred {
			return "", nil
		}
		return fmt.Sprintf("%s: the accuracy will be uncertain by %.0f points and more to each side; take more "+
			"%s, a larger epsilon or fewer rounds, or leave [evaluation] out", counted, 100*min(1, off), of), nil
	}
	t := schema.Target.Numeric
	half := (t.Hi - t.Lo) / t.Scale / 2
	if expected := defaults.Of(schema).Target; expected > 0 {
		half /= expected
	}
	if off *= half * half; off <= mostBlurredSquare {
		return "", nil
	}
	return fmt.Sprintf("%s, and errors of up to half the range of %q: the mean squared error will be uncertain "+
		"by %.2g times the target's variance and more to each side; name a narrower range of it, take more %s, "+
		"a larger epsilon or fewer rounds, or leave [evaluation] out", counted, schema.Target.Name, off, of), nil
}
