package dataset

import (
	"errors"
	"fmt"
	"maps"
	"slices"
)

// Check is what a schema does to the rows of a file. It describes private rows: show it to
// their owner only.
type Check struct {
	Rows    int           `json:"rows"`
	Dropped int           `json:"dropped"` // rows left out for a missing value
	Columns []ColumnCheck `json:"columns"` // the target first, then the schema's order
	Ignored []string      `json:"ignored"` // columns of the file that the schema does not use
	// Skewness is that of a numeric target, as it is encoded.
	Skewness float64 `json:"target_skewness,omitempty"`
}

// ColumnCheck counts the values of one column that are not encoded as they are.
type ColumnCheck struct {
	Column  string `json:"column"`
	Target  bool   `json:"target"`
	Absent  bool   `json:"absent"`  // the file has no such column
	Clipped int    `json:"clipped"` // cut to the range
	Unseen  int    `json:"unseen"`  // categories that the schema does not list
	Missing int    `json:"missing"`
	// Constant reports that all values of the file are the same: nothing is learnt of the column from it.
	Constant bool `json:"constant,omitempty"`
	// Points is the line of the first point that is read as a decimal one and may separate thousands.
	Points  int    `json:"points,omitempty"`
	Refused int    `json:"refused"` // values that stop a party; with the first one's line and cause
	Line    int    `json:"line,omitempty"`
	Cause   string `json:"cause,omitempty"`
}

// Usable reports whether a party can run with the file.
func (c *Check) Usable() bool {
	return c.Dropped < c.Rows && !slices.ContainsFunc(c.Columns, func(k ColumnCheck) bool {
		return k.Absent || k.Refused > 0
	})
}

// Remarks are what is worth a look in single columns, for the owner of the rows.
func (c *Check) Remarks() (list []string) {
	for _, k := range c.Columns {
		if remark := k.remark(c.Rows); remark != "" {
			list = append(list, k.Column+": "+remark)
		}
	}
	return list
}

// remark is "" for a column of which nothing is worth a look.
func (k ColumnCheck) remark(rows int) string {
	switch {
	case k.Absent:
		return k.Cause
	case k.Refused > 0:
		return fmt.Sprintf("line %d: %s", k.Line, k.Cause)
	case k.Points > 0:
		return fmt.Sprintf("line %d: a point before three digits, as 1.500, in a file with decimal commas is read "+
			"as 1.5: write 1500 if it separates thousands", k.Points)
	case 2*k.Missing >= rows:
		return "much is missing: look whether the file is whole"
	case 20*(k.Clipped+k.Unseen) >= rows:
		return "much is cut or unlisted: compare unit and codes with the schema"
	case k.Constant:
		return "all values are the same: this file tells nothing of the column"
	}
	return ""
}

// Check encodes every cell by itself and counts what happens. The error is that of a schema that is
// not valid.
func (rec *Records) Check(s *Schema) (*Check, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	out := &Check{Rows: len(rec.Cells), Columns: []ColumnCheck{}, Ignored: []string{}}
	used := map[string]bool{s.Target.Name: true}
	dropped := map[int]bool{}
	out.Columns = append(out.Columns, rec.checkColumn(s, s.Target, true, dropped))
	for _, c := range s.Columns {
		used[c.Name] = true
		out.Columns = append(out.Columns, rec.checkColumn(s, c, false, dropped))
	}
	for _, h := range rec.Header {
		if !used[h] {
			out.Ignored = append(out.Ignored, h)
		}
	}
	out.Dropped = len(dropped)
	if s.Target.Numeric != nil {
		out.Skewness = rec.skewness(s.Target)
	}
	return out, nil
}

// skewness is that of a column of numbers, cut to the range.
func (rec *Records) skewness(c Column) float64 {
	at := rec.index(c.Name)
	if at < 0 {
		return 0
	}
	var values []float64
	read := rec.reader()
	for _, cells := range rec.Cells {
		if v, err := read(cells[at]); err == nil && !noNumber(cells[at]) {
			y, _ := c.Numeric.encode(v)
			values = append(values, y)
		}
	}
	return Skewness(values)
}

func (rec *Records) checkColumn(s *Schema, c Column, target bool, dropped map[int]bool) ColumnCheck {
	out := ColumnCheck{Column: c.Name, Target: target}
	from := rec.index(c.Name)
	if from < 0 {
		out.Absent = true
		out.Cause = rec.absent(c.Name).Error()
		return out
	}
	out.Constant = len(rec.Cells) > 1 && rec.constant(from)
	if c.Numeric != nil && rec.showsCommas() {
		out.Points = rec.pointLine(from)
	}
	notes := Notes{Clipped: map[string]int{}, Unseen: map[string]int{}, Missing: map[string]int{}}
	e := &encoder{rec: rec, schema: s, table: &Table{Notes: notes}}
	b := boundColumn{Column: c, from: from, category: map[string]int{}}
	for i, v := range c.Categories {
		b.category[v] = i
	}
	e.target = b
	cell := make([]float64, max(1, len(c.Categories)))
	for i, cells := range rec.Cells {
		var err error
		if target {
			_, err = e.label(cells[from])
		} else {
			err = e.feature(cell, &b, cells[from])
		}
		switch {
		case errors.Is(err, errDrop):
			dropped[i] = true
			out.Missing++
		case err != nil:
			if out.Refused == 0 {
				out.Line = rec.Lines[i]
				out.Cause = err.Error()
			}
			out.Refused++
		}
	}
	total := func(counts map[string]int) (n int) {
		for v := range maps.Values(counts) {
			n += v
		}
		return n
	}
	out.Clipped, out.Unseen = total(notes.Clipped), total(notes.Unseen)
	out.Missing += total(notes.Missing)
	return out
}
