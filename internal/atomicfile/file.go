package atomicfile

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// WriteFile replaces path by data, mode 0644 less the umask, creating its folder if need be: readers
// see the old file or the new one, also after a crash. It removes what a process that was killed
// while it wrote the same path has left.
func WriteFile(path string, data []byte) (err error) {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	tmp, release, err := create(dir, "."+filepath.Base(path)+".")
	if err != nil {
		return err
	}
	defer release() // after the file has its name
	defer func() {
		if err != nil {
			_ = os.Remove(tmp.Name()) // the first error counts
		}
	}()
	_, err = tmp.Write(data)
	if err = errors.Join(err, tmp.Sync(), tmp.Close()); err != nil {
		return err
	}
	if err = os.Rename(tmp.Name(), path); err != nil {
		return err
	}
	return syncDir(dir)
}

// create removes abandoned files in a folder whose names are the prefix and a number, and makes
// one, which counts as abandoned when release is called.
func create(dir, prefix string) (f *os.File, release func(), err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, nil, err
	}
	for _, e := range entries {
		number, ok := strings.CutPrefix(e.Name(), prefix)
		if _, err := strconv.ParseUint(number, 10, 64); ok && err == nil && e.Type().IsRegular() {
			removeAbandoned(filepath.Join(dir, e.Name()))
		}
	}
	for {
		number := make([]byte, 8)
		_, _ = rand.Read(number) // it never fails
		name := filepath.Join(dir, prefix+strconv.FormatUint(binary.BigEndian.Uint64(number), 10))
		f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o644)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		release := lock(f)
		mine, err := f.Stat()
		if there, missing := os.Stat(f.Name()); err == nil && missing == nil && os.SameFile(mine, there) {
			return f, release, nil
		}
		release() // another process took it as abandoned before it was locked
		if err := errors.Join(err, f.Close()); err != nil {
			return nil, nil, err
		}
	}
}

// removeAbandoned removes a file unless a process is writing it. It is no error that it can't.
func removeAbandoned(path string) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return
	}
	if abandoned(f) {
		_ = os.Remove(path)
	}
	_ = f.Close()
}

// syncDir makes the rename durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	if err := errors.Join(d.Sync(), d.Close()); err != nil {
		return err
	}
	return nil
}
