package dataset

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"sort"
)

// InferSchema derives a schema from the rows: columns in file order; numbers with their
// observed range, mean and population standard deviation; anything else one-hot with the
// observed categories in byte order ("?" among them). Identifiers, dates, free text and constants are
// left out (Schema.LeftOut), but for the kept columns. A column is rejected if only texts
// such as NA or inf, numbers out of range, a unit or a code of missing values keep it from
// being numeric, or if its points may separate thousands. With classification the target
// must have two values, of which the second of a common code is positive, or else the second
// in byte order.
//
// Bounds that were computed from the data reveal something about them: the result is not
// private, and its Source declares it (sourceInferred).
func (rec *Records) InferSchema(target string, classification bool, kept ...string) (*Schema, error) {
	at := rec.index(target)
	if at < 0 {
		return nil, &LineError{rec.Name, 1, target, errors.New("the target is not a column of the file")}
	}
	if len(rec.Cells) == 0 {
		return nil, &LineError{File: rec.Name, Err: errNoRows}
	}
	s := &Schema{Version: SchemaVersion, Source: sourceInferred, Missing: Zero, Unseen: Zero}
	for i, name := range rec.Header {
		infer := rec.inferColumn
		switch {
		case i == at && classification:
			infer = rec.inferLabels
		case i == at:
			infer = rec.inferTarget
		case !slices.Contains(kept, name) && rec.useless(i):
			continue
		}
		c, err := infer(i)
		if err != nil {
			return nil, &LineError{rec.Name, 0, name, err}
		}
		if i == at {
			s.Target = c
		} else {
			s.Columns = append(s.Columns, c)
		}
	}
	if len(s.Columns) == 0 {
		err := errors.New("no other column has numbers or categories to learn from")
		return nil, &LineError{rec.Name, 0, target, err}
	}
	return s, s.Validate()
}

// useless reports whether a column is none to learn from.
func (rec *Records) useless(i int) bool {
	_, numeric := rec.numbers(i)
	categories, err := rec.categories(i)
	return rec.constant(i) || rec.unusable(i, numeric || rec.almostNumbers(i) != nil, categories, err) != ""
}

// constant reports whether a column has one value in all rows, or none, which tells nothing. That of a number
// may be missing in some.
func (rec *Records) constant(i int) bool {
	if values, ok := rec.numbers(i); ok {
		return len(values) == 0 || slices.Min(values) == slices.Max(values)
	}
	return len(rec.Cells) > 0 && !slices.ContainsFunc(rec.Cells, func(cells []string) bool {
		return cells[i] != rec.Cells[0][i]
	})
}

// counts reports whether a column numbers the rows of its file, or of each of several files, from 0 or 1.
func (rec *Records) counts(i int) bool {
	starts, before := 0, math.Inf(-1)
	for _, cells := range rec.Cells {
		v, err := rec.number(cells[i])
		switch {
		case err != nil:
			return false
		case v == before+1:
		case v == 0 || v == 1:
			starts++
		default:
			return false
		}
		before = v
	}
	return leastIdentifiers*starts <= len(rec.Cells) && starts > 0
}

func (rec *Records) inferColumn(i int) (Column, error) {
	if err := rec.pointThousands(i); err != nil {
		return Column{}, err
	}
	if values, ok := rec.numbers(i); ok {
		if len(values) == 0 {
			return Column{}, errors.New("all values are missing")
		}
		return standardise(rec.Header[i], values)
	}
	if err := rec.almostNumbers(i); err != nil {
		return Column{}, err
	}
	cats, err := rec.categories(i)
	return Categorical(rec.Header[i], cats...), err
}

// manyTexts reports whether a column of this number of different texts has identifiers or free text.
func manyTexts(texts, records int) bool { return texts >= leastIdentifiers && 2*texts > records }

// leastIdentifiers is the number of different texts from which a column of hardly any repetitions has
// identifiers or free text.
const leastIdentifiers = 32

