package figure

import (
	"image/color"
	"maps"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Sizes in points.
const (
	textSize  = vg.Length(11)
	smallSize = vg.Length(10)
	titleSize = vg.Length(13)
	gap       = vg.Length(9)
)

func white() color.Color { return color.NRGBA{R: 0xff, G: 0xff, B: 0xff, A: 0xff} }

// ink is the colour of text and axes, grid the colour of the grid.
func ink() color.Color  { return color.NRGBA{R: 0x22, G: 0x22, B: 0x22, A: 0xff} }
func grid() color.Color { return color.NRGBA{R: 0xe4, G: 0xe4, B: 0xe4, A: 0xff} }

// palette is that of [OI08] without its yellow, which is faint on white paper.
func palette() []color.NRGBA {
	return []color.NRGBA{
		{R: 0x00, G: 0x72, B: 0xb2, A: 0xff}, // blue
		{R: 0xd5, G: 0x5e, B: 0x00, A: 0xff}, // vermilion
		{R: 0x00, G: 0x9e, B: 0x73, A: 0xff}, // bluish green
		{R: 0xcc, G: 0x79, B: 0xa7, A: 0xff}, // reddish purple
		{R: 0xe6, G: 0x9f, B: 0x00, A: 0xff}, // orange
		{R: 0x56, G: 0xb4, B: 0xe9, A: 0xff}, // sky blue
		{R: 0x00, G: 0x00, B: 0x00, A: 0xff}, // black
	}
}

// style is how one name is drawn, in every panel and in the legend.
type style struct {
	name  string
	order int // of the names, by appearance
	dots  bool
	line  draw.LineStyle
	glyph draw.GlyphStyle // Shape is nil for levels
	band  color.Color
}

// styles gives every name of the figure its style, curves first, in order of appearance.
func (f *Figure) styles() map[string]style {
	out := map[string]style{}
	add := func(name string, curve, dots bool) {
		if _, ok := out[name]; !ok {
			s := newStyle(name, len(out), curve)
			s.dots = dots
			out[name] = s
		}
	}
	for i := range f.Panels {
		for _, c := range f.Panels[i].Curves {
			add(c.Name, true, c.dots(&f.Panels[i]))
		}
	}
	for _, p := range f.Panels {
		for _, l := range p.Levels {
			add(l.Name, false, false)
		}
	}
	return out
}

func inOrder(styles map[string]style) []style {
	return slices.SortedFunc(maps.Values(styles), func(a, b style) int { return a.order - b.order })
}

func newStyle(name string, i int, curve bool) style {
	colors := palette()
	c := colors[i%len(colors)]
	band := c
	band.A = 0x33
	s := style{name: name, order: i, band: band, line: draw.LineStyle{Color: c, Width: 1.8}}
	if !curve {
		s.line.Width = 1.4
		s.line.Dashes = dashes(i)
		return s
	}
	if i == 0 {
		s.line.Width = 2.6
	}
	shapes := []draw.GlyphDrawer{
		draw.CircleGlyph{}, draw.BoxGlyph{}, draw.PyramidGlyph{}, draw.RingGlyph{},
		draw.SquareGlyph{}, draw.TriangleGlyph{}, draw.CrossGlyph{},
	}
	// From the second round of colours on, dashes and another marker make the curve distinct.
	turn := i / len(colors)
	if turn > 0 {
		s.line.Dashes = dashes(turn - 1)
	}
	s.glyph = draw.GlyphStyle{Color: c, Radius: 2.6, Shape: shapes[(i+3*turn)%len(shapes)]}
	return s
}

func dashes(i int) []vg.Length {
	all := [][]vg.Length{{7, 3}, {2, 2.5}, {9, 3, 2, 3}, {4, 4}, {12, 4}, {6, 2, 2, 2, 2, 2}}
	return all[i%len(all)]
}

// textStyle is sans serif at the given size.
func textStyle(size vg.Length, bold bool) text.Style {
	f := font.Font{Typeface: "Liberation", Variant: "Sans", Size: size}
	if bold {
		f.Weight = 3 // bold, in golang.org/x/image/font's scale
	}
	return text.Style{
		Color: ink(), Font: f, Handler: plot.DefaultTextHandler,
		XAlign: draw.XLeft, YAlign: draw.YCenter,
	}
}
