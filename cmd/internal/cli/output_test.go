package cli

import (
	"errors"
	"strings"
	"syscall"
	"testing"

	"github.com/spf13/cobra"
)

// fullDisk takes some bytes and then no more.
type fullDisk struct{ room int }

func (f *fullDisk) Write(b []byte) (int, error) {
	n := min(f.room, len(b))
	if f.room -= n; n < len(b) {
		return n, syscall.ENOSPC
	}
	return n, nil
}

// TestOutputIsLost checks that no verb succeeds whose output has no room, in either format, nor the help.
func TestOutputIsLost(t *testing.T) {
	build := func(a *App) *cobra.Command {
		return a.RootCommand("choir", "test", VerbGroup{ID: "g", Title: "G:"})
	}
	for _, line := range []string{"version", "version --format json", "version --help", "--version"} {
		for _, room := range []int{0, 5} {
			var stderr strings.Builder
			code := Execute(t.Context(), strings.Fields(line), Streams{nil, &fullDisk{room}, &stderr}, build)
			if code != 1 || !strings.Contains(stderr.String(), syscall.ENOSPC.Error()) {
				t.Errorf("%s with room for %d bytes: code %d, %q", line, room, code, stderr.String())
			}
		}
		var stdout, stderr strings.Builder
		if code := Execute(t.Context(), strings.Fields(line), Streams{nil, &stdout, &stderr}, build); code != 0 ||
			stdout.Len() == 0 || stderr.Len() > 0 {
			t.Errorf("%s: code %d, %q", line, code, stderr.String())
		}
	}
}

// TestOutputAndError checks that a verb's own error counts before that of its output.
func TestOutputAndError(t *testing.T) {
	o, own := &output{w: &fullDisk{}}, errors.New("own")
	if err := o.result(nil); err != nil {
		t.Error(err)
	}
	_, werr := o.Write([]byte("a"))
	if err := o.result(own); !errors.Is(err, own) || errors.Is(err, errLost) {
		t.Error(err)
	}
	for _, err := range []error{nil, werr} {
		if err := o.result(err); !errors.Is(err, errLost) || !errors.Is(err, syscall.ENOSPC) {
			t.Error(err)
		}
	}
}
