package paper1

import (
	"context"
	"fmt"

	"choir/lab/study"
	"choir/privacy"
)

// figure1b is the extra noise of the distributed setting: with N parties of which T collude and
// one is curious, the noise of N - T - 1 must suffice, and all N add theirs.
// The variance on the sum is then N / (N - T - 1) times a trusted aggregator's (Theorem 1).
// Ours is what the planner's integers come to, for the plan's exact accountant.
func figure1b(_ context.Context, o study.Options) (*study.Result, error) {
	r := &study.Result{SchemaVersion: 1, Name: "paper1-figure1b",
		Title: "Extra noise of the distributed setting", Seeds: 1, Transport: o.Transport,
		Source: "[DCA], Figure 1b and Theorem 1",
		Settings: []study.Setting{{Name: "epsilon",
			Value: "1 at delta 1e-5 for one release of sensitivity 2^20 in ten coordinates"}}}
	one, err := part(1)
	if err != nil {
		return nil, err
	}
	r.Spent = []study.Spent{one.spent("trusted aggregator")}
	panel := study.Panel{Title: "variance over a trusted aggregator's", XLabel: "parties N",
		YLabel: "ratio", LogX: true, YMin: 1, YMax: 3}
	for _, colluders := range []int{0, 5, 50} {
		c := study.Curve{Name: fmt.Sprintf("T = %d", colluders)}
		for _, n := range []int{10, 14, 20, 30, 50, 70, 100, 140, 200, 300, 500, 1000} {
			if n < colluders+2 {
				continue
			}
			p, err := part(n - colluders - 1)
			if err != nil {
				return nil, err
			}
			ratio := float64(n) * p.variance / one.variance
			c.X, c.Y = append(c.X, float64(n)), append(c.Y, ratio)
			if n == 10 || n == 100 || n == 1000 {
				paper := study.Figure{Value: float64(n) / float64(n-colluders-1), Precision: 1e-3,
					Where: "Theorem 1"}
				r.Rows = append(r.Rows, study.Row{Case: fmt.Sprintf("N = %d, T = %d", n, colluders),
					Method: "distributed noise", Measure: study.Variance, Paper: &paper,
					Values: []float64{ratio}}.Mean())
			}
		}
		panel.Curves = append(panel.Curves, c)
	}
	r.Panels = []study.Panel{panel}
	return r, nil
}

// calibrated is one party's part if a number of parts stay hidden.
type calibrated struct {
	variance float64
	from     privacy.Noise
}

func part(hidden int) (calibrated, error) {
	n, err := privacy.Calibrate(privacy.Target{Epsilon: 1, Delta: 1e-5, Sensitivity: 1 << 20, Dim: 10,
		Releases: 1, Parts: uint32(hidden)})
	return calibrated{float64(n.PartVariance), n}, err
}

func (c calibrated) spent(method string) study.Spent {
	return study.Spent{Method: method, Epsilon: c.from.Epsilon, Delta: 1e-5, Accountant: c.from.Method,
		Relation: privacy.ReplaceOne.String(), Noise: "all parts of which none but the hidden ones count"}
}
