package dataset

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// adultColumns are the names that adult.names gives; the last one, the label, it
// leaves unnamed.
var adultColumns = []string{
	"age", "workclass", "fnlwgt", "education", "education-num", "marital-status",
	"occupation", "relationship", "race", "sex", "capital-gain", "capital-loss",
	"hours-per-week", "native-country", "income",
}

// abaloneColumns are the names in abalone.names.
var abaloneColumns = []string{
	"Sex", "Length", "Diameter", "Height", "Whole weight", "Shucked weight",
	"Viscera weight", "Shell weight", "Rings",
}

// Open reads the file or folder that a user names. UCI Adult (a folder with adult.data,
// or that file: adult.test beside it is read after it), abalone.data and the wine
// quality files are known by their file names and come with a public schema; for any
// other file (see LoadRecords) the schema is nil.
func Open(path string) (*Records, *Schema, error) {
	if isDir(path) {
		return openFolder(path)
	}
	switch base := filepath.Base(path); {
	case base == "adult.data" || base == "adult.test":
		rec, err := LoadAdult(path)
		return rec, AdultSchema(), err
	case base == "abalone.data":
		rec, err := LoadAbalone(path)
		return rec, AbaloneSchema(), err
	case base == "winequality-red.csv" || base == "winequality-white.csv":
		rec, err := LoadWine(path)
		return rec, WineSchema(), err
	}
	rec, err := LoadRecords(path)
	return rec, nil, err
}

// LoadRecords reads a delimited file with a header, or a .npy matrix, whose columns
// are called x1, x2 and so on.
func LoadRecords(path string) (*Records, error) {
	if !strings.EqualFold(filepath.Ext(path), ".npy") {
		return readFile(path, CSVOptions{})
	}
	m, err := LoadMatrix(path)
	if err != nil {
		return nil, err
	}
	return m.records(filepath.Base(path)), nil
}

func openFolder(dir string) (*Records, *Schema, error) {
	for _, name := range []string{"adult.data", "abalone.data"} {
		if exists(filepath.Join(dir, name)) {
			return Open(filepath.Join(dir, name))
		}
	}
	if exists(filepath.Join(dir, "winequality-red.csv")) {
		return nil, nil, badDataf("%s: name the file, winequality-red.csv or winequality-white.csv", dir)
	}
	return nil, nil, badDataf("%s: a folder without adult.data or abalone.data", dir)
}

// LoadAdult reads UCI Adult as published: no header, columns as in adult.names, the
// comment line of adult.test skipped, its labels' final dot removed, "?" kept as a
// category. path is the folder, or adult.data (adult.test beside it is appended if it
// is there), or adult.test alone.
func LoadAdult(path string) (*Records, error) {
	if isDir(path) {
		path = filepath.Join(path, "adult.data")
	}
	rec, err := loadAdultFile(path)
	if err != nil {
		return nil, err
	}
	test := filepath.Join(filepath.Dir(path), "adult.test")
	if filepath.Base(path) != "adult.data" || !exists(test) {
		return rec, nil
	}
	more, err := loadAdultFile(test)
	if err != nil {
		return nil, err
	}
	rec.Cells = append(rec.Cells, more.Cells...)
	rec.Lines = append(rec.Lines, more.Lines...)
	return rec, nil
}

func loadAdultFile(path string) (*Records, error) {
	rec, err := readFile(path, CSVOptions{Comma: ',', Comment: '|', Header: adultColumns})
	if err != nil {
		return nil, err
	}
	label := len(adultColumns) - 1
	for _, cells := range rec.Cells {
		cells[label] = strings.TrimSuffix(cells[label], ".")
	}
	return rec, nil
}

// LoadWine reads one of the two UCI wine quality files (semicolons, with a header).
func LoadWine(path string) (*Records, error) {
	return readFile(path, CSVOptions{Comma: ';'})
}

// LoadAbalone reads abalone.data (no header, columns as in abalone.names); path is the
// file or its folder.
func LoadAbalone(path string) (*Records, error) {
	if isDir(path) {
		path = filepath.Join(path, "abalone.data")
	}
	return readFile(path, CSVOptions{Comma: ',', Header: abaloneColumns})
}

func readFile(path string, opt CSVOptions) (*Records, error) {
	f, err := openFile(path)
	if err != nil {
		return nil, err
	}
	defer f.Close() // only read from
	opt.Name = filepath.Base(path)
	return ReadRecords(f, opt)
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// exists is false only for a file that is surely absent, so that trouble in reaching
// it surfaces when it is opened.
func exists(path string) bool {
	_, err := os.Stat(path)
	return !errors.Is(err, fs.ErrNotExist)
}
