package figure

import (
	"fmt"
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// draw lays out title, panels side by side and one legend of a valid figure.
func (f *Figure) draw(c draw.Canvas) error {
	c.SetColor(color.White)
	c.Fill(c.Rectangle.Path())
	c = draw.Crop(c, gap, -gap, gap, -gap)
	if f.Title != "" {
		sty := textStyle(titleSize, true)
		sty.XAlign, sty.YAlign = draw.XCenter, draw.YTop
		c.FillText(sty, vg.Point{X: c.Center().X, Y: c.Max.Y}, f.Title)
		c = draw.Crop(c, 0, 0, 0, -titleSize-gap)
	}
	styles := f.styles()
	rows := legendRows(styles, c.Max.X-c.Min.X)
	if vg.Length(len(rows))*legendHeight > (c.Max.Y-c.Min.Y)/2 {
		return fmt.Errorf("report: a legend of %d names leaves no room in the figure", len(styles))
	}
	height := drawLegend(c, rows)
	c = draw.Crop(c, 0, 0, height+gap, 0)
	tiles := draw.Tiles{Rows: 1, Cols: len(f.Panels), PadX: 2 * gap}
	for i := range f.Panels {
		f.Panels[i].plot(styles).Draw(tiles.At(c, i, 0))
	}
	return nil
}

// plot builds the panel; everything in it is drawn by marks of this package, which
// stay inside the window.
func (p *Panel) plot(styles []style) *plot.Plot {
	out := plot.New()
	out.Title.Text, out.Title.Padding = p.Title, gap
	out.Title.TextStyle.Font = textStyle(textSize, true).Font
	out.X.Label.Text, out.Y.Label.Text = p.XLabel, p.YLabel
	for _, a := range []*plot.Axis{&out.X, &out.Y} {
		a.Label.TextStyle.Font = textStyle(textSize, false).Font
		a.Tick.Label.Font = textStyle(smallSize, false).Font
		a.Label.Padding, a.Padding = 4, 0
		a.Tick.Length, a.Tick.Color, a.Color = 4, ink(), ink()
		a.Tick.Marker = axisTicks{}
	}
	out.X.Min, out.X.Max = p.xWindow()
	out.Y.Min, out.Y.Max = p.yWindow()
	switch {
	case p.LogX:
		out.X.Scale, out.X.Tick.Marker = plot.LogScale{}, logTicks{}
	case p.Integers:
		out.X.Tick.Marker = axisTicks{whole: true}
	}
	out.Add(gridMark{})
	for _, c := range p.Curves {
		out.Add(bandMark{c, find(styles, c.Name)})
	}
	for _, l := range p.Levels {
		out.Add(levelMark{l, find(styles, l.Name)})
	}
	for i := range p.Curves { // the first curve on top
		c := p.Curves[len(p.Curves)-1-i]
		out.Add(curveMark{c, find(styles, c.Name)})
	}
	out.Add(noteMark{p.outside(out.Y.Min, out.Y.Max)})
	return out
}

func find(styles []style, name string) style {
	for _, s := range styles {
		if s.name == name {
			return s
		}
	}
	return style{}
}

// xWindow is the range of all curves, with a little air on a linear axis.
func (p *Panel) xWindow() (lo, hi float64) {
	lo, hi = math.Inf(1), math.Inf(-1)
	for _, c := range p.Curves {
		lo, hi = min(lo, c.X[0]), max(hi, c.X[len(c.X)-1])
	}
	switch {
	case p.LogX && lo == hi:
		return lo / 2, hi * 2
	case p.LogX:
		return lo, hi
	case lo == hi:
		return lo - 1, hi + 1
	}
	air := (hi - lo) * 0.02
	return lo - air, hi + air
}

// yWindow shows the first curve in full, and of the rest what lies within twice its
// height, so that one bad reference cannot flatten the figure.
func (p *Panel) yWindow() (lo, hi float64) {
	if p.YMin < p.YMax {
		return p.YMin, p.YMax
	}
	lo, hi = math.Inf(1), math.Inf(-1)
	first := p.Curves[0]
	for _, ys := range [][]float64{first.Y, first.Lo, first.Hi} {
		lo, hi = extend(lo, hi, ys, math.Inf(-1), math.Inf(1))
	}
	reach := 2 * max(hi-lo, 0.01*math.Abs(hi), 1e-12)
	from, to := lo-reach, hi+reach
	for _, c := range p.Curves[1:] {
		lo, hi = extend(lo, hi, c.Y, from, to)
	}
	for _, l := range p.Levels {
		lo, hi = extend(lo, hi, []float64{l.Y}, from, to)
	}
	air := max(hi-lo, 0.01*math.Abs(hi), 1e-12) * 0.06
	return lo - air, hi + air
}

// extend widens [lo, hi] by the values that lie in [from, to].
func extend(lo, hi float64, values []float64, from, to float64) (float64, float64) {
	for _, v := range values {
		if v >= from && v <= to {
			lo, hi = min(lo, v), max(hi, v)
		}
	}
	return lo, hi
}

// outside says which levels and curves end outside the window, and where.
func (p *Panel) outside(lo, hi float64) (notes []string) {
	note := func(name string, y float64) {
		switch {
		case y < lo:
			notes = append(notes, fmt.Sprintf("↓ %s: %s", name, number(y, 3)))
		case y > hi:
			notes = append(notes, fmt.Sprintf("↑ %s: %s", name, number(y, 3)))
		}
	}
	for _, c := range p.Curves {
		last := math.NaN()
		for _, y := range c.Y {
			if !math.IsNaN(y) {
				last = y
			}
		}
		note(c.Name, last)
	}
	for _, l := range p.Levels {
		note(l.Name, l.Y)
	}
	return notes
}
