package figure

import (
	"fmt"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// draw lays out the title, the panels side by side, and one legend.
func (f *Figure) draw(c draw.Canvas) error {
	c.SetColor(white())
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
		return fmt.Errorf("report: a legend of %d names leaves no space in the figure", len(styles))
	}
	height := drawLegend(c, rows)
	c = draw.Crop(c, 0, 0, height+gap, 0)
	tiles := draw.Tiles{Rows: 1, Cols: len(f.Panels), PadX: 2 * gap}
	for i := range f.Panels {
		p, err := f.Panels[i].plot(styles)
		if err != nil {
			return fmt.Errorf("report: panel %d: %w", i, err)
		}
		drawPanel(p, f.Panels[i].YLabel, tiles.At(c, i, 0))
	}
	return nil
}

// drawPanel draws a plot and its Y label. plot.Plot would reserve space above a logarithmic
// axis for the label, which it centres at the mean of the limits.
func drawPanel(p *plot.Plot, yLabel string, c draw.Canvas) {
	sty := textStyle(textSize, false)
	sty.Rotation = math.Pi / 2
	sty.XAlign = draw.XCenter
	sty.YAlign = draw.YTop
	right := draw.Crop(c, textSize+7, 0, 0, 0)
	data := p.DataCanvas(right)
	c.FillText(sty, vg.Point{X: c.Min.X, Y: data.Center().Y}, yLabel)
	p.Draw(right)
}

// plot builds the panel.
func (p *Panel) plot(styles map[string]style) (*plot.Plot, error) {
	out := plot.New()
	p.axes(out)
	add := adder{plot: out}
	add.grid()
	for _, c := range p.Curves {
		if !c.dots(p) {
			add.band(c, styles[c.Name])
		}
	}
	for _, l := range p.Levels {
		add.level(l, styles[l.Name])
	}
	for i := range p.Curves { // the first curve on top
		c := p.Curves[len(p.Curves)-1-i]
		switch s := styles[c.Name]; {
		case len(p.Categories) > 0:
			add.dots(c, s)
			add.means(c, s)
		case c.Dots:
			add.dots(c, s)
		default:
			add.line(c, s)
		}
	}
	out.Add(notes{p.outside(out.Y.Min, out.Y.Max)})
	return out, add.err
}

// axes sets up everything of a panel but its data.
func (p *Panel) axes(out *plot.Plot) {
	out.Title.Text, out.Title.Padding = p.Title, gap
	out.Title.TextStyle.Font = textStyle(textSize, true).Font
	out.X.Label.Text = p.XLabel
	for _, a := range []*plot.Axis{&out.X, &out.Y} {
		a.Label.TextStyle.Font = textStyle(textSize, false).Font
		a.Tick.Label.Font = textStyle(smallSize, false).Font
		a.Label.Padding, a.Padding = 4, 0
		a.Tick.Length = 4
		a.Tick.Color = ink()
		a.Color = ink()
		a.Tick.Marker = axisTicks{}
	}
	out.X.Min, out.X.Max = p.xWindow()
	out.Y.Min, out.Y.Max = p.yWindow()
	switch {
	case len(p.Categories) > 0:
		out.X.Tick.Marker = categories(p.Categories)
	case p.LogX:
		out.X.Scale, out.X.Tick.Marker = plot.LogScale{}, logTicks{apart: true}
	case p.Integers:
		out.X.Tick.Marker = axisTicks{whole: true}
	}
	if p.LogY {
		out.Y.Scale, out.Y.Tick.Marker = plot.LogScale{}, logTicks{}
	}
}

// Measures of a legend entry.
const (
	sampleWidth  = vg.Length(26)
	entryGap     = vg.Length(18)
	legendHeight = textSize + 6
)

// legendRows breaks the entries into rows that fit the width.
func legendRows(styles map[string]style, width vg.Length) (rows [][]style) {
	used := vg.Length(0)
	for _, s := range inOrder(styles) {
		w := s.entryWidth()
		if len(rows) == 0 || used+w > width {
			rows, used = append(rows, nil), 0
		}
		rows[len(rows)-1] = append(rows[len(rows)-1], s)
		used += w
	}
	return rows
}

func (s style) entryWidth() vg.Length {
	return sampleWidth + 5 + textStyle(textSize, false).Width(s.name) + entryGap
}

// drawLegend draws centred rows at the bottom and returns their height.
func drawLegend(c draw.Canvas, rows [][]style) vg.Length {
	sty := textStyle(textSize, false)
	for r, row := range rows {
		width := -entryGap
		for _, s := range row {
			width += s.entryWidth()
		}
		x := c.Center().X - width/2
		y := c.Min.Y + (vg.Length(len(rows)-1-r)+0.5)*legendHeight
		for _, s := range row {
			if !s.dots {
				c.StrokeLine2(s.line, x, y, x+sampleWidth, y)
			}
			if s.glyph.Shape != nil {
				c.DrawGlyphNoClip(s.glyph, vg.Point{X: x + sampleWidth/2, Y: y})
			}
			c.FillText(sty, vg.Point{X: x + sampleWidth + 5, Y: y}, s.name)
			x += s.entryWidth()
		}
	}
	return vg.Length(len(rows)) * legendHeight
}
