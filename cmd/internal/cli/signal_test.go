//go:build unix

package cli

import (
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spf13/cobra"
)

// TestIgnoredHangup: under nohup SIGHUP ends nothing.
func TestIgnoredHangup(t *testing.T) {
	signal.Ignore(syscall.SIGHUP)
	defer signal.Reset(syscall.SIGHUP)
	if ends := endings(); slices.Contains(ends, os.Signal(syscall.SIGHUP)) {
		t.Errorf("ended by %v", ends)
	}
}

// TestSignalsEndVerbs: SIGINT, SIGTERM and SIGHUP alike end a verb that goes on computing, within a second.
func TestSignalsEndVerbs(t *testing.T) {
	args, stderr := os.Args, os.Stderr
	defer func() { os.Args, os.Stderr = args, stderr }()
	heard := make(chan os.Signal, 1) // where the test's parent ignores SIGHUP, it is no longer ignored
	signal.Notify(heard, syscall.SIGHUP)
	defer signal.Stop(heard)
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		t.Run(sig.String(), func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "stderr")
			out, err := os.Create(path)
			if err != nil {
				t.Fatal(err)
			}
			defer out.Close()
			os.Args, os.Stderr = []string{"choir", "deaf"}, out
			sent, end := make(chan time.Time, 1), make(chan struct{})
			defer close(end)
			code := Run(func(a *App) *cobra.Command {
				deaf := &cobra.Command{Use: "deaf", RunE: func(*cobra.Command, []string) error {
					sent <- time.Now()
					if err := syscall.Kill(os.Getpid(), sig); err != nil {
						return err
					}
					<-end
					return nil
				}}
				return a.RootCommand("choir", "", VerbGroup{ID: "try", Title: "Try:", Commands: []*cobra.Command{deaf}})
			})
			took := time.Since(<-sent)
			text, err := os.ReadFile(path)
			if err != nil || code != 1 || !strings.Contains(string(text), "interrupted") {
				t.Errorf("exit code %d, %v: %s", code, err, text)
			}
			// Twice the time that a verb has, for a machine that is busy.
			if took > 2*grace {
				t.Errorf("ended after %v", took)
			}
		})
	}
}
