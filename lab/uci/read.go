package uci

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"choir/learn/dataset"
)

// adultColumns are the names that adult.names gives; it has none for the last column,
// the label.
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

// Adult reads all 48,842 rows of Adult: adult.data, then adult.test. dir is a folder with
// a folder for each set, or empty for this package's copy; so for Wine and Abalone.
//
// The comment line of adult.test is skipped, the final dot of its labels removed, and "?"
// kept as a category.
func Adult(dir string) (*dataset.Records, error) { return in(dir).adult("adult/") }

// Wine reads the red or the white wines: "red" or "white".
func Wine(dir, colour string) (*dataset.Records, error) {
	return in(dir).wine("wine/winequality-" + colour + ".csv")
}

// Abalone reads abalone.data.
func Abalone(dir string) (*dataset.Records, error) { return in(dir).abalone("abalone/abalone.data") }

// Open reads the file or folder that a user names. The sets' original files are known by
// their names and come with a public schema: adult.data (with adult.test, if that is in
// the same folder), adult.test, abalone.data, winequality-red.csv, winequality-white.csv,
// or a folder with adult.data or abalone.data. Any other file is read by
// dataset.LoadRecords, and its schema is nil.
func Open(name string) (*dataset.Records, *dataset.Schema, error) {
	if info, err := os.Stat(name); err == nil && info.IsDir() {
		return openFolder(name)
	}
	dir, base := filepath.Dir(name), filepath.Base(name)
	switch base {
	case "adult.data":
		rec, err := in(dir).adult("")
		return rec, adultSchema(), err
	case "adult.test":
		rec, err := in(dir).adultFile(base)
		return rec, adultSchema(), err
	case "abalone.data":
		rec, err := in(dir).abalone(base)
		return rec, AbaloneSchema(), err
	case "winequality-red.csv", "winequality-white.csv":
		rec, err := in(dir).wine(base)
		return rec, WineSchema(), err
	}
	rec, err := dataset.LoadRecords(name)
	return rec, nil, err
}

func openFolder(dir string) (*dataset.Records, *dataset.Schema, error) {
	for _, name := range []string{"adult.data", "abalone.data"} {
		if exists(filepath.Join(dir, name)) {
			return Open(filepath.Join(dir, name))
		}
	}
	if exists(filepath.Join(dir, "winequality-red.csv")) {
		return nil, nil, fmt.Errorf("%w: %s: name the file, winequality-red.csv or winequality-white.csv",
			dataset.ErrBadData, dir)
	}
	return nil, nil, fmt.Errorf("%w: %s: a folder without adult.data or abalone.data", dataset.ErrBadData,
		dir)
}

// exists is false only if the file is absent. Any other error is left to opening it.
func exists(name string) bool {
	_, err := os.Stat(name)
	return !errors.Is(err, fs.ErrNotExist)
}

// adult reads adult.data, and adult.test if it is there. prefix comes before both names.
func (open opener) adult(prefix string) (*dataset.Records, error) {
	rec, err := open.adultFile(prefix + "adult.data")
	if err != nil {
		return nil, err
	}
	more, err := open.adultFile(prefix + "adult.test")
	if errors.Is(err, fs.ErrNotExist) {
		return rec, nil
	}
	if err != nil {
		return nil, err
	}
	rec.Cells = append(rec.Cells, more.Cells...)
	rec.Lines = append(rec.Lines, more.Lines...)
	return rec, nil
}

func (open opener) adultFile(name string) (*dataset.Records, error) {
	rec, err := open.read(name, dataset.CSVOptions{Comma: ',', Comment: '|', Header: adultColumns})
	if err != nil {
		return nil, err
	}
	label := len(adultColumns) - 1
	for _, cells := range rec.Cells {
		cells[label] = strings.TrimSuffix(cells[label], ".")
	}
	return rec, nil
}

func (open opener) wine(name string) (*dataset.Records, error) {
	return open.read(name, dataset.CSVOptions{Comma: ';'})
}

func (open opener) abalone(name string) (*dataset.Records, error) {
	return open.read(name, dataset.CSVOptions{Comma: ',', Header: abaloneColumns})
}

func (open opener) read(name string, o dataset.CSVOptions) (*dataset.Records, error) {
	f, err := open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close() // only read from
	o.Name = filepath.Base(name)
	return dataset.ReadRecords(f, o)
}
