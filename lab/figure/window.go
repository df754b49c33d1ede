package figure

import (
	"fmt"
	"math"
	"slices"
)

// xWindow is the range of all curves, with a margin on a linear axis.
func (p *Panel) xWindow() (lo, hi float64) {
	if n := len(p.Categories); n > 0 {
		return -0.5, float64(n) - 0.5
	}
	lo, hi = math.Inf(1), math.Inf(-1)
	for _, c := range p.Curves {
		lo, hi = min(lo, slices.Min(c.X)), max(hi, slices.Max(c.X))
	}
	switch {
	case p.LogX && lo == hi:
		return lo / 2, hi * 2
	case p.LogX:
		margin := math.Pow(hi/lo, 0.02)
		return lo / margin, hi * margin
	case lo == hi:
		return lo - 1, hi + 1
	}
	margin := (hi - lo) * 0.02
	return lo - margin, hi + margin
}

// yWindow shows the first curve in full, and of the rest what is within twice its height (four
// times over categories), so that one bad reference does not flatten the figure.
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
	switch {
	case p.LogY:
		reach = math.Inf(1)
	case len(p.Categories) > 0:
		reach *= 2
	}
	from, to := lo-reach, hi+reach
	for _, c := range p.Curves[1:] {
		lo, hi = extend(lo, hi, c.Y, from, to)
	}
	for _, l := range p.Levels {
		lo, hi = extend(lo, hi, []float64{l.Y}, from, to)
	}
	if p.LogY {
		margin := max(math.Pow(hi/lo, 0.05), 1.2)
		return lo / margin, hi * margin
	}
	margin := max(hi-lo, 0.01*math.Abs(hi), 1e-12) * 0.06
	return lo - margin, hi + margin
}

// extend widens [lo, hi] by the values in [from, to].
func extend(lo, hi float64, values []float64, from, to float64) (float64, float64) {
	for _, v := range values {
		if v >= from && v <= to {
			lo, hi = min(lo, v), max(hi, v)
		}
	}
	return lo, hi
}

// extremes are a curve's least and greatest value.
func (c *Curve) extremes() [2]float64 {
	lo, hi := extend(math.Inf(1), math.Inf(-1), c.Y, math.Inf(-1), math.Inf(1))
	return [2]float64{lo, hi}
}

// outside names the levels, ends of lines and extreme dots that are outside the window, with their
// values, and how many dots of a curve are drawn at the edge where they are more than one.
func (p *Panel) outside(lo, hi float64) (notes []string) {
	slack := 1e-9 * (hi - lo)
	note := func(name string, y float64) {
		switch {
		case y < lo-slack:
			notes = append(notes, fmt.Sprintf("↓ %s: %s", name, number(y, 3)))
		case y > hi+slack:
			notes = append(notes, fmt.Sprintf("↑ %s: %s", name, number(y, 3)))
		}
	}
	for _, c := range p.Curves {
		if c.dots(p) {
			for _, y := range c.extremes() {
				beyond := 0
				for _, v := range c.Y {
					if y < lo-slack && v < lo-slack || y > hi+slack && v > hi+slack {
						beyond++
					}
				}
				if beyond > 1 {
					note(fmt.Sprintf("%s (%d dots)", c.Name, beyond), y)
				} else {
					note(c.Name, y)
				}
			}
			continue
		}
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
