package cli

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"choir/protocol"
)

// TestFaultIsShown: a contradiction in the attempt in which a session ended is in what choir verify prints,
// and no sum of that attempt is called audited.
func TestFaultIsShown(t *testing.T) {
	var out bytes.Buffer
	a := &App{Streams: Streams{Out: &out}}
	a.verified(verdict{Plan: "p", Fault: "entry 23: a lie", Aborted: "why", Audited: true}, false)
	text := strings.Join(strings.Fields(out.String()), " ")
	if !strings.Contains(text, "fault: ") || !strings.Contains(text, "entry 23: a lie") ||
		strings.Contains(text, "every revealed sum") {
		t.Errorf("%s", text)
	}
}

// TestUnopenedSumHasARemedy also at a member that the aggregator tells of it.
func TestUnopenedSumHasARemedy(t *testing.T) {
	told := errors.New("the aggregator ended the session: " + protocol.UnopenedSum + ": a compute node")
	for _, err := range []error{told, fmt.Errorf("round 1: %w", told)} {
		hint := new(App).hintOf(protocol.Fail(protocol.ClassIntegrity, "%w", err), protocol.ClassIntegrity,
			&cobra.Command{})
		if !strings.Contains(hint, "other compute nodes") {
			t.Errorf("hint %q", hint)
		}
	}
}
