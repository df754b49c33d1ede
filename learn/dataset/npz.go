package dataset

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Arrays are the named arrays of a .npz file.
type Arrays map[string]*Array

// Limits of a .npz file: members, bytes of the file itself, and the values that it may have beyond one
// for each of its bytes. Without the last, a file of 64 kB could unpack to 512 MB of zeros.
const (
	maxMembers  = 64
	maxNPZBytes = 1 << 30
	maxUnpacked = 1 << 22
)

// ReadNPZ reads a .npz file as numpy.savez and numpy.savez_compressed write it: a zip of
// .npy members, each of at most two dimensions, together at most 2^26 values, and at most 2^22
// and one for each byte of the file. Anything else
// is rejected: two members of one name, a name other than NAME.npy, a wrong checksum.
func ReadNPZ(r io.Reader) (Arrays, error) {
	b, err := io.ReadAll(io.LimitReader(r, maxNPZBytes+1))
	if err != nil {
		return nil, fmt.Errorf("dataset: read npz: %w", err)
	}
	if len(b) > maxNPZBytes {
		return nil, badDataf("npz: more than %d bytes", maxNPZBytes)
	}
	z, err := zip.NewReader(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		return nil, badDataf("npz: %w", err)
	}
	if len(z.File) > maxMembers {
		return nil, badDataf("npz: %d members, at most %d", len(z.File), maxMembers)
	}
	all, left := Arrays{}, min(maxCells, maxUnpacked+len(b))
	for _, f := range z.File {
		name, ok := strings.CutSuffix(f.Name, ".npy")
		if err := checkName(name); !ok || err != nil {
			return nil, badDataf("npz: member %q isn't the name of an array with .npy", f.Name)
		}
		if all[name] != nil {
			return nil, badDataf("npz: two arrays are called %q", name)
		}
		if all[name], err = readMember(f, left); err != nil {
			return nil, badDataf("npz: array %q: %w", name, err)
		}
		left -= len(all[name].Data)
	}
	return all, nil
}

// readMember reads one array of at most left values.
func readMember(f *zip.File, left int) (*Array, error) {
	r, err := f.Open()
	if err != nil {
		return nil, err
	}
	defer r.Close() // only read from; the checksum is compared at the end of the data
	h, err := readNPYHeader(r)
	if err != nil {
		return nil, err
	}
	if h.count() > left {
		return nil, fmt.Errorf("%d values are more than a file of this size may have: save the arrays without "+
			"compression (numpy.savez), %d at most", h.count(), maxCells)
	}
	data, err := h.read(r, h.count())
	if err != nil {
		return nil, err
	}
	// read requested a byte beyond the end; a wrong checksum shows here.
	if _, err := r.Read(make([]byte, 1)); err != io.EOF {
		return nil, fmt.Errorf("damaged: %w", err)
	}
	return &Array{Shape: h.shape, Data: data, Text: h.descr == "|u1"}, nil
}

// WriteNPZ writes the arrays in order of name, uncompressed and without dates: equal
// arrays give equal bytes.
func (all Arrays) WriteNPZ(w io.Writer) error {
	z := zip.NewWriter(w)
	var names []string
	for name := range all {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		if err := checkName(name); err != nil {
			return badDataf("npz: array %q: %w", name, err)
		}
		m, err := z.CreateHeader(&zip.FileHeader{Name: name + ".npy", Method: zip.Store})
		if err == nil {
			err = all[name].writeNPY(m)
		}
		if err != nil {
			return fmt.Errorf("dataset: write npz: array %q: %w", name, err)
		}
	}
	if err := z.Close(); err != nil {
		return fmt.Errorf("dataset: write npz: %w", err)
	}
	return nil
}
