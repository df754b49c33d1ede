package dataset

import (
	"errors"
	"slices"
)

// Join puts the rows of several files together, by the names of the columns. All files must have the
// columns of the first. The error names the column that a file lacks or has too many, as a LineError.
func Join(parts ...*Records) (*Records, error) {
	if len(parts) == 0 {
		return nil, errors.New("dataset: no records to join")
	}
	out := &Records{Name: parts[0].Name, Header: parts[0].Header}
	for _, p := range parts {
		from := make([]int, len(out.Header))
		for j, name := range out.Header {
			if from[j] = p.index(name); from[j] < 0 {
				return nil, &LineError{p.Name, 1, name, errors.New("the column is in " + out.Name + ", but not here")}
			}
		}
		for _, h := range p.Header {
			if !slices.Contains(out.Header, h) {
				return nil, &LineError{p.Name, 1, h, errors.New("the column is not in " + out.Name)}
			}
		}
		for i, cells := range p.Cells {
			row := make([]string, len(from))
			for j, k := range from {
				row[j] = cells[k]
			}
			out.Cells = append(out.Cells, row)
			out.Lines = append(out.Lines, p.Lines[i])
		}
		out.DecimalCommas = out.DecimalCommas || p.DecimalCommas
	}
	return out, nil
}
