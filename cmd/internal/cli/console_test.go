//go:build unix

package cli

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/spf13/cobra"
)

// terminal is a console on a pseudo-terminal.
type terminal struct {
	*Console
	tty  *os.File
	read chan string
}

func newTerminal(t *testing.T, columns uint16) *terminal {
	t.Helper()
	screen, tty, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	if err := pty.Setsize(tty, &pty.Winsize{Rows: 24, Cols: columns}); err != nil {
		t.Fatal(err)
	}
	c := &terminal{Console: newConsole(tty), tty: tty, read: make(chan string, 1)}
	go func() {
		var all strings.Builder
		for b := make([]byte, 4096); ; {
			n, err := screen.Read(b)
			all.Write(b[:n])
			if err != nil {
				c.read <- all.String()
				return
			}
		}
	}()
	t.Cleanup(func() { screen.Close() })
	return c
}

// output closes the terminal and returns all that was written to it.
func (c *terminal) output(t *testing.T) string {
	t.Helper()
	c.End()
	if err := c.tty.Close(); err != nil {
		t.Fatal(err)
	}
	return <-c.read
}

// TestStatusLine: output replaces the status line, which is drawn again below it
// and removed at the end; NO_COLOR and TERM=dumb are honoured.
func TestStatusLine(t *testing.T) {
	for _, c := range []struct {
		name, term, noColor string
		escapes, colour     bool
	}{
		{name: "colour", term: "xterm", escapes: true, colour: true},
		{name: "no colour", term: "xterm", noColor: "1", escapes: true},
		{name: "dumb", term: "dumb"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv("TERM", c.term)
			t.Setenv("NO_COLOR", c.noColor)
			x := newTerminal(t, 80)
			x.start("choir test")
			x.Set(Bar(1, 2) + " half")
			fmt.Fprintln(x.writer(x.tty), "a line")
			x.Set("done")
			got := x.output(t)
			if strings.Contains(got, "\x1b[K") != c.escapes || strings.Contains(got, "\x1b[32m") != c.colour {
				t.Errorf("%q", got)
			}
			half, line, done := strings.Index(got, "half"), strings.Index(got, "\ra line\r\n"), strings.Index(got,
				"done")
			if c.escapes {
				line = strings.Index(got, "\r\x1b[Ka line\r\n")
			}
			if half < 0 || line < half || done < line {
				t.Errorf("%q", got)
			}
			if last := got[strings.LastIndex(got, "\r")+1:]; strings.Trim(last, "\x1b[K") != "" {
				t.Errorf("%q is left", last)
			}
		})
	}
}

// TestStatusLineFits: a status line is no longer than the terminal is wide.
func TestStatusLineFits(t *testing.T) {
	t.Setenv("TERM", "dumb")
	x := newTerminal(t, 20)
	x.start("choir test")
	x.Set(strings.Repeat("x", 100))
	if got := x.output(t); strings.Count(got, "x") != 19 {
		t.Errorf("%q", got)
	}
}

// TestNoTerminal: without a terminal there is no status line.
func TestNoTerminal(t *testing.T) {
	var out strings.Builder
	c := newConsole(&out)
	c.start("choir test")
	c.Set("status")
	fmt.Fprintln(c.writer(&out), "a line")
	c.End()
	if out.String() != "a line\n" {
		t.Errorf("%q", out.String())
	}
}

// TestInterruptedVerb: a verb that ignores the end of its context is abandoned
// with exit code 1; one that has a partial result prints it first.
func TestInterruptedVerb(t *testing.T) {
	for _, c := range []struct {
		name, format string
		annotation   map[string]string
		patient      bool
		partial      string
		stdout       string
		stderr       string
	}{
		{name: "deaf", format: "text", stderr: "choir: error: interrupted\n"},
		{name: "deaf, JSON", format: "json",
			stderr: `{"schema_version":1,"error":{"code":1,"class":"failed","message":"interrupted"}}` + "\n"},
		{name: "deaf with a partial result", format: "text", partial: "so far", stdout: "so far\n",
			stderr: "choir: error: interrupted\n"},
		{name: "partial", format: "text", annotation: EndsByClosing(), patient: true, stdout: "part\n",
			stderr: "choir: error: interrupted\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			stuck := make(chan struct{})
			defer close(stuck)
			var out, errs strings.Builder
			build := func(a *App) *cobra.Command {
				verb := &cobra.Command{Use: "verb", Annotations: c.annotation}
				format := "text"
				FormatFlag(verb, &format)
				verb.RunE = func(cmd *cobra.Command, _ []string) error {
					if c.partial != "" {
						a.Partial(func() { fmt.Fprintln(a.Out, c.partial) })
					}
					cancel()
					if c.patient {
						<-cmd.Context().Done()
						fmt.Fprintln(a.Out, "part")
						return cmd.Context().Err()
					}
					<-stuck
					return nil
				}
				return a.RootCommand("choir", "", VerbGroup{ID: "g", Title: "G", Commands: []*cobra.Command{verb}})
			}
			streams := Streams{strings.NewReader(""), &out, &errs}
			code := Execute(ctx, []string{"verb", "--format", c.format}, streams, build)
			if code != 1 || out.String() != c.stdout || errs.String() != c.stderr {
				t.Errorf("exit code %d, %q, %q", code, out.String(), errs.String())
			}
		})
	}
}

// TestElapsed: times are in whole seconds.
func TestElapsed(t *testing.T) {
	if got := Elapsed(61*time.Second + 900*time.Millisecond); got != "1m1s" {
		t.Error(got)
	}
}
