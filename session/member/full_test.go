package member

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
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

// TestFullDiskIsTriedMoreRarely: where there is room for a small file and none for the results, a member
// tries again after longer and longer waits, up to a minute, and names the cause each time.
func TestFullDiskIsTriedMoreRarely(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		m := &Member{Config: &Config{StoreFile: filepath.Join(dir, "store.db"), OutDir: dir},
			Log: slog.New(slog.NewTextHandler(&log, nil))}
		full := &fs.PathError{Op: "write", Path: "model.npz", Err: syscall.ENOSPC}
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		var waits []time.Duration
		last := time.Now()
		err := m.whileFull(ctx, func(context.Context) error {
			waits = append(waits, time.Since(last))
			if len(waits) == 9 {
				time.Sleep(2 * roomWait) // it works for a while
			}
			last = time.Now()
			if len(waits) == 11 {
				stop()
			}
			return full
		})
		if !errors.Is(err, full) {
			t.Errorf("%v", err)
		}
		if got := fmt.Sprint(waits); got != "[0s 2s 4s 8s 16s 32s 1m0s 1m0s 1m0s 2s 4s]" {
			t.Errorf("waits of %s", got)
		}
		if n := strings.Count(log.String(), "write model.npz: no space left on device"); n < 10 {
			t.Errorf("the cause is named %d times", n)
		}
	})
}
