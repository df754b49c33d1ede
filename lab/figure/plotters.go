package figure

import (
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// maxMarkers bounds the markers on a curve.
const maxMarkers = 24

// adder adds plotters to a panel and keeps the first error.
type adder struct {
	plot *plot.Plot
	err  error
}

func (a *adder) add(p plot.Plotter, err error) {
	if err != nil {
		a.err = err
		return
	}
	// Not plot.Add: it would widen the axes.
	lo, hi := a.plot.X.Min, a.plot.X.Max
	bottom, top := a.plot.Y.Min, a.plot.Y.Max
	a.plot.Add(p)
	a.plot.X.Min, a.plot.X.Max = lo, hi
	a.plot.Y.Min, a.plot.Y.Max = bottom, top
}

func (a *adder) grid() {
	g := plotter.NewGrid()
	g.Vertical.Color = nil
	g.Horizontal = draw.LineStyle{Color: grid(), Width: 0.7}
	a.plot.Add(g)
}

func (a *adder) level(l Level, s style) {
	if math.IsNaN(l.Y) {
		return
	}
	line, err := plotter.NewLine(plotter.XYs{{X: a.plot.X.Min, Y: l.Y}, {X: a.plot.X.Max, Y: l.Y}})
	if err == nil {
		line.LineStyle = s.line
	}
	a.add(line, err)
}

// line draws a curve with gaps at NaN, and markers on some of its points.
func (a *adder) line(c Curve, s style) {
	every := (len(c.X) + maxMarkers - 1) / maxMarkers
	var run, markers plotter.XYs
	stroke := func() {
		if len(run) > 1 {
			l, err := plotter.NewLine(run)
			if err == nil {
				l.LineStyle = s.line
			}
			a.add(l, err)
		}
		run = nil
	}
	for i, x := range c.X {
		if math.IsNaN(c.Y[i]) {
			stroke()
			continue
		}
		run = append(run, plotter.XY{X: x, Y: c.Y[i]})
		if i%every == 0 || i == len(c.X)-1 {
			markers = append(markers, plotter.XY{X: x, Y: c.Y[i]})
		}
	}
	stroke()
	a.scatter(markers, s)
}

func (a *adder) scatter(points plotter.XYs, s style) {
	marks, err := plotter.NewScatter(points)
	if err == nil {
		marks.GlyphStyle = s.glyph
	}
	a.add(marks, err)
}

// dots draws the points of a curve with their error bars; those outside the window at its edge.
func (a *adder) dots(c Curve, s style) {
	inside := func(y float64) float64 { return min(max(y, a.plot.Y.Min), a.plot.Y.Max) }
	var points plotter.XYs
	var bounds plotter.YErrors
	for i, x := range c.X {
		if math.IsNaN(c.Y[i]) {
			continue
		}
		y := inside(c.Y[i])
		points = append(points, plotter.XY{X: x, Y: y})
		if len(c.Lo) > 0 {
			bounds = append(bounds, struct{ Low, High float64 }{y - inside(c.Lo[i]), inside(c.Hi[i]) - y})
		}
	}
	if len(bounds) > 0 {
		bars, err := plotter.NewYErrorBars(struct {
			plotter.XYs
			plotter.YErrors
		}{points, bounds})
		if err == nil {
			bars.LineStyle = s.line
			bars.LineStyle.Width = 1
		}
		a.add(bars, err)
	}
	a.scatter(points, s)
}

// means draws a bar at the mean of a curve's dots in each category.
func (a *adder) means(c Curve, s style) {
	sums := map[float64][3]float64{} // category: sum of x, sum of y, number
	for i, x := range c.X {
		if at := math.Round(x); !math.IsNaN(c.Y[i]) {
			v := sums[at]
			sums[at] = [3]float64{v[0] + x, v[1] + c.Y[i], v[2] + 1}
		}
	}
	for at := range int(a.plot.X.Max + 0.5) {
		v, ok := sums[float64(at)]
		if !ok {
			continue
		}
		x, y := v[0]/v[2], v[1]/v[2]
		bar, err := plotter.NewLine(plotter.XYs{{X: x - 0.05, Y: y}, {X: x + 0.05, Y: y}})
		if err == nil {
			bar.LineStyle = draw.LineStyle{Color: s.line.Color, Width: 2}
		}
		a.add(bar, err)
	}
}

// band fills between a curve's bounds.
func (a *adder) band(c Curve, s style) {
	if len(c.Lo) > 1 {
		a.add(band{c, s.band}, nil)
	}
}

// band is a polygon that is clipped to the panel, which plotter.Polygon is not.
type band struct {
	curve Curve
	color color.Color
}

// Plot implements plot.Plotter.
func (b band) Plot(c draw.Canvas, p *plot.Plot) {
	tx, ty := p.Transforms(&c)
	n := len(b.curve.Lo)
	outline := make([]vg.Point, 2*n)
	for i := range n {
		outline[i] = vg.Point{X: tx(b.curve.X[i]), Y: ty(b.curve.Hi[i])}
		outline[2*n-1-i] = vg.Point{X: tx(b.curve.X[i]), Y: ty(b.curve.Lo[i])}
	}
	if clipped := c.ClipPolygonXY(outline); len(clipped) > 2 {
		c.FillPolygon(b.color, clipped)
	}
}

// notes writes lines of text on white into the lower right corner, which learning curves
// rarely reach.
type notes struct{ lines []string }

// Plot implements plot.Plotter.
func (n notes) Plot(c draw.Canvas, _ *plot.Plot) {
	sty := textStyle(smallSize, false)
	sty.YAlign = draw.YBottom
	const leading = smallSize + 3
	for i, line := range n.lines {
		at := vg.Point{
			X: c.Max.X - gap - sty.Width(line),
			Y: c.Min.Y + gap/2 + vg.Length(len(n.lines)-1-i)*leading,
		}
		box := vg.Rectangle{
			Min: vg.Point{X: at.X - 2, Y: at.Y - 1},
			Max: vg.Point{X: at.X + sty.Width(line) + 2, Y: at.Y + leading - 1},
		}
		c.SetColor(color.NRGBA{R: 0xff, G: 0xff, B: 0xff, A: 0xd0})
		c.Fill(box.Path())
		c.FillText(sty, at, line)
	}
}
