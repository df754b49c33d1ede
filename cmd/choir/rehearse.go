package main

import (
	"context"
	"fmt"
	"text/tabwriter"
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
as not private: this process sees all rows. Of a plan of shuffled reports it has
the estimates of choir stats, beside what reports without randomness would give,
of a plan of tables those beside the exact figures, and of a sum its coordinates
beside the exact ones.`

// rehearseCounts runs a plan that learns nothing, and prints its estimates.
func (a *tools) rehearseCounts(ctx context.Context, format string, h *experiment.Rehearsal) error {
	a.Console.Set("computing the plan")
	h.Progress = func(p experiment.Progress) {
		a.Console.Set(fmt.Sprintf("round %d of %d is done", p.Round, p.Rounds))
	}
	c, err := h.Count(ctx)
	a.Console.End()
	if err != nil {
		return err
	}
	return a.Print(format, c, func() {
		for _, w := range c.Warnings {
			cli.Wrap(a.Out, "warning: ", w)
		}
		t := tabwriter.NewWriter(a.Out, 0, 0, 2, ' ', 0)
		fmt.Fprintln(t, "table\tstatistic\tvalue\tlower\tupper\texact")
		for i, r := range c.Tables.Rows {
			name := r.Table
			if r.Level != "" {
				name += " = " + r.Level
			}
			fmt.Fprintf(t, "%s\t%s\t%.4g\t%.4g\t%.4g\t%.4g\n", name, r.Statistic, r.Value, r.Lower, r.Upper,
				c.Exact[i])
		}
		_ = t.Flush() // a.Out reports its errors elsewhere
		fmt.Fprintf(a.Out, "epsilon %g at delta %g; %s in %.1f s\nfiles in %s\n", c.Tables.Epsilon, c.Tables.Delta,
			"the session ran", c.Seconds, c.Out)
	})
}

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
			if counts, err := h.Counts(); err != nil || counts {
				if err != nil {
					return err
				}
				return a.rehearseCounts(cmd.Context(), format, h)
			}
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
