package figure

import (
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// maxMarkers bounds the markers on a curve; a line of many points is thinned.
const maxMarkers = 24

// gridMark draws lines at the y ticks.
type gridMark struct{}

// Plot implements plot.Plotter.
func (gridMark) Plot(c draw.Canvas, p *plot.Plot) {
	_, ty := p.Transforms(&c)
	for _, t := range p.Y.Tick.Marker.Ticks(p.Y.Min, p.Y.Max) {
		if y := ty(t.Value); c.ContainsY(y) {
			c.StrokeLine2(draw.LineStyle{Color: grid(), Width: 0.7}, c.Min.X, y, c.Max.X, y)
		}
	}
}

// bandMark fills between a curve's bounds.
type bandMark struct {
	curve Curve
	style style
}

// Plot implements plot.Plotter.
func (m bandMark) Plot(c draw.Canvas, p *plot.Plot) {
	n := len(m.curve.Lo)
	if n < 2 {
		return
	}
	tx, ty := p.Transforms(&c)
	outline := make([]vg.Point, 0, 2*n)
	for i := range n {
		outline = append(outline, vg.Point{X: tx(m.curve.X[i]), Y: ty(m.curve.Hi[i])})
	}
	for i := n - 1; i >= 0; i-- {
		outline = append(outline, vg.Point{X: tx(m.curve.X[i]), Y: ty(m.curve.Lo[i])})
	}
	if clipped := c.ClipPolygonXY(outline); len(clipped) > 2 {
		c.FillPolygon(m.style.band, clipped)
	}
}

// levelMark draws a line across the panel.
type levelMark struct {
	level Level
	style style
}

// Plot implements plot.Plotter.
func (m levelMark) Plot(c draw.Canvas, p *plot.Plot) {
	if math.IsNaN(m.level.Y) {
		return
	}
	_, ty := p.Transforms(&c)
	if y := ty(m.level.Y); c.ContainsY(y) {
		c.StrokeLine2(m.style.line, c.Min.X, y, c.Max.X, y)
	}
}

// curveMark draws a line with gaps at NaN, and thinned markers.
type curveMark struct {
	curve Curve
	style style
}

// Plot implements plot.Plotter.
func (m curveMark) Plot(c draw.Canvas, p *plot.Plot) {
	tx, ty := p.Transforms(&c)
	every := (len(m.curve.X) + maxMarkers - 1) / maxMarkers
	var run, markers []vg.Point
	for i, x := range m.curve.X {
		if math.IsNaN(m.curve.Y[i]) {
			c.StrokeLines(m.style.line, c.ClipLinesXY(run)...)
			run = nil
			continue
		}
		pt := vg.Point{X: tx(x), Y: ty(m.curve.Y[i])}
		run = append(run, pt)
		if i%every == 0 || i == len(m.curve.X)-1 {
			markers = append(markers, pt)
		}
	}
	if len(run) > 1 {
		c.StrokeLines(m.style.line, c.ClipLinesXY(run)...)
	}
	for _, pt := range markers {
		c.DrawGlyph(m.style.glyph, pt) // draws only inside the panel
	}
}

// noteMark writes lines of text into the lower right corner, on white: learning curves
// rarely end there.
type noteMark struct{ lines []string }

// Plot implements plot.Plotter.
func (m noteMark) Plot(c draw.Canvas, _ *plot.Plot) {
	sty := textStyle(smallSize, false)
	sty.YAlign = draw.YBottom
	const leading = smallSize + 3
	for i, line := range m.lines {
		at := vg.Point{X: c.Max.X - gap - sty.Width(line), Y: c.Min.Y + gap/2 + vg.Length(len(m.lines)-1-i)*leading}
		box := vg.Rectangle{Min: vg.Point{X: at.X - 2, Y: at.Y - 1}, Max: vg.Point{X: at.X + sty.Width(line) + 2, Y: at.Y + leading - 1}}
		c.SetColor(color.NRGBA{R: 0xff, G: 0xff, B: 0xff, A: 0xd0})
		c.Fill(box.Path())
		c.FillText(sty, at, line)
	}
}

// Measures of a legend entry.
const (
	sampleWidth  = vg.Length(26)
	entryGap     = vg.Length(18)
	legendHeight = textSize + 6
)

// legendRows breaks the entries into rows that fit the width.
func legendRows(styles []style, width vg.Length) (rows [][]style) {
	used := vg.Length(0)
	for _, s := range styles {
		w := entryWidth(s)
		if len(rows) == 0 || used+w > width {
			rows, used = append(rows, nil), 0
		}
		rows[len(rows)-1] = append(rows[len(rows)-1], s)
		used += w
	}
	return rows
}

func entryWidth(s style) vg.Length {
	return sampleWidth + 5 + textStyle(textSize, false).Width(s.name) + entryGap
}

// drawLegend draws centred rows at the bottom and returns their height.
func drawLegend(c draw.Canvas, rows [][]style) vg.Length {
	sty := textStyle(textSize, false)
	for r, row := range rows {
		width := -entryGap
		for _, s := range row {
			width += entryWidth(s)
		}
		x := c.Center().X - width/2
		y := c.Min.Y + (vg.Length(len(rows)-1-r)+0.5)*legendHeight
		for _, s := range row {
			c.StrokeLine2(s.line, x, y, x+sampleWidth, y)
			if s.glyph.Shape != nil {
				c.DrawGlyphNoClip(s.glyph, vg.Point{X: x + sampleWidth/2, Y: y})
			}
			c.FillText(sty, vg.Point{X: x + sampleWidth + 5, Y: y}, s.name)
			x += entryWidth(s)
		}
	}
	return vg.Length(len(rows)) * legendHeight
}
