package dataset_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"choir/learn/dataset"
	"choir/learn/dataset/datasettest"
)

// The pinned checksums are those of the reference files, and copying them works.
func TestOriginals(t *testing.T) {
	if n := len(dataset.Names()); n != 3 {
		t.Fatalf("%d data sets", n)
	}
	dst := t.TempDir()
	for _, name := range dataset.Names() {
		o, err := dataset.Get(name)
		if err != nil {
			t.Fatal(err)
		}
		root := filepath.Dir(datasettest.Path(t, name))
		if err := o.Verify(root); err != nil {
			t.Fatal(err)
		}
		dir, err := o.Fetch(context.Background(), dst, dataset.Origin{Dir: root})
		if err != nil {
			t.Fatal(err)
		}
		if dir != filepath.Join(dst, name) || o.Verify(dst) != nil {
			t.Errorf("%s: fetched to %s", name, dir)
		}
		for _, f := range o.Files {
			if !strings.HasPrefix(f.URL, "https://archive.ics.uci.edu/") || !strings.HasSuffix(f.URL, "/"+f.Name) {
				t.Errorf("%s: URL %s", f.Name, f.URL)
			}
		}
	}
	if _, err := dataset.Get("iris"); !errors.Is(err, dataset.ErrUnknownSet) {
		t.Errorf("iris: %v", err)
	}
}

// served is a data set of one file on a loopback server that answers with body.
func served(t *testing.T, pinned, body string, status int) (dataset.Original, *int) {
	t.Helper()
	hits := 0
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		hits++
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body)) // a client that hangs up is part of the test
	}))
	t.Cleanup(srv.Close)
	sum := sha256.Sum256([]byte(pinned))
	return dataset.Original{Name: "set", Files: []dataset.File{{
		Name: "f.csv", URL: srv.URL + "/f.csv", Bytes: int64(len(pinned)), SHA256: hex.EncodeToString(sum[:]),
	}}}, &hits
}

func TestDownload(t *testing.T) {
	o, hits := served(t, "a,b\n", "a,b\n", http.StatusOK)
	dst := t.TempDir()
	for range 2 { // the second time the file is there
		dir, err := o.Fetch(context.Background(), dst, dataset.Origin{})
		if err != nil {
			t.Fatal(err)
		}
		if b, err := os.ReadFile(filepath.Join(dir, "f.csv")); err != nil || string(b) != "a,b\n" {
			t.Errorf("%q, %v", b, err)
		}
	}
	if *hits != 1 {
		t.Errorf("%d downloads", *hits)
	}
}

// A download that is not the original is refused, named, and leaves nothing behind; what
// was there before stays.
func TestWrongDownload(t *testing.T) {
	for name, c := range map[string]struct {
		body     string
		status   int
		checksum bool
	}{
		"altered":  {"a,c\n", http.StatusOK, true},
		"short":    {"a,b", http.StatusOK, true},
		"long":     {"a,b\n\n", http.StatusOK, true},
		"absent":   {"a,b\n", http.StatusNotFound, false},
		"redirect": {"a,b\n", http.StatusNoContent, false},
	} {
		o, _ := served(t, "a,b\n", c.body, c.status)
		dst := t.TempDir()
		old := filepath.Join(dst, "set", "f.csv")
		if err := os.MkdirAll(filepath.Dir(old), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(old, []byte("mine"), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := o.Fetch(context.Background(), dst, dataset.Origin{})
		if err == nil || errors.Is(err, dataset.ErrChecksum) != c.checksum || !strings.Contains(err.Error(), "f.csv") {
			t.Errorf("%s: %v", name, err)
		}
		if b, err := os.ReadFile(old); err != nil || string(b) != "mine" {
			t.Errorf("%s: the old file became %q, %v", name, b, err)
		}
		if entries, err := os.ReadDir(filepath.Dir(old)); err != nil || len(entries) != 1 {
			t.Errorf("%s: %d entries, %v", name, len(entries), err)
		}
	}
}

func TestFetchStops(t *testing.T) {
	o, _ := served(t, "a,b\n", "a,b\n", http.StatusOK)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := o.Fetch(ctx, t.TempDir(), dataset.Origin{}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if _, err := o.Fetch(context.Background(), t.TempDir(), dataset.Origin{Dir: t.TempDir()}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a folder without the set: %v", err)
	}
}
