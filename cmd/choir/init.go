package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"choir/cmd/internal/cli"
	"choir/lab/trial"
	"choir/protocol"
)

const initLong = `Make a trial consortium in DIR: keys, cards, a plan that all members have
signed, a private folder for every member's site, example data or the files of
--data, a compose file, and run.sh, which runs the session with the binary in
$CHOIR.

The encoding of --data is that of --schema, else that of the plan file of
--config. Without both it is computed from the rows, which is not private: for
trials only. Without --data the rows are drawn, by the schema of --config or of
an example.`

func (a *tools) init() *cobra.Command {
	o := trial.Options{Parties: 3, Nodes: 3, Epsilon: 1, Delta: 1e-5}
	format := "text"
	cmd := &cobra.Command{
		Use: "init DIR", Short: "Make a trial consortium in a folder", Long: initLong,
		Example: "  choir init trial --parties 3 --nodes 3\n" +
			"  choir init trial --data a.csv --data b.csv --data c.csv --target died",
		Args:    cobra.ExactArgs(1),
		PreRunE: func(cmd *cobra.Command, _ []string) error { return onlyInFile(cmd, o.Config) },
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := cli.CheckFormat(format); err != nil {
				return err
			}
			o.Dir = args[0]
			if len(o.Data) > 0 && !cmd.Flags().Changed("parties") {
				o.Parties = len(o.Data)
			}
			exe, err := os.Executable()
			if err != nil {
				return err
			}
			made, err := trial.Write(o)
			if err != nil {
				return err
			}
			return a.Print(format, made, func() {
				for _, w := range made.Warnings {
					cli.Wrap(a.Out, "warning: ", w)
				}
				fmt.Fprintf(a.Out, "plan %s, signed by all\nrun it: CHOIR=%s %s\n", made.Plan, quoted(exe),
					quoted(made.Run))
			})
		},
	}
	s := cmd.Flags()
	s.IntVar(&o.Parties, "parties", o.Parties, "parties; by default one for each --data")
	s.IntVar(&o.Nodes, "nodes", o.Nodes, "compute nodes")
	s.Float64Var(&o.Epsilon, "epsilon", o.Epsilon, "privacy budget of every record over all rounds")
	s.Float64Var(&o.Delta, "delta", o.Delta, "the budget's delta")
	s.IntVar(&o.Rounds, "rounds", 0, "rounds; 0: by the plan's other terms")
	s.StringArrayVar(&o.Data, "data", nil, "CSV file of a party (repeatable); default: example data")
	s.StringVar(&o.Schema, "schema", "", "schema file of the data; default: that of --config")
	s.StringVar(&o.Target, "target", "", "column of the data to predict; default: the schema's")
	s.StringVar(&o.Config, "config", "", "plan file with the terms, such as plan advise writes; default: "+
		"--epsilon, --delta, --rounds")
	cli.FormatFlag(cmd, &format)
	cli.FilesOf(cmd, "csv", "data")
	cli.FilesOf(cmd, "toml", "schema", "config")
	return cmd
}

// onlyInFile refuses flags for which the plan file counts.
func onlyInFile(cmd *cobra.Command, file string) error {
	for _, name := range []string{"epsilon", "delta", "rounds"} {
		if file != "" && cmd.Flags().Changed(name) {
			return protocol.Fail(protocol.ClassInput, "%s: the plan file of --config has its own; change it there, "+
				"or leave one of the two out", name)
		}
	}
	return nil
}

// quoted is a word for a shell.
func quoted(s string) string {
	if !strings.ContainsAny(s, " \t\n'\"\\$`&|;<>()*?[]#~!{}") {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
