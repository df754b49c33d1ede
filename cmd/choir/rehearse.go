package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"choir/cmd/internal/cli"
	"choir/lab/experiment"
	"choir/protocol"
)

const rehearseLong = `Run the whole session that a plan's file describes on this machine, with the
real split of the rows: a file for each party, in the order of the plan's file,
or as NAME=FILE. A party without a file gets rows of the other parties, drawn
again; without any file all rows are synthetic, drawn from the schema. The cards
that the plan's file names need not exist.

A fifth of each party's rows is held out for testing, unless --test names a
file. The result has the references and the report of choir demo, and is marked
as not private: this process sees all rows.`

func (a *tools) rehearse() *cobra.Command {
	h := &experiment.Rehearsal{Signal: 1.5, Seed: 1}
	format := "text"
	cmd := &cobra.Command{
		Use: "rehearse PLAN.TOML", Short: "Run a plan's whole session on one machine, not private",
		Long: rehearseLong,
		Example: "  choir rehearse plan.toml --data a.csv --data b.csv --data c.csv\n" +
			"  choir rehearse plan.toml --data hospital-b=b.csv --test held-out.csv",
		Args: cobra.ExactArgs(1), Annotations: cli.EndsByClosing(),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := cli.CheckFormat(format); err != nil {
				return err
			}
			if !(h.Signal >= 0 && h.Signal <= 100) {
				return protocol.Fail(protocol.ClassInput, "signal: %v isn't in 0..100", h.Signal)
			}
			h.Config = args[0]
			h.Command = repeatable(cmd) + " " + args[0]
			var err error
			if h.Out, err = experiment.OutDir(h.Out, time.Now()); err != nil {
				return err
			}
			fmt.Fprintln(a.Err, "a rehearsal: not private")
			return a.present(cmd.Context(), h.Out, &h.Progress, format, h.Run)
		},
	}
	s := cmd.Flags()
	s.StringArrayVar(&h.Data, "data", nil,
		"CSV file of a party, or NAME=FILE (repeatable)")
	s.StringVar(&h.Test, "test", "", "CSV file of rows to test on; default: a fifth of each party's")
	s.Float64Var(&h.Signal, "signal", h.Signal,
		"strength of what there is to learn from twins; 2 is much, 0.5 little")
	s.Uint64Var(&h.Seed, "seed", h.Seed, "seed of the twins and of the rows that are held out")
	s.StringVar(&h.Out, "out", "", "folder for the results; default choir-out/<time>")
	cli.FormatFlag(cmd, &format)
	cli.Folders(cmd, "out")
	cli.FilesOf(cmd, "csv", "data", "test")
	return cmd
}
