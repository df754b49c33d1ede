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

// noisyReports returns nil for a plan of randomised response.
func noisyReports(p *protocol.Plan) *response.Noise {
	a, err := app.Of(p)
	if err != nil {
		return nil
	}
	s, ok := a.(*app.Shuffle)
	if !ok {
		return nil
	}
	return s.Survey.Noise
}

// randomness describes what reports are drawn with.
func (t Target) randomness(d drawn) string {
	if t.Noisy != nil {
		return fmt.Sprintf("with noise of deviation %.4g on %d levels", t.noise(d).SD(), t.Reports.Categories)
	}
	return fmt.Sprintf("random with probability %.4g", float64(d.gamma)/privacy.GammaUnit)
}

// noise is that of the plan, or next to none where reports are drawn without randomness.
func (t Target) noise(d drawn) response.Noise {
	n := *t.Noisy
	if d.gamma == 1 {
		n.Keep = 1
	}
	return n
}

// randomiser draws reports of the victim's first and second value and of the value of all others.
type randomiser struct {
	values [3]int
	margin int // of the reports' numbers below the first value's
	report func(value int, random io.Reader) (int, error)
	ratio  [2][]float64 // by report: the law of the victim's values' reports over that of the others'
}

func (t Target) randomiser(d drawn) (x randomiser, err error) {
	if t.Noisy != nil {
		n, k := t.noise(d), int(t.Reports.Categories)
		x.values, x.margin = [3]int{0, k - 1, k - 1}, int(n.Margin)
		x.report = func(level int, random io.Reader) (int, error) { return n.Report(level, k, random) }
		step := math.Log(float64(n.Keep) / privacy.GammaUnit)
		away := func(y, level int) float64 { return math.Abs(float64(y - int(n.Margin) - level)) }
		x.tabulate(k+2*int(n.Margin), func(y, level int) float64 {
			return math.Exp(step * (away(y, level) - away(y, k-1)))
		})
		return x, nil
	}
	k := int(t.Reports.Categories)
	by, err := response.New(k, float64(d.gamma)/privacy.GammaUnit)
	others := min(2, k-1)
	if k == 2 {
		others = 0
	}
	x.values, x.report = [3]int{0, 1, others}, by.Report
	f := by.Gamma() / float64(k)
	own := (1 - by.Gamma() + f) / f
	x.tabulate(k, func(y, value int) float64 {
		switch {
		case value == others:
			return 1
		case y == value:
			return own
		case y == others:
			return 1 / own
		}
		return 1
	})
	return x, err
}

func (x *randomiser) tabulate(k int, ratio func(y, value int) float64) {
	for victim := range 2 {
		x.ratio[victim] = make([]float64, k)
		for y := range k {
			x.ratio[victim][y] = ratio(y, x.values[victim])
		}
	}
}

// draw draws the reports of a victim and of the others, and returns how many differ from their values.
func (x randomiser) draw(reports []int, victim int, random io.Reader) (changed int, err error) {
	for i := range reports {
		value := x.values[2]
		if i == 0 {
			value = x.values[victim]
		}
		y, err := x.report(value, random)
		if err != nil {
			return 0, err
		}
		reports[i] = y
		if y != value+x.margin {
			changed++
		}
	}
	return changed, nil
}

// score is the logarithm of the likelihood ratio of the reports' counts, of the victim's first value over
// its second.
func (x randomiser) score(reports []int) float64 {
	num, den := 0.0, 0.0
	for _, y := range reports {
		num += x.ratio[0][y]
		den += x.ratio[1][y]
	}
	return math.Log(num / den)
}
