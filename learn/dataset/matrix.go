package dataset

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Matrix is a plain numeric matrix of finite values, row-major.
type Matrix struct {
	Rows, Cols int
	Data       []float64
	Columns    []string // names, if the file had any
}

// Row returns row i as a view into Data.
func (m *Matrix) Row(i int) []float64 {
	return m.Data[i*m.Cols : (i+1)*m.Cols : (i+1)*m.Cols]
}

// records returns the matrix as text that is read back as the same numbers.
func (m *Matrix) records(name string) *Records {
	rec := &Records{Name: name}
	for j := range m.Cols {
		rec.Header = append(rec.Header, fmt.Sprintf("x%d", j+1))
	}
	for i := range m.Rows {
		cells := make([]string, m.Cols)
		for j, v := range m.Row(i) {
			cells[j] = strconv.FormatFloat(v, 'g', -1, 64)
		}
		rec.Cells, rec.Lines = append(rec.Cells, cells), append(rec.Lines, i+1)
	}
	return rec
}

// LoadRecords reads a delimited file with a header, or a .npy matrix, whose columns are called x1, x2
// and so on. Errors: those of opening the file, and those of ReadRecords.
func LoadRecords(path string) (*Records, error) { return loadRecords(path, false) }

// LoadHeader is LoadRecords for a file that may have no rows below its header.
func LoadHeader(path string) (*Records, error) { return loadRecords(path, true) }

// open opens a data file; its errors tell what to do.
func open(path string) (*os.File, error) {
	f, err := os.Open(path)
	if err == nil {
		var info os.FileInfo
		if info, err = f.Stat(); err == nil && !info.IsDir() {
			return f, nil
		}
		f.Close()
		if err == nil {
			return nil, badDataf("%s is a folder: name the file in it", path)
		}
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("dataset: %w: look at the path, and at the folder that it counts from", err)
	case errors.Is(err, fs.ErrPermission):
		return nil, fmt.Errorf("dataset: %w: give the user who runs this the right to read it", err)
	}
	return nil, fmt.Errorf("dataset: %w", err)
}

func loadRecords(path string, headerOnly bool) (*Records, error) {
	if strings.EqualFold(filepath.Ext(path), ".npy") {
		m, err := LoadMatrix(path)
		if err != nil {
			return nil, err
		}
		return m.records(filepath.Base(path)), nil
	}
	f, err := open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close() // only read from
	return ReadRecords(f, CSVOptions{Name: filepath.Base(path), HeaderOnly: headerOnly})
}

// LoadMatrix reads a matrix from a .npy file, or from a delimited text file under any
// other name.
func LoadMatrix(path string) (*Matrix, error) {
	f, err := open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close() // only read from
	name := filepath.Base(path)
	if strings.EqualFold(filepath.Ext(name), ".npy") {
		m, err := loadNPY(f)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		return m, nil
	}
	return loadCSVMatrix(f, name)
}

// loadCSVMatrix reads a delimited file (comma, semicolon or tab) of finite decimal numbers.
// The first line is a row if all of its fields are numbers, and a header if no field is a
// number and at least one may be a name. Any other first line is rejected, so that a row
// with values that are missing, not finite or written with a decimal comma is never
// mistaken for a header. Blank lines are skipped. Errors contain name.
func loadCSVMatrix(r io.Reader, name string) (*Matrix, error) {
	br := bufio.NewReaderSize(r, 1<<16)
	if err := skipMark(br); err != nil {
		return nil, fmt.Errorf("dataset: read %s: %w", name, err)
	}
	cr := csv.NewReader(br)
	cr.Comma = detectComma(br)
	cr.FieldsPerRecord = -1
	cr.ReuseRecord = true
	cr.TrimLeadingSpace = cr.Comma != '\t'
	m := &matrixReader{name: name, csv: cr}
	for {
		cells, err := cr.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, (&Records{Name: name, Header: m.header}).parseError(err, cells)
		}
		if err := m.add(cells); err != nil {
			return nil, err
		}
	}
	if m.out.Rows == 0 {
		return nil, &LineError{File: name, Err: errors.New("no rows")}
	}
	return &m.out, nil
}

// matrixReader collects the rows of loadCSVMatrix.
type matrixReader struct {
	name   string
	csv    *csv.Reader
	header []string // names for messages: the file's, or #1, #2, ...
	out    Matrix
}

func (m *matrixReader) add(cells []string) error {
	line, _ := m.csv.FieldPos(0)
	if m.header == nil {
		isHeader, err := m.first(line, cells)
		if err != nil || isHeader {
			return err
		}
	}
	if len(cells) != m.out.Cols {
		return (&Records{Name: m.name, Header: m.header}).countError(line, len(cells))
	}
	if (m.out.Rows+1)*m.out.Cols > maxCells {
		return &LineError{m.name, line, "", fmt.Errorf("more than %d values", maxCells)}
	}
	for i, c := range cells {
		v, err := parseNumber(trim(c))
		if err != nil {
			return &LineError{m.name, line, m.header[i], err}
		}
		m.out.Data = append(m.out.Data, v)
	}
	m.out.Rows++
	return nil
}

// first fixes the columns by the first line and reports whether it was a header.
func (m *matrixReader) first(line int, cells []string) (bool, error) {
	m.out.Cols = len(cells)
	numbers := 0
	figures := 0
	names := 0
	odd := 0
	for i, c := range cells {
		if _, err := parseNumber(trim(c)); err == nil {
			numbers++
		} else {
			odd = i
		}
		switch {
		case figure(trim(c)):
			figures++
		case !noValue(trim(c)):
			names++
		}
		m.header = append(m.header, fmt.Sprintf("#%d", i+1))
	}
	switch {
	case numbers == len(cells):
		return false, nil
	case figures == 0 && names > 0:
		m.header = trimAll(append([]string(nil), cells...))
		m.out.Columns = m.header
		return true, nil
	}
	return false, &LineError{m.name, line, m.header[odd], errors.New("neither a header nor a row of numbers")}
}
