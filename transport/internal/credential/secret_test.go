package credential

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestSecretIsNeverPrinted(t *testing.T) {
	s := Secret("hunter2")
	marshalled, err := json.Marshal(struct{ S Secret }{s})
	if err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "secret", s)
	texts := []string{string(marshalled), log.String(), s.String(), s.GoString()}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		texts = append(texts, fmt.Sprintf(verb, s), fmt.Sprintf(verb, []Secret{s}))
	}
	for _, text := range texts {
		leaks := strings.Contains(text, "hunter2") || strings.Contains(text, fmt.Sprintf("%x", "hunter2"))
		if leaks || !strings.Contains(text, redacted) {
			t.Errorf("printed as %s", text)
		}
	}
}

// TestCredential: a token that systemd hands over may be of mode 0440, and one elsewhere may not.
func TestCredential(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "token")
	if err := errors.Join(os.Chmod(dir, 0o700), os.WriteFile(path, []byte("hunter2\n"), 0o440)); err != nil {
		t.Fatal(err)
	}
	t.Setenv("CREDENTIALS_DIRECTORY", "")
	if _, err := Read(path); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("elsewhere: %v", err)
	}
	t.Setenv("CREDENTIALS_DIRECTORY", filepath.Dir(path))
	if s, err := Read(path); err != nil || s != "hunter2" {
		t.Errorf("a credential: %v", err)
	}
}
