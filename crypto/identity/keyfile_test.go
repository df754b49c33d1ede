package identity

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
)

// cheap are costs for tests only.
var cheap = Params{Time: 1, MemoryKiB: 8, Lanes: 1}

func cheapConfig() KeyFileConfig { return KeyFileConfig{Params: cheap, Rand: testRand(9)} }

func writeTestKey(t *testing.T, cfg KeyFileConfig) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "identity.key")
	if err := WriteKeyFile(path, testKey(1), "north-hospital", []byte("correct horse"), cfg); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestKeyFileRoundTrip(t *testing.T) {
	for name, cfg := range map[string]KeyFileConfig{
		"cheap": cheapConfig(), "default costs": {Rand: testRand(9)},
	} {
		t.Run(name, func(t *testing.T) {
			path := writeTestKey(t, cfg)
			key, owner, err := ReadKeyFile(path, []byte("correct horse"))
			if err != nil {
				t.Fatal(name, err)
			}
			if key.Public() != testKey(1).Public() || owner != "north-hospital" {
				t.Errorf("read %v, %q", key.Public(), owner)
			}
			if key.Sign([]byte("x")) != testKey(1).Sign([]byte("x")) {
				t.Errorf("%s: the key signs differently", name)
			}
		})
	}
}

func TestKeyFileOnDisk(t *testing.T) {
	path := writeTestKey(t, cheapConfig())
	info, err := os.Stat(path)
	if err != nil || info.Mode() != 0o600 {
		t.Fatalf("mode %v, %v, want 0600", info.Mode(), err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	err = WriteKeyFile(path, testKey(2), "other", []byte("p"), cheapConfig())
	if !errors.Is(err, fs.ErrExist) {
		t.Errorf("writing over a key file: %v, want fs.ErrExist", err)
	}
	if after, err := os.ReadFile(path); err != nil || !bytes.Equal(after, text) {
		t.Errorf("the rejected write changed the file (%v)", err)
	}
	seed := [32]byte{1}
	for _, form := range []string{string(seed[:]), fmt.Sprintf("%x", seed)} {
		if bytes.Contains(text, []byte(form)) {
			t.Error("the file shows the seed")
		}
	}
}

func TestKeyFilePermissions(t *testing.T) {
	path := writeTestKey(t, cheapConfig())
	rejected := 0
	for _, mode := range []fs.FileMode{0o640, 0o604, 0o620, 0o602, 0o610, 0o601, 0o644, 0o666} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		_, _, key := ReadKeyFile(path, []byte("correct horse"))
		_, passphrase := ReadPassphraseFile(path)
		if !errors.Is(key, ErrPermissions) || !errors.Is(passphrase, ErrPermissions) {
			t.Errorf("mode %o: %v, %v, want ErrPermissions", mode, key, passphrase)
		}
		rejected++
	}
	if err := os.Chmod(path, 0o400); err != nil || rejected != 8 {
		t.Fatal(err, rejected)
	}
	if _, _, err := ReadKeyFile(path, []byte("correct horse")); err != nil {
		t.Errorf("mode 0400: %v", err)
	}
}

// TestCredentials: what systemd hands over may be of mode 0440, and nothing else in the same folder.
func TestCredentials(t *testing.T) {
	path := writeTestKey(t, cheapConfig())
	if err := os.Chmod(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	passphrase := filepath.Join(filepath.Dir(path), "passphrase")
	if err := os.WriteFile(passphrase, []byte("correct horse\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for mode, want := range map[fs.FileMode]error{0o440: nil, 0o460: ErrPermissions, 0o444: ErrPermissions} {
		for _, name := range []string{path, passphrase} {
			if err := os.Chmod(name, mode); err != nil {
				t.Fatal(err)
			}
		}
		read := func() (err error) {
			text, err := ReadPassphraseFile(passphrase)
			if err == nil {
				_, _, err = ReadKeyFile(path, text)
			}
			return err
		}
		t.Setenv("CREDENTIALS_DIRECTORY", "")
		if err := read(); !errors.Is(err, ErrPermissions) {
			t.Errorf("mode %o, no credentials: %v", mode, err)
		}
		t.Setenv("CREDENTIALS_DIRECTORY", filepath.Dir(path))
		if err := read(); !errors.Is(err, want) {
			t.Errorf("mode %o: %v, want %v", mode, err, want)
		}
	}
}

func TestKeyFileRejections(t *testing.T) {
	path := writeTestKey(t, cheapConfig())
	for _, p := range []string{"", "correct hors", "correct horse ", "Correct horse"} {
		if _, _, err := ReadKeyFile(path, []byte(p)); !errors.Is(err, ErrPassphrase) {
			t.Errorf("passphrase %q: %v, want ErrPassphrase", p, err)
		}
	}
	fresh := filepath.Join(t.TempDir(), "new.key")
	failing := cheapConfig()
	failing.Rand = iotest.ErrReader(fs.ErrClosed)
	for name, c := range map[string]struct {
		cfg        KeyFileConfig
		owner      string
		passphrase string
		want       error
	}{
		"empty passphrase": {cheapConfig(), "a", "", ErrPassphrase},
		"bad name":         {cheapConfig(), "A", "p", ErrName},
		"no randomness":    {KeyFileConfig{Params: cheap}, "a", "p", nil},
		"failing reader":   {failing, "a", "p", fs.ErrClosed},
		"absurd costs":     {KeyFileConfig{Params: Params{1, 1 << 30, 1}, Rand: testRand(1)}, "a", "p", nil},
	} {
		t.Run(name, func(t *testing.T) {
			err := WriteKeyFile(fresh, testKey(1), c.owner, []byte(c.passphrase), c.cfg)
			if err == nil || c.want != nil && !errors.Is(err, c.want) {
				t.Errorf("%v, want %v", err, c.want)
			}
			if _, err := os.Stat(fresh); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("a file was left (%v)", err)
			}
		})
	}
	if _, _, err := ReadKeyFile(fresh, []byte("p")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v, want fs.ErrNotExist", err)
	}
}

// TestKeyFileEveryByte alters each byte of a file in turn: none may pass, and
// each rejection has one of the documented causes.
func TestKeyFileEveryByte(t *testing.T) {
	sealed, err := sealKey(testKey(1), "north-hospital", []byte("p"), cheap, testRand(9))
	if err != nil {
		t.Fatal(err)
	}
	text, err := sealed.marshal()
	if err != nil {
		t.Fatal(err)
	}
	counts := map[error]int{}
	for i := range text {
		bad := bytes.Clone(text)
		bad[i] ^= 1
		_, err := openText(bad, "p")
		known := false
		for _, cause := range []error{ErrKeyFile, ErrPassphrase, ErrTampered} {
			if errors.Is(err, cause) {
				counts[cause]++
				known = true
			}
		}
		if !known {
			t.Errorf("byte %d altered: %v", i, err)
		}
	}
	for i := range text {
		if _, err := openText(text[:i], "p"); !errors.Is(err, ErrKeyFile) {
			t.Errorf("cut at byte %d: %v, want ErrKeyFile", i, err)
		}
	}
	if len(counts) != 3 {
		t.Errorf("the causes do not all occur: %v", counts)
	}
	if _, err := openText(text, "p"); err != nil {
		t.Errorf("untouched: %v", err)
	}
}

func openText(text []byte, passphrase string) (*PrivateKey, error) {
	s, err := parseSealedKey(text)
	if err != nil {
		return nil, err
	}
	return s.open([]byte(passphrase))
}

// TestForeignPublicKey seals one key under a header that shows another, which
// takes the passphrase.
func TestForeignPublicKey(t *testing.T) {
	sealed, err := sealKey(testKey(1), "north-hospital", []byte("p"), cheap, testRand(9))
	if err != nil {
		t.Fatal(err)
	}
	sealed.header.Public = testKey(2).Public().String()
	aead, _, err := sealingKeys([]byte("p"), sealed.header)
	if err != nil {
		t.Fatal(err)
	}
	ad, err := sealed.header.associated()
	if err != nil {
		t.Fatal(err)
	}
	seed := [seedSize]byte{1}
	sealed.ciphertext = aead.Seal(nil, make([]byte, aead.NonceSize()), seed[:], ad)
	if _, err := sealed.open([]byte("p")); !errors.Is(err, ErrTampered) {
		t.Errorf("%v, want ErrTampered", err)
	}
}

// TestTamperedHeader swaps the authenticated, readable fields for valid others.
func TestTamperedHeader(t *testing.T) {
	sealed, err := sealKey(testKey(1), "north-hospital", []byte("p"), cheap, testRand(9))
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*keyHeader){
		"name":   func(h *keyHeader) { h.Name = "south-hospital" },
		"public": func(h *keyHeader) { h.Public = testKey(2).Public().String() },
	} {
		t.Run(name, func(t *testing.T) {
			bad := sealed
			change(&bad.header)
			if _, err := bad.open([]byte("p")); !errors.Is(err, ErrTampered) {
				t.Errorf("%v, want ErrTampered", err)
			}
		})
	}
}

// TestHostileCosts: excessive costs in the header are rejected before any computation.
func TestHostileCosts(t *testing.T) {
	text := readText(t, writeTestKey(t, cheapConfig()))
	for was, is := range map[string]string{
		`"memory_kib":8`: `"memory_kib":67108864`,
		`"time":1`:       `"time":4294967295`,
		`"lanes":1`:      `"lanes":255`,
		`"version":1`:    `"version":2`,
		`"argon2id"`:     `"argon2i"`,
		`"name":`:        `"extra":1,"name":`,
	} {
		bad := strings.Replace(text, was, is, 1)
		if bad == text {
			t.Fatalf("%s is not in the file", was)
		}
		if _, err := parseSealedKey([]byte(bad)); !errors.Is(err, ErrKeyFile) {
			t.Errorf("%s: %v, want ErrKeyFile", is, err)
		}
	}
	for _, p := range []Params{{}, {0, 8, 1}, {17, 8, 1}, {1, 7, 1}, {1, 8, 0}, {1, 1<<20 + 1, 1}, {1, 127, 16},
		{1, 136, 17}} {
		if p.validate() == nil {
			t.Errorf("%+v is accepted", p)
		}
	}
	for _, p := range []Params{DefaultParams(), cheap, {16, 1 << 20, 16}} {
		if err := p.validate(); err != nil {
			t.Error(err)
		}
	}
}

func readText(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestPassphraseFile(t *testing.T) {
	for content, want := range map[string]string{
		"secret": "secret", "secret\n": "secret", "secret\r\n": "secret", "secret\n\n": "secret\n",
		" secret ": " secret ", "\nsecret": "\nsecret", "se\ncret\n": "se\ncret", "secret\r": "secret\r",
		"": "", "\n": "", "\r\n": "",
	} {
		path := filepath.Join(t.TempDir(), "passphrase")
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := ReadPassphraseFile(path)
		if want == "" && !errors.Is(err, ErrPassphrase) || want != "" && err != nil || string(got) != want {
			t.Errorf("%q: %q, %v, want %q", content, got, err, want)
		}
	}
	path := filepath.Join(t.TempDir(), "huge")
	if err := os.WriteFile(path, make([]byte, maxPassphrase+1), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadPassphraseFile(path); err == nil {
		t.Error("a huge passphrase file is accepted")
	}
}

// FuzzParseKeyFile: what parses marshals to the same bytes.
func FuzzParseKeyFile(f *testing.F) {
	sealed, err := sealKey(testKey(1), "seed-file", []byte("p"), cheap, testRand(9))
	if err != nil {
		f.Fatal(err)
	}
	text, err := sealed.marshal()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte(armorBegin + "\n{}\n\n" + armorEnd + "\n"))
	f.Add(bytes.Replace(text, []byte("\n"), []byte("\r\n"), 1))
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := parseSealedKey(text)
		if err != nil {
			return
		}
		again, err := s.marshal()
		if err != nil || !bytes.Equal(again, text) {
			t.Fatalf("%q becomes %q, %v", text, again, err)
		}
		if err := s.header.params().validate(); err != nil {
			t.Fatal(err)
		}
	})
}
