package member

import (
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
)

// TestStationTellsOfAFullDisk: while a member waits for room its station answers, and is not well.
func TestStationTellsOfAFullDisk(t *testing.T) {
	m := &Member{Config: &Config{}, Log: slog.New(slog.DiscardHandler)}
	if address, shut := m.fullPage(t.Context()); address != "" {
		t.Errorf("a page at %s without a station", address)
	} else {
		shut()
	}
	m.Config.Station.Listen = "127.0.0.1:0"
	address, shut := m.fullPage(t.Context())
	defer shut()
	for _, path := range []string{"/", "/healthz", "/readyz", "/metrics"} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(answer.Body)
		_ = answer.Body.Close()
		if answer.StatusCode != http.StatusServiceUnavailable || err != nil ||
			!strings.Contains(string(body), "no room on the disk") {
			t.Errorf("%s: %d %q, %v", path, answer.StatusCode, body, err)
		}
	}
}
