package dataset

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Unlabelled are records to predict for, encoded: one row for every record of the
// file, in its order, whether the file has targets or not.
type Unlabelled struct {
	Columns []string // names of the encoded columns, Bias last
	X       []float64
	// Remarks describes for every record the effect of the schema's policies, by column,
	// without cells' contents; empty for most.
	Remarks []string
	// Usable reports which records have a row; the others were to be dropped for a missing
	// value and have zeros.
	Usable []bool
	// Y and Labelled have the targets, encoded, where the file has them. A target that is
	// missing or not in the schema is no error here. Unread counts those that are there and not in
	// the schema, and Unfit is the first one's error; ClippedTargets are outside the target's range.
	Y              []float64
	Labelled       []bool
	Unread         int
	Unfit          error
	ClippedTargets int
	Ignored        []string // columns of the file that the schema does not use
}

// Rows is the number of records.
func (u *Unlabelled) Rows() int { return len(u.Usable) }

// Row is record i as a view into X.
func (u *Unlabelled) Row(i int) []float64 {
	d := len(u.Columns)
	return u.X[i*d : (i+1)*d : (i+1)*d]
}

// EncodeUnlabelled encodes records by a schema whose target they may lack. The first value
// that the schema rejects is returned as a *LineError; a record that lacks a value under
// the policy Drop keeps its position instead and is not usable.
func (rec *Records) EncodeUnlabelled(s *Schema) (*Unlabelled, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	e := &encoder{rec: rec, schema: s, dim: s.Dim()}
	labelled := rec.index(s.Target.Name) >= 0
	if err := e.bindColumns(labelled); err != nil {
		return nil, err
	}
	n := len(rec.Cells)
	if n == 0 {
		return nil, &LineError{File: rec.Name, Err: errNoRows}
	}
	if n*e.dim > maxCells {
		return nil, badDataf("%d rows of %d encoded columns are more than %d values", n, e.dim, maxCells)
	}
	u := &Unlabelled{Columns: e.table.Columns, X: make([]float64, n*e.dim), Remarks: make([]string, n),
		Usable: make([]bool, n),
		Y:      make([]float64, n), Labelled: make([]bool, n), Ignored: e.table.Notes.Ignored}
	for i, cells := range rec.Cells {
		if err := e.unlabelled(u, i, cells, labelled); err != nil {
			return nil, e.locate(i, err)
		}
	}
	return u, nil
}

func (e *encoder) unlabelled(u *Unlabelled, i int, cells []string, labelled bool) error {
	notes := &e.table.Notes
	clear(notes.Clipped)
	clear(notes.Unseen)
	clear(notes.Missing)
	row := u.Row(i)
	err := e.features(row, cells)
	if errors.Is(err, errDrop) {
		clear(row)
		u.Remarks[i] = "no prediction: a value is missing"
		return nil
	}
	if err != nil {
		return err
	}
	u.Usable[i], u.Remarks[i] = true, notes.remark()
	if labelled {
		e.known(u, i, cells[e.target.from])
	}
	return nil
}

// known encodes the target of record i.
func (e *encoder) known(u *Unlabelled, i int, cell string) {
	y, err := e.label(cell)
	u.Y[i], u.Labelled[i] = y, err == nil
	if err != nil && !errors.Is(err, errDrop) && !errors.Is(err, ErrMissing) {
		u.Unread++
		if u.Unfit == nil {
			u.Unfit = e.locate(i, err)
		}
	}
	if e.table.Notes.Clipped[e.target.Name] > 0 {
		u.ClippedTargets++
	}
}

// remark names the columns whose values were changed.
func (n *Notes) remark() string {
	var parts []string
	for _, k := range []struct {
		what  string
		count map[string]int
	}{{"missing", n.Missing}, {"unseen category", n.Unseen}, {"clipped", n.Clipped}} {
		if len(k.count) == 0 {
			continue
		}
		var names []string
		for name := range k.count {
			names = append(names, name)
		}
		slices.Sort(names)
		parts = append(parts, fmt.Sprintf("%s: %s", k.what, strings.Join(names, ", ")))
	}
	return strings.Join(parts, "; ")
}
