package experiment

import (
	"fmt"
	"slices"

	"choir/lab/figure"
	"choir/privacy"
	"choir/protocol"
)

// NoiseCurve draws the extra noise of the distributed setting against the number
// of parties (Paper I, Figure 1b), the plan's own T among others, to base.svg
// and base.png.
func NoiseCurve(p *protocol.Plan, base string) error {
	panel := figure.Panel{
		Title:  "Noise on the sum over a trusted aggregator's",
		XLabel: "parties N",
		YLabel: "ratio of standard deviations",
		LogX:   true,
	}
	for _, t := range slices.Compact(slices.Sorted(slices.Values([]uint32{0, 1, 5, p.Colluders}))) {
		c := figure.Curve{Name: fmt.Sprintf("T = %d", t)}
		if t == p.Colluders {
			c.Name += " (this plan's)"
		}
		for n := t + 2; n <= 1000; n += 1 + n/20 {
			c.X = append(c.X, float64(n))
			c.Y = append(c.Y, privacy.NoiseOverhead(n, n, t, 2).Distributed)
		}
		panel.Curves = append(panel.Curves, c)
	}
	return (&figure.Figure{Panels: []figure.Panel{panel}}).Write(base)
}