var (
	errSame    = errors.New("all values are the same: there is nothing to learn")
	errNumbers = errors.New("a classification target has two values, this one has more numbers: learn a " +
		"linear model, whose target is a number, or merge values in the files")
)

func (rec *Records) inferTarget(i int) (Column, error) {
	if err := cmp.Or(rec.pointThousands(i), rec.almostNumbers(i)); err != nil {
		return Column{}, err
	}
	values, ok := rec.numbers(i)
	if !ok || len(values) == 0 {
		return Column{}, errors.New("a regression target must be numeric")
	}
	if slices.Min(values) == slices.Max(values) {
		return Column{}, errSame
	}
	return standardise(rec.Header[i], values)
}

func (rec *Records) inferLabels(i int) (Column, error) {
	cats, err := rec.categories(i)
	_, numeric := rec.numbers(i)
	switch {
	case numeric && (len(cats) > 2 || errors.Is(err, errManyValues)):
		return Column{}, errNumbers
	case err != nil:
		return Column{}, err
	case len(cats) == 1:
		return Column{}, errSame
	case len(cats) > 2:
		return Column{}, fmt.Errorf("a classification target has two values, this one has %d: merge categories "+
			"in the files, or choose another target", len(cats))
	}
	if pair := pairOf(cats); pair != nil {
		cats = pair
	}
	return Binary(rec.Header[i], cats[0], cats[1]), nil
}

// numbers returns the present values of a column, or false if one is not a number.
func (rec *Records) numbers(i int) ([]float64, bool) {
	values := make([]float64, 0, len(rec.Cells))
	read := rec.reader()
	for _, cells := range rec.Cells {
		if noNumber(cells[i]) {
			continue
		}
		v, err := read(cells[i])
		if err != nil {
			return nil, false
		}
		values = append(values, v)
	}
	return values, true
}

// errManyValues: a column has more different texts than categories may be.
var errManyValues = fmt.Errorf("more than %d different values: not a category", maxCategories)

func (rec *Records) categories(i int) ([]string, error) {
	seen := map[string]bool{}
	for _, cells := range rec.Cells {
		if cells[i] != "" {
			seen[cells[i]] = true
		}
		if len(seen) > maxCategories {
			return nil, errManyValues
		}
	}
	if len(seen) == 0 {
		return nil, errors.New("all values are missing")
	}
	cats := make([]string, 0, len(seen))
	for v := range seen {
		cats = append(cats, v)
	}
	sort.Strings(cats)
	return cats, nil
}

// standardise describes values by mean and population standard deviation, in two
// passes. A constant column is encoded as zero.
func standardise(name string, values []float64) (Column, error) {
	lo := values[0]
	hi := values[0]
	sum := 0.0
	for _, v := range values {
		lo = math.Min(lo, v)
		hi = math.Max(hi, v)
		sum = sum + v
	}
	n := float64(len(values))
	mean := sum / n
	if lo == hi {
		return Standardised(name, lo, lo+math.Max(1, math.Abs(lo)), lo, 1), nil
	}
	square := 0.0
	for _, v := range values {
		square += (v - mean) * (v - mean)
	}
	sd := math.Sqrt(square / n)
	if math.IsInf(sd, 0) || math.IsNaN(sd) || sd == 0 {
		return Column{}, errors.New("values too far apart or too close to standardise")
	}
	return Standardised(name, lo, hi, mean, sd), nil
}

// StandardisedOn describes a column of numbers by the range, mean and population standard
// deviation of these rows. That is not private: a schema with such a column has to declare
// it in its Source.
func (rec *Records) StandardisedOn(column string) (Column, error) {
	i := rec.index(column)
	if i < 0 {
		return Column{}, &LineError{rec.Name, 1, column, errors.New("column is absent")}
	}
	values, ok := rec.numbers(i)
	if !ok || len(values) == 0 {
		return Column{}, &LineError{rec.Name, 0, column, errNotNumber}
	}
	c, err := standardise(column, values)
	if err != nil {
		return Column{}, &LineError{rec.Name, 0, column, err}
	}
	return c, nil
}
