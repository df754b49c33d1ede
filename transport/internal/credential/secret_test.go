package credential

import (
	"encoding/json"
	"fmt"
	"log/slog"
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
