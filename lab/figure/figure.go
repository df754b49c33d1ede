package figure

import (
	"bytes"
	"choir/internal/atomicfile"
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Figure is a row of panels over one legend.
type Figure struct {
	Title  string // may be empty
	Panels []Panel
	// Width and Height are in CSS pixels (1/96 inch); 0 means 1200 x 500.
	Width, Height int
}

// Panel is one pair of axes.
type Panel struct {
	Title, XLabel, YLabel string
	Curves                []Curve
	Levels                []Level
	// YMin and YMax fix the window if YMin < YMax. Otherwise it follows the first
	// curve, and takes in others as far as they lie within twice its height.
	YMin, YMax float64
	// Integers puts ticks on whole numbers of X only.
	Integers bool
	// LogX draws X on a logarithmic axis; every X must be positive.
	LogX bool
}

// Curve is a line through (X[i], Y[i]), X ascending. Lo and Hi, if set, bound an error band around
// it. A NaN in Y is a gap. Curves of one name share a style across panels.
type Curve struct {
	Name   string
	X, Y   []float64
	Lo, Hi []float64
}

// Level is a named horizontal line; a NaN is left out of this panel.
type Level struct {
	Name string
	Y    float64
}

// pngDPI makes text sharp on dense screens: 1.5 image pixels to a CSS pixel.
const pngDPI = 144

// Validate refuses a figure that could not be drawn as it is meant.
func (f *Figure) Validate() error {
	if len(f.Panels) == 0 {
		return errors.New("report: figure without panels")
	}
	for _, side := range []int{f.Width, f.Height} {
		if side != 0 && (side < 150 || side > 4000) {
			return fmt.Errorf("report: figure of %d x %d pixels, want 150 to 4000 each", f.Width, f.Height)
		}
	}
	for i := range f.Panels {
		if err := f.Panels[i].validate(); err != nil {
			return fmt.Errorf("report: panel %d (%s): %w", i, f.Panels[i].Title, err)
		}
	}
	return nil
}

func (p *Panel) validate() error {
	if len(p.Curves) == 0 {
		return errors.New("no curves")
	}
	for _, c := range p.Curves {
		if err := c.validate(p.LogX); err != nil {
			return fmt.Errorf("curve %q: %w", c.Name, err)
		}
	}
	for _, l := range p.Levels {
		if math.IsInf(l.Y, 0) {
			return fmt.Errorf("level %q is infinite", l.Name)
		}
	}
	return nil
}

func (c *Curve) validate(log bool) error {
	if len(c.X) == 0 || len(c.Y) != len(c.X) {
		return fmt.Errorf("%d values of x, %d of y", len(c.X), len(c.Y))
	}
	if (len(c.Lo) != 0 || len(c.Hi) != 0) && (len(c.Lo) != len(c.X) || len(c.Hi) != len(c.X)) {
		return fmt.Errorf("a band of %d and %d values around %d", len(c.Lo), len(c.Hi), len(c.X))
	}
	points := 0
	for i, x := range c.X {
		switch {
		case math.IsNaN(x) || math.IsInf(x, 0) || log && x <= 0:
			return fmt.Errorf("x[%d] = %g cannot be drawn", i, x)
		case i > 0 && x < c.X[i-1]:
			return fmt.Errorf("x[%d] goes back", i)
		case math.IsInf(c.Y[i], 0):
			return fmt.Errorf("y[%d] is infinite", i)
		}
		if !math.IsNaN(c.Y[i]) {
			points++
		}
	}
	for i := range c.Lo {
		if !(c.Lo[i] <= c.Hi[i]) || math.IsInf(c.Lo[i], 0) || math.IsInf(c.Hi[i], 0) {
			return fmt.Errorf("the band's bounds at %d are not finite and in order", i)
		}
	}
	if points == 0 {
		return errors.New("no points")
	}
	return nil
}

// SVG renders the figure as an SVG document.
func (f *Figure) SVG() ([]byte, error) {
	if err := f.Validate(); err != nil {
		return nil, err
	}
	w, h := f.size()
	c := vgsvg.New(w, h)
	if err := f.draw(draw.New(c)); err != nil {
		return nil, err
	}
	var buf bytes.Buffer
	if _, err := c.WriteTo(&buf); err != nil {
		return nil, fmt.Errorf("report: svg: %w", err)
	}
	// Viewers without the Liberation fonts get fonts of the same widths.
	return bytes.ReplaceAll(buf.Bytes(), []byte("font-family:Liberation Sans;"),
		[]byte("font-family:Liberation Sans,Arial,Helvetica,sans-serif;")), nil
}

// PNG renders the figure at 1.5 times its size in CSS pixels.
func (f *Figure) PNG() ([]byte, error) {
	if err := f.Validate(); err != nil {
		return nil, err
	}
	w, h := f.size()
	c := vgimg.NewWith(vgimg.UseWH(w, h), vgimg.UseDPI(pngDPI))
	if err := f.draw(draw.New(c)); err != nil {
		return nil, err
	}
	var buf bytes.Buffer
	if _, err := (vgimg.PngCanvas{Canvas: c}).WriteTo(&buf); err != nil {
		return nil, fmt.Errorf("report: png: %w", err)
	}
	return buf.Bytes(), nil
}

// Write renders the figure to base.svg and base.png.
func (f *Figure) Write(base string) error {
	svg, err := f.SVG()
	if err != nil {
		return err
	}
	png, err := f.PNG()
	if err != nil {
		return err
	}
	if err := atomicfile.WriteFile(base+".svg", svg); err != nil {
		return err
	}
	return atomicfile.WriteFile(base+".png", png)
}

// size is the figure's size in points (1/72 inch).
func (f *Figure) size() (w, h vg.Length) {
	width, height := f.Width, f.Height
	if width == 0 {
		width = 1200
	}
	if height == 0 {
		height = 500
	}
	return vg.Length(width) * 0.75, vg.Length(height) * 0.75
}
