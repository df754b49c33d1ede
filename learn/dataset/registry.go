package dataset

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"path/filepath"
	"strings"
)

// uciMirror is where the archive publishes the originals.
const uciMirror = "https://archive.ics.uci.edu/ml/machine-learning-databases/"

// Original is a published data set whose bytes are pinned.
type Original struct {
	Name  string // folder name: adult, wine, abalone
	Title string
	// Licence names the terms of the archive's page.
	Licence string
	Files   []File
}

// File is one file of an Original.
type File struct {
	Name   string // file name within the folder
	URL    string // where the archive has it
	Bytes  int64  // exact size
	SHA256 string // lower-case hex
}

// Names lists the data sets that Get knows.
func Names() []string { return []string{"adult", "wine", "abalone"} }

// Get returns a data set by name, or ErrUnknownSet.
func Get(name string) (Original, error) {
	const licence = "UCI Machine Learning Repository, CC BY 4.0"
	switch name {
	case "adult":
		return Original{Name: name, Title: "Adult (census income)", Licence: licence, Files: []File{
			{"adult.data", uciMirror + "adult/adult.data", 3974305,
				"5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d"},
			{"adult.test", uciMirror + "adult/adult.test", 2003153,
				"a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05"},
		}}, nil
	case "wine":
		return Original{Name: name, Title: "Wine Quality", Licence: licence, Files: []File{
			{"winequality-red.csv", uciMirror + "wine-quality/winequality-red.csv", 84199,
				"4a402cf041b025d4566d954c3b9ba8635a3a8a01e039005d97d6a710278cf05e"},
			{"winequality-white.csv", uciMirror + "wine-quality/winequality-white.csv", 264426,
				"76c3f809815c17c07212622f776311faeb31e87610d52c26d87d6e361b169836"},
		}}, nil
	case "abalone":
		return Original{Name: name, Title: "Abalone", Licence: licence, Files: []File{
			{"abalone.data", uciMirror + "abalone/abalone.data", 191873,
				"de37cdcdcaaa50c309d514f248f7c2302a5f1f88c168905eba23fe2fbc78449f"},
		}}, nil
	}
	return Original{}, fmt.Errorf("%w: %q is not one of %s", ErrUnknownSet, name, strings.Join(Names(), ", "))
}

// Check reads a file to its end and refuses it, with ErrChecksum, unless it is the
// pinned original. It never reads more than one byte beyond the pinned size.
func (f File) Check(r io.Reader) error { return f.copy(io.Discard, r) }

// copy writes what it reads while it checks it.
func (f File) copy(w io.Writer, r io.Reader) error {
	h := sha256.New()
	n, err := io.Copy(io.MultiWriter(w, h), io.LimitReader(r, f.Bytes+1))
	if err != nil {
		return fmt.Errorf("dataset: %s: %w", f.Name, err)
	}
	if n != f.Bytes {
		return fmt.Errorf("%w: %s is not %d bytes long (read %d)", ErrChecksum, f.Name, f.Bytes, n)
	}
	if got := hex.EncodeToString(h.Sum(nil)); got != f.SHA256 {
		return fmt.Errorf("%w: %s has SHA-256 %s, the original %s", ErrChecksum, f.Name, got, f.SHA256)
	}
	return nil
}

// Verify checks all files of the set below dir (dir/adult/adult.data and so on).
func (o Original) Verify(dir string) error {
	for _, f := range o.Files {
		if err := f.verify(filepath.Join(dir, o.Name, f.Name)); err != nil {
			return err
		}
	}
	return nil
}
