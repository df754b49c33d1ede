package figure

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/plot/vg"
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
	// YMin and YMax fix the window if YMin < YMax. Otherwise it shows the first curve, and
	// of the others what is within twice its height; over categories four times. A
	// logarithmic axis shows everything. Dots outside are drawn at the edge, with a note.
	YMin, YMax float64
	// Integers restricts ticks to whole numbers of X.
	Integers bool
	// LogX and LogY make an axis logarithmic; every value on it must be positive.
	LogX, LogY bool
	// Categories label the positions 0, 1, 2, ... of X. Every curve of the panel is then
	// drawn as dots, with a bar at their mean in each category.
	Categories []string
}

// Curve is a line through (X[i], Y[i]), X ascending. Lo and Hi, if set, bound an error band
// around it. A NaN in Y is a gap. Curves of one name share a style across panels.
type Curve struct {
	Name   string
	X, Y   []float64
	Lo, Hi []float64
	// Dots draws points without a line, with error bars in place of the band. X may be in
	// any order.
	Dots bool
}

// Level is a named horizontal line; a NaN is left out of this panel.
type Level struct {
	Name string
	Y    float64
}

// Validate refuses a figure that could not be drawn as intended.
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
	if p.LogY && p.YMin < p.YMax && p.YMin <= 0 {
		return fmt.Errorf("a logarithmic axis from %g", p.YMin)
	}
	for _, c := range p.Curves {
		if err := c.validate(p); err != nil {
			return fmt.Errorf("curve %q: %w", c.Name, err)
		}
	}
	for _, l := range p.Levels {
		if math.IsInf(l.Y, 0) || p.LogY && l.Y <= 0 {
			return fmt.Errorf("level %q at %g cannot be drawn", l.Name, l.Y)
		}
	}
	return nil
}

func (c *Curve) validate(p *Panel) error {
	if len(c.X) == 0 || len(c.Y) != len(c.X) {
		return fmt.Errorf("%d values of x, %d of y", len(c.X), len(c.Y))
	}
	for i, x := range c.X {
		switch y := c.Y[i]; {
		case math.IsNaN(x) || math.IsInf(x, 0) || p.LogX && x <= 0:
			return fmt.Errorf("x[%d] = %g cannot be drawn", i, x)
		case i > 0 && x < c.X[i-1] && !c.dots(p):
			return fmt.Errorf("x[%d] goes back", i)
		case math.IsInf(y, 0) || p.LogY && y <= 0:
			return fmt.Errorf("y[%d] = %g cannot be drawn", i, y)
		}
	}
	if !slices.ContainsFunc(c.Y, func(y float64) bool { return !math.IsNaN(y) }) {
		return errors.New("no points")
	}
	return c.validateBounds(p.LogY)
}

func (c *Curve) validateBounds(log bool) error {
	if len(c.Lo) == 0 && len(c.Hi) == 0 {
		return nil
	}
	if len(c.Lo) != len(c.X) || len(c.Hi) != len(c.X) {
		return fmt.Errorf("%d lower and %d upper bounds of %d values", len(c.Lo), len(c.Hi), len(c.X))
	}
	for i := range c.Lo {
		if !(c.Lo[i] <= c.Hi[i]) || math.IsInf(c.Lo[i], 0) || math.IsInf(c.Hi[i], 0) || log && c.Lo[i] <= 0 {
			return fmt.Errorf("the bounds at %d cannot be drawn", i)
		}
	}
	return nil
}

// dots reports whether the curve is drawn without a line.
func (c *Curve) dots(p *Panel) bool { return c.Dots || len(p.Categories) > 0 }

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
