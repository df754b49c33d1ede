package dataset

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
)

// Origin says where Fetch takes the files from.
type Origin struct {
	// Dir, if set, is a folder such as $CHOIR_DATA that holds one folder per set;
	// nothing is downloaded then.
	Dir string
	// Client downloads from each file's URL if Dir is empty; nil means
	// http.DefaultClient. Give it a timeout.
	Client *http.Client
}

// Fetch puts the pinned files into dst/<name>/ and returns that folder. Files that are
// already there and correct are kept. A file appears under its name only after its
// checksum was found right; a wrong one is refused with ErrChecksum and leaves whatever
// was there.
func (o Original) Fetch(ctx context.Context, dst string, from Origin) (string, error) {
	dir := filepath.Join(dst, o.Name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("dataset: %w", err)
	}
	for _, f := range o.Files {
		path := filepath.Join(dir, f.Name)
		if f.verify(path) == nil {
			continue
		}
		if err := f.install(ctx, path, o.Name, from); err != nil {
			return "", err
		}
	}
	return dir, nil
}

// install writes beside the target and renames, so that no half file is ever seen.
func (f File) install(ctx context.Context, path, set string, from Origin) (err error) {
	src, err := f.open(ctx, set, from)
	if err != nil {
		return err
	}
	defer src.Close()
	tmp, err := os.CreateTemp(filepath.Dir(path), "."+f.Name+".*")
	if err != nil {
		return fmt.Errorf("dataset: %w", err)
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
	if err = os.Rename(tmp.Name(), path); err != nil {
		return fmt.Errorf("dataset: %w", err)
	}
	return nil
}

func (f File) open(ctx context.Context, set string, from Origin) (io.ReadCloser, error) {
	if from.Dir != "" {
		return openFile(filepath.Join(from.Dir, set, f.Name))
	}
	client := from.Client
	if client == nil {
		client = http.DefaultClient
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, f.URL, nil)
	if err != nil {
		return nil, fmt.Errorf("dataset: %s: %w", f.Name, err)
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("dataset: %s: %w", f.Name, err)
	}
	if resp.StatusCode != http.StatusOK {
		resp.Body.Close()
		return nil, fmt.Errorf("dataset: %s: %s answered %s", f.Name, f.URL, resp.Status)
	}
	return resp.Body, nil
}

func (f File) verify(path string) error {
	r, err := openFile(path)
	if err != nil {
		return err
	}
	defer r.Close()
	return f.Check(r)
}

func openFile(path string) (*os.File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("dataset: %w", err)
	}
	return f, nil
}
