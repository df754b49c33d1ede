// Package vectortest compares packages with their test vectors: JSON files in testdata/ at the root of
// the module, which other implementations can use as well. `go test -update` writes the files.
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

var update = flag.Bool("update", false, "write the test vectors before comparing with them")

// Load returns the vectors in a file for the caller to verify. An unknown field is an error, since it
// would not be verified. With -update, Load first writes the vectors that fresh returns.
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

// Hold compares a file with computed vectors byte by byte. With -update it writes them first.
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

// Unhex decodes hexadecimal digits.
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
