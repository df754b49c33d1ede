package embedded

import (
	"log/slog"
	"strings"
	"testing"
)

// The server logs nothing itself, and its warnings are forwarded.
func TestServerLog(t *testing.T) {
	var out strings.Builder
	l := &serverLog{log: slog.New(slog.NewTextHandler(&out, nil)), fatal: make(chan error, 1)}
	l.Noticef("quiet %d", 1)
	l.Debugf("quiet %d", 1)
	l.Tracef("quiet %d", 1)
	l.Warnf("warning %d", 2)
	l.Fatalf("fatal %d", 3)
	l.Fatalf("fatal %d", 4)
	if err := <-l.fatal; err.Error() != "fatal 3" {
		t.Errorf("fatal: %v", err)
	}
	for _, want := range []string{"warning 2", "fatal 3", "fatal 4", "level=WARN"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing from %s", want, out.String())
		}
	}
	if strings.Contains(out.String(), "quiet") {
		t.Errorf("logged: %s", out.String())
	}
	(&serverLog{fatal: l.fatal}).Errorf("without a logger")
}
