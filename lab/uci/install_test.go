package uci

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Installing a set writes files that are byte for byte the pinned originals, from the
// copy in this package and from a folder that has them.
func TestInstall(t *testing.T) {
	first, second := t.TempDir(), t.TempDir()
	for _, name := range Names() {
		t.Run(name, func(t *testing.T) {
			set, err := Get(name)
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range []struct{ dst, from string }{{first, ""}, {second, first}} {
				dir, err := set.install(c.dst, in(c.from))
				if err != nil {
					t.Fatal(err)
				}
				if dir != filepath.Join(c.dst, name) {
					t.Errorf("installed to %s", dir)
				}
				checkFiles(t, set, dir)
			}
		})
	}
}

func checkFiles(t *testing.T, set Set, dir string) {
	t.Helper()
	for _, f := range set.Files {
		b, err := os.ReadFile(filepath.Join(dir, f.Name))
		if err != nil {
			t.Fatal(err)
		}
		if sum := sha256.Sum256(b); hex.EncodeToString(sum[:]) != f.SHA256 || int64(len(b)) != f.Bytes {
			t.Errorf("%s: %d bytes with SHA-256 %x", f.Name, len(b), sum)
		}
		if !strings.HasPrefix(f.URL, archive) || !strings.HasSuffix(f.URL, "/"+f.Name) {
			t.Errorf("%s: URL %s", f.Name, f.URL)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != len(set.Files) {
		t.Errorf("%d entries in %s, %v", len(entries), dir, err)
	}
}

// The README beside the files names every one with its checksum.
func TestReadmeNamesEveryFile(t *testing.T) {
	readme, err := os.ReadFile("files/README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range Names() {
		set, err := Get(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range set.Files {
			if !bytes.Contains(readme, []byte(name+"/"+f.Name)) || !bytes.Contains(readme, []byte(f.SHA256)) {
				t.Errorf("the README lacks %s or its checksum", f.Name)
			}
		}
	}
}

func TestUnknownSet(t *testing.T) {
	if _, err := Get("iris"); !errors.Is(err, ErrUnknownSet) {
		t.Errorf("iris: %v", err)
	}
}

// small is a set of one file, and a folder that has body as that file.
func small(t *testing.T, original, body string) (set Set, from string) {
	t.Helper()
	sum := sha256.Sum256([]byte(original))
	from = t.TempDir()
	write(t, filepath.Join(from, "set", "f.csv"), body)
	file := File{Name: "f.csv", Bytes: int64(len(original)), SHA256: hex.EncodeToString(sum[:])}
	return Set{Name: "set", Files: []File{file}}, from
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// A file that is there and correct is kept, even if the source is gone.
func TestCorrectFileIsKept(t *testing.T) {
	set, from := small(t, "a,b\n", "a,b\n")
	dst := t.TempDir()
	for _, from := range []string{from, t.TempDir()} {
		if _, err := set.install(dst, in(from)); err != nil {
			t.Fatal(err)
		}
	}
}

// A file that is not the original is refused, named, and leaves nothing; a file that was
// there before stays.
func TestWrongFile(t *testing.T) {
	for _, c := range []struct{ name, body string }{
		{"altered", "a,c\n"},
		{"short", "a,b"},
		{"long", "a,b\n\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			set, from := small(t, "a,b\n", c.body)
			dst := t.TempDir()
			old := filepath.Join(dst, "set", "f.csv")
			write(t, old, "mine")
			_, err := set.install(dst, in(from))
			if !errors.Is(err, ErrChecksum) || !strings.Contains(err.Error(), "f.csv") {
				t.Errorf("%v", err)
			}
			if b, err := os.ReadFile(old); err != nil || string(b) != "mine" {
				t.Errorf("the old file became %q, %v", b, err)
			}
			if entries, err := os.ReadDir(filepath.Dir(old)); err != nil || len(entries) != 1 {
				t.Errorf("%d entries, %v", len(entries), err)
			}
		})
	}
}

func TestFolderWithoutTheSet(t *testing.T) {
	set, _ := small(t, "a,b\n", "")
	if _, err := set.install(t.TempDir(), in(t.TempDir())); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v", err)
	}
	if _, err := Adult(t.TempDir()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v", err)
	}
}
