package report

import (
	"fmt"
	"math"
	"strings"

	"choir/attack/collude"
)

// The sizes of a heat map, in its own units.
const (
	cellWidth  = 124
	cellHeight = 34
	headWidth  = 74
)

// heatMap draws measured against claimed epsilon as an SVG element: a row for each number of parties, a
// column for each of compute nodes.
func heatMap(cells map[[2]int]collude.Cell, parties, nodes int) string {
	var b strings.Builder
	width, height := headWidth+(nodes+1)*cellWidth, (parties+2)*cellHeight
	fmt.Fprintf(&b, `<svg viewBox="0 0 %d %d" style="max-width:%dpx" role="img" `+
		`aria-label="measured of claimed epsilon" font-size="13" text-anchor="middle">`,
		width, height, width)
	text := func(x, y int, fill, s string) {
		fmt.Fprintf(&b, `<text x="%d" y="%d" fill="%s">%s</text>`, x, y+cellHeight/2+5, fill, s)
	}
	for k := range nodes + 1 {
		text(headWidth+k*cellWidth+cellWidth/2, 0, "currentColor", fmt.Sprintf("%d nodes", k))
	}
	for i := range parties + 1 {
		y := (i + 1) * cellHeight
		text(headWidth/2, y, "currentColor", fmt.Sprintf("%d parties", i))
		for k := range nodes + 1 {
			c, ok := cells[[2]int{i, k}]
			if !ok {
				continue
			}
			x, share := headWidth+k*cellWidth, shareOf(c)
			fmt.Fprintf(&b, `<rect x="%d" y="%d" width="%d" height="%d" fill="%s"><title>%s</title></rect>`, x+1, y+1,
				cellWidth-2, cellHeight-2, shade(share), fmt.Sprintf("%.0f %% of the claim", 100*share))
			label, ink := number(c.Measured, 3)+" of "+numberOr(c.Claimed), "#111"
			if !c.Tolerated {
				label = "(" + label + ")"
			}
			if share > 0.6 {
				ink = "#fff"
			}
			text(x+cellWidth/2, y, ink, label)
		}
	}
	b.WriteString("</svg>")
	return b.String()
}

// shareOf is the share of the claim that was measured; 0 without a claim.
func shareOf(c collude.Cell) float64 {
	if c.Claimed == nil || *c.Claimed <= 0 {
		return 0
	}
	return c.Measured / *c.Claimed
}

// shade goes from white to dark blue at the claim, and is red beyond it.
func shade(share float64) string {
	if share > 1 {
		return "#b00020"
	}
	s := math.Max(0, share)
	mix := func(from, to float64) int { return int(from + (to-from)*s) }
	return fmt.Sprintf("#%02x%02x%02x", mix(247, 8), mix(251, 48), mix(255, 107))
}
