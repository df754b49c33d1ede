package uci

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
)

// Install puts the set's files into dst/<name>/ and returns that folder. They come from
// this package's copy. Files that are already there and correct are kept. A file appears
// under its name only after its checksum was verified; on ErrChecksum the file that was
// there before stays.
func (s Set) Install(dst string) (string, error) { return s.install(dst, unpack) }

func (s Set) install(dst string, open opener) (string, error) {
	dir := filepath.Join(dst, s.Name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("uci: %w", err)
	}
	for _, f := range s.Files {
		target := filepath.Join(dir, f.Name)
		if f.verify(target) == nil {
			continue
		}
		src, err := open(path.Join(s.Name, f.Name))
		if err != nil {
			return "", err
		}
		err = f.install(target, src)
		if err := errors.Join(err, src.Close()); err != nil {
			return "", err
		}
	}
	return dir, nil
}

// install writes to a temporary file in the same folder and renames it.
func (f File) install(target string, src io.Reader) (err error) {
	tmp, err := os.CreateTemp(filepath.Dir(target), "."+f.Name+".*")
	if err != nil {
		return fmt.Errorf("uci: %w", err)
	}
	defer func() {
		if err != nil {
			_ = os.Remove(tmp.Name()) // the first error counts
		}
	}()
	err = f.copy(tmp, src)
	err = errors.Join(err, tmp.Chmod(0o644), tmp.Sync(), tmp.Close())
	if err != nil {
		return err
	}
	if err = os.Rename(tmp.Name(), target); err != nil {
		return fmt.Errorf("uci: %w", err)
	}
	return nil
}

func (f File) verify(name string) error {
	r, err := os.Open(name)
	if err != nil {
		return fmt.Errorf("uci: %w", err)
	}
	defer r.Close() // only read from
	return f.copy(io.Discard, r)
}
