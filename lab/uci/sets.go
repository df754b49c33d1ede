package uci

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
)

//go:embed files
var embedded embed.FS

var (
	// ErrChecksum: a file is not the published original.
	ErrChecksum = errors.New("checksum mismatch")
	// ErrUnknownSet: no data set has that name.
	ErrUnknownSet = errors.New("unknown data set")
)

// archive is the address below which the repository publishes the originals.
const archive = "https://archive.ics.uci.edu/ml/machine-learning-databases/"

// Set is a published data set whose bytes are pinned.
type Set struct {
	Name    string // also the name of its folder: adult, wine, abalone
	Title   string
	Licence string
	Files   []File
}

// File is one file of a Set.
type File struct {
	Name   string // file name in the set's folder
	URL    string // where the repository publishes it
	Bytes  int64  // exact size
	SHA256 string // of the uncompressed file, lower-case hex
}

// Names lists the data sets.
func Names() []string { return []string{"adult", "wine", "abalone"} }

// Get returns a data set by name, or ErrUnknownSet.
func Get(name string) (Set, error) {
	const licence = "UCI Machine Learning Repository, CC BY 4.0"
	switch name {
	case "adult":
		return Set{Name: name, Title: "Adult (census income)", Licence: licence, Files: []File{
			{"adult.data", archive + "adult/adult.data", 3974305,
				"5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d"},
			{"adult.test", archive + "adult/adult.test", 2003153,
				"a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05"},
		}}, nil
	case "wine":
		return Set{Name: name, Title: "Wine Quality", Licence: licence, Files: []File{
			{"winequality-red.csv", archive + "wine-quality/winequality-red.csv", 84199,
				"4a402cf041b025d4566d954c3b9ba8635a3a8a01e039005d97d6a710278cf05e"},
			{"winequality-white.csv", archive + "wine-quality/winequality-white.csv", 264426,
				"76c3f809815c17c07212622f776311faeb31e87610d52c26d87d6e361b169836"},
		}}, nil
	case "abalone":
		return Set{Name: name, Title: "Abalone", Licence: licence, Files: []File{
			{"abalone.data", archive + "abalone/abalone.data", 191873,
				"de37cdcdcaaa50c309d514f248f7c2302a5f1f88c168905eba23fe2fbc78449f"},
		}}, nil
	}
	return Set{}, fmt.Errorf("%w: %q is not one of %s", ErrUnknownSet, name, strings.Join(Names(), ", "))
}

// copy writes r to w and returns ErrChecksum unless it is the pinned file. It reads at
// most one byte beyond the pinned size.
func (f File) copy(w io.Writer, r io.Reader) error {
	h := sha256.New()
	n, err := io.Copy(io.MultiWriter(w, h), io.LimitReader(r, f.Bytes+1))
	if err != nil {
		return fmt.Errorf("uci: %s: %w", f.Name, err)
	}
	if n != f.Bytes {
		return fmt.Errorf("%w: %s is not %d bytes long (read %d)", ErrChecksum, f.Name, f.Bytes, n)
	}
	if got := hex.EncodeToString(h.Sum(nil)); got != f.SHA256 {
		return fmt.Errorf("%w: %s has SHA-256 %s, the original %s", ErrChecksum, f.Name, got, f.SHA256)
	}
	return nil
}

// opener opens a file by its slash-separated name.
type opener func(name string) (io.ReadCloser, error)

// in returns the opener of a folder; the empty one is the copy in this package.
func in(dir string) opener {
	if dir == "" {
		return unpack
	}
	return func(name string) (io.ReadCloser, error) {
		f, err := os.Open(filepath.Join(dir, filepath.FromSlash(name)))
		if err != nil {
			return nil, fmt.Errorf("uci: %w", err)
		}
		return f, nil
	}
}

func unpack(name string) (io.ReadCloser, error) {
	packed, err := embedded.ReadFile(path.Join("files", name+".gz"))
	if err != nil {
		return nil, fmt.Errorf("uci: %w", err)
	}
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, fmt.Errorf("uci: %s: %w", name, err)
	}
	return r, nil
}
