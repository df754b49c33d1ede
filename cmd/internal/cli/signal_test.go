//go:build unix

package cli

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spf13/cobra"
)

// TestSignalsEndVerbs: SIGINT and SIGTERM alike end a verb that goes on computing, within a second.
func TestSignalsEndVerbs(t *testing.T) {
	args, stderr := os.Args, os.Stderr
	defer func() { os.Args, os.Stderr = args, stderr }()
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		t.Run(signal.String(), func(t *testing.T) {
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
					if err := syscall.Kill(os.Getpid(), signal); err != nil {
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
