package table

import (
	"fmt"
	"math"

	"choir/learn/bayes"
)

// Sum is the sum of the vectors of a party's records. Records of another width, or more of them than
// the plan allows, are an error.
func (l *Layout) Sum(d bayes.Data) ([]int64, error) {
	width := l.schema.Dim()
	if len(d.X) != len(d.Y)*width {
		return nil, fmt.Errorf("table: %d values for %d records of %d columns", len(d.X), len(d.Y), width)
	}
	if int64(d.Rows()) > l.cfg.MaxRecords {
		return nil, fmt.Errorf("table: %d records, and the plan allows a party %d", d.Rows(), l.cfg.MaxRecords)
	}
	sum := make([]int64, l.dim)
	for i, y := range d.Y {
		l.add1(sum, d.X[i*width:(i+1)*width], y)
	}
	return sum, nil
}

// add1 adds one record's vector.
func (l *Layout) add1(sum []int64, x []float64, y float64) {
	one := int64(1) << l.cfg.FracBits
	for _, i := range l.items {
		at := i.at
		if i.group != nil {
			g := i.group.level(x, y)
			if g < 0 {
				continue
			}
			at += g * i.size
		}
		switch i.kind {
		case "total":
			sum[at] += one
		case "moments":
			k := unitInt(i.number.unit(x, y), one)
			sum[at] += k
			sum[at+1] += k * k >> l.cfg.FracBits
		default:
			cell := 0
			for _, a := range i.axes {
				level := a.level(x, y)
				if level < 0 {
					cell = -1
					break
				}
				cell = cell*len(a.levels) + level
			}
			if cell >= 0 {
				sum[at+cell] += one
			}
		}
	}
}

// unitInt rounds u to the grid, within [-one, one] for any u.
func unitInt(u float64, one int64) int64 {
	if math.IsNaN(u) {
		return 0
	}
	return int64(math.RoundToEven(math.Min(math.Max(u, -1), 1) * float64(one)))
}
