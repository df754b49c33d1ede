package collude

import (
	"fmt"
	"io"
	"math"

	"choir/learn/response"
	"choir/privacy"
	"choir/protocol"
	"choir/session/app"
)

// NoisyReports are a plan's reports of levels with noise.
type NoisyReports struct {
	Levels int            `json:"levels"`
	Noise  response.Noise `json:"noise"`
}

// noisyReports returns nil for a plan of randomised response.
func noisyReports(p *protocol.Plan) *NoisyReports {
	a, err := app.Of(p)
	if err != nil {
		return nil
	}
	s, ok := a.(*app.Shuffle)
	if !ok || s.Survey.Noise == nil {
		return nil
	}
	return &NoisyReports{s.Survey.Columns[0].Categories, *s.Survey.Noise}
}

// randomness describes what reports are drawn with.
func (t Target) randomness(d drawn) string {
	if t.Noisy != nil {
		return fmt.Sprintf("with noise of deviation %.4g on %d levels", t.noise(d).SD(), t.Noisy.Levels)
	}
	return fmt.Sprintf("random with probability %.4g", float64(d.gamma)/privacy.GammaUnit)
}

// noise is that of the plan, or next to none where reports are drawn without randomness.
func (t Target) noise(d drawn) response.Noise {
	n := t.Noisy.Noise
	if d.gamma == 1 {
		n.Keep = 1
	}
	return n
}

// randomiser draws reports of the victim's first and second value and of the value of all others.
type randomiser struct {
	values [3]int
	report func(value int, random io.Reader) (int, error)
	ratio  func(y, value int) float64 // the law of a value's reports over that of the others', at y
}

func (t Target) randomiser(d drawn) (randomiser, error) {
	if t.Noisy != nil {
		n, k := t.noise(d), t.Noisy.Levels
		step := math.Log(float64(n.Keep) / privacy.GammaUnit)
		away := func(y, level int) float64 { return math.Abs(float64(y - int(n.Margin) - level)) }
		return randomiser{[3]int{0, k - 1, k - 1},
			func(level int, random io.Reader) (int, error) { return n.Report(level, k, random) },
			func(y, level int) float64 { return math.Exp(step * (away(y, level) - away(y, k-1))) }}, nil
	}
	k := int(t.Reports.Categories)
	x, err := response.New(k, float64(d.gamma)/privacy.GammaUnit)
	others := min(2, k-1)
	if k == 2 {
		others = 0
	}
	f := x.Gamma() / float64(k)
	own := (1 - x.Gamma() + f) / f
	return randomiser{[3]int{0, 1, others}, x.Report, func(y, value int) float64 {
		switch {
		case value == others:
			return 1
		case y == value:
			return own
		case y == others:
			return 1 / own
		}
		return 1
	}}, err
}

// likelihood draws the reports of a victim and of the others, and returns the logarithm of the likelihood
// ratio of their counts, of the victim's first value over its second.
func (r randomiser) likelihood(victim, reports int, random io.Reader) (float64, error) {
	num, den := 0.0, 0.0
	for i := range reports {
		value := r.values[2]
		if i == 0 {
			value = r.values[victim]
		}
		y, err := r.report(value, random)
		if err != nil {
			return 0, err
		}
		num += r.ratio(y, r.values[0])
		den += r.ratio(y, r.values[1])
	}
	return math.Log(num / den), nil
}
