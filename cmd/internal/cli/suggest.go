package cli

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"choir/protocol"
)

// helpHint is the hint for a command line that is wrong.
func helpHint(program string) string { return program + " help shows what there is" }

// flagHint is the hint for a flag that is wrong.
func flagHint(cmd *cobra.Command) string { return cmd.CommandPath() + " --help shows its flags" }

// Group makes a command that only has subcommands.
func Group(use, short string, commands ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{
		Use: use, Short: short, Args: subcommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(commands...)
	return cmd
}

// subcommand refuses an argument of a command that only has subcommands, and
// suggests those with a similar name.
func subcommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	err := fmt.Errorf("unknown command %q for %q", args[0], cmd.CommandPath())
	return suggesting(helpHint(cmd.Root().Name()), err, args[0], names)
}

// badValue tells in plain words what a flag takes, for an argument that can't be read.
func badValue(cmd *cobra.Command, err error) error {
	var bad *pflag.InvalidValueError
	if !errors.As(err, &bad) {
		return err
	}
	want := "a number, such as 1.5 or 1e-5"
	switch kind := bad.GetFlag().Value.Type(); {
	case errors.Is(err, strconv.ErrRange):
		want = "a smaller number"
	case kind == "intSlice":
		want = "whole numbers, separated by commas"
	case strings.Contains(kind, "int"):
		want = "a whole number"
	case !strings.HasPrefix(kind, "float"):
		return err
	}
	plain := protocol.Fail(protocol.ClassInput, "invalid argument %q for \"--%s\" flag: it takes %s",
		bad.GetValue(), bad.GetFlag().Name, want)
	return WithHint(plain, flagHint(cmd))
}

// badFlag adds a suggestion to the error about an unknown flag.
func badFlag(cmd *cobra.Command, err error) error {
	err = badValue(cmd, err)
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) || unknown.GetSpecifiedName() == "" {
		return err
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, f.Name)
		}
	})
	dashed := make([]string, len(names))
	for i, n := range names {
		dashed[i] = "--" + n
	}
	return suggesting(flagHint(cmd), err, "--"+unknown.GetSpecifiedName(), dashed)
}

// suggesting adds a hint with the names that are similar to the one given.
func suggesting(help string, err error, given string, names []string) error {
	var similar []string
	for _, n := range names {
		begins := strings.HasPrefix(n, given) && len(strings.TrimLeft(given, "-")) > 1
		if begins || distance(given, n) <= min(2, (len(n)+1)/4) {
			similar = append(similar, n)
		}
	}
	if len(similar) == 0 {
		return WithHint(err, help)
	}
	return WithHint(err, "did you mean "+strings.Join(similar, " or ")+"? "+help)
}

// distance is the number of letters to insert, delete, replace or exchange with
// their neighbour that turns one word into the other.
func distance(a, b string) int {
	var before []int
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		next := make([]int, len(b)+1)
		next[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			next[j+1] = min(row[j]+cost, row[j+1]+1, next[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				next[j+1] = min(next[j+1], before[j-1]+1)
			}
		}
		before, row = row, next
	}
	return row[len(b)]
}
