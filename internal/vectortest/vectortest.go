// Package vectortest keeps the test vectors of a package in step with its code: a file
// of JSON below the module's testdata/, by which a second implementation can be held to the
// same values. `go test -update` writes the files anew.
package vectortest

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"
)

var update = flag.Bool("update", false, "write the test vectors instead of replaying them")

// Load returns the vectors in a file, which the caller replays. An unknown field is an
// error: it would be a value that nothing is held to. With -update, fresh ones are
// written first.
func Load[T any](t *testing.T, path string, fresh func() T) (vectors T) {
	t.Helper()
	if *update {
		write(t, path, marshal(t, fresh()))
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(&vectors); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return vectors
}

// Hold compares a file with vectors that were computed anew, byte for byte. With -update
// it writes them.
func Hold(t *testing.T, path string, computed any) {
	t.Helper()
	got := marshal(t, computed)
	if *update {
		write(t, path, got)
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s: computed\n%s\nwant\n%s", path, got, want)
	}
}

// Unhex is the bytes of a field in hexadecimal.
func Unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func marshal(t *testing.T, vectors any) []byte {
	t.Helper()
	raw, err := json.MarshalIndent(vectors, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return append(raw, '\n')
}

func write(t *testing.T, path string, raw []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, raw, 0o644); err != nil {
		t.Fatal(err)
	}
}
