package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"choir/internal/atomicfile"
	"choir/protocol"
)

// FormatFlag adds --format.
func FormatFlag(cmd *cobra.Command, format *string) {
	cmd.Flags().StringVar(format, "format", *format, "output format: text or json")
	Values(cmd, "format", "text", "json")
}

// WideFlag adds --wide.
func WideFlag(cmd *cobra.Command, wide *bool) {
	cmd.Flags().BoolVar(wide, "wide", false, "print all columns, in lines of any length")
}

func CheckFormat(format string) error { return OneOf("format", format, "text", "json") }

func OneOf(field, value string, allowed ...string) error {
	if slices.Contains(allowed, value) {
		return nil
	}
	return protocol.Fail(protocol.ClassInput, "%s: %q isn't one of %q", field, value, allowed)
}

// Print writes a result as one JSON object, or as text.
func (a *App) Print(format string, v any, text func()) error {
	if err := CheckFormat(format); err != nil {
		return err
	}
	a.Console.End()
	if format == "text" {
		text()
		return nil
	}
	b, err := atomicfile.EncodeJSON(v)
	if err != nil {
		return err
	}
	_, err = a.Out.Write(b)
	return err
}

// LineWidth is the width of the text that verbs print without --wide.
const LineWidth = 80

// Wrap prints a text in lines of at most LineWidth columns, where words allow
// it: the first after head, the others indented like it.
func Wrap(w io.Writer, head, text string) {
	line, indent := head, strings.Repeat(" ", len([]rune(head)))
	for _, word := range strings.Fields(text) {
		if len([]rune(line))+1+len([]rune(word)) > LineWidth && strings.TrimSpace(line) != strings.TrimSpace(head) {
			fmt.Fprintln(w, strings.TrimRight(line, " "))
			line = indent
		}
		if line != "" && !strings.HasSuffix(line, " ") {
			line += " "
		}
		line += word
	}
	fmt.Fprintln(w, strings.TrimRight(line, " "))
}

// plural is a number and a noun, such as "1 party" or "2 parties".
func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// writeOut writes what a verb prints to the file that --out names, or to stdout without one.
func (a *App) writeOut(file string, b []byte) error {
	a.Console.End()
	if file == "" {
		_, err := a.Out.Write(b)
		return err
	}
	if err := atomicfile.WriteFile(file, b); err != nil {
		return protocol.Fail(protocol.ClassInput, "out: %w", err)
	}
	return nil
}
