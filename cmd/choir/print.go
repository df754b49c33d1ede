package main

import (
	"slices"

	"github.com/spf13/cobra"

	"choir/internal/atomicfile"
	"choir/protocol"
)

// formatFlag adds --format.
func formatFlag(cmd *cobra.Command, format *string) {
	cmd.Flags().StringVar(format, "format", *format, "how to print the result: text or json")
}

func checkFormat(format string) error { return oneOf("format", format, "text", "json") }

func oneOf(field, value string, allowed ...string) error {
	if slices.Contains(allowed, value) {
		return nil
	}
	return protocol.Fail(protocol.ClassInput, "%s: %q isn't one of %q", field, value, allowed)
}

// print writes a result as one JSON object, or as text.
func (a *app) print(format string, v any, text func()) error {
	if err := checkFormat(format); err != nil {
		return err
	}
	if format == "text" {
		text()
		return nil
	}
	b, err := atomicfile.EncodeJSON(v)
	if err != nil {
		return err
	}
	_, err = a.out.Write(b)
	return err
}
