package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"choir/cmd/internal/cli"
	"choir/lab/bench"
	"choir/protocol"
)

func (a *tools) benchTable1() *cobra.Command {
	f, g, add := &cellFlags{format: "text"}, bench.Grid{}, ""
	cmd := &cobra.Command{
		Use:     "table1",
		Short:   "Run the grid of Table 1 in [DCA] and compare",
		Example: "  choir bench table1 --max-parties 1000 --max-dim 1000",
		Long: `Run the grid of the table in [DCA], N = 1e2 to 1e5 parties and d = 10 to 1e4
coordinates with 10 compute nodes, and compare our figures with the paper's. The
paper left encryption out; here everything is sealed, signed and verified.

The largest cells need minutes and gigabytes; --max-parties and --max-dim leave
them out.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.parse(cmd); err != nil {
				return err
			}
			var earlier bench.Table1
			if err := readDocument("add", add, &earlier); err != nil {
				return err
			}
			if add != "" && len(earlier.Cells) == 0 {
				return protocol.Fail(protocol.ClassInput, "add: %s has no cells: name a document of choir bench table1 "+
					"--format json", add)
			}
			f.Progress = a.Console.Set
			g.Cell = f.Config
			t, err := bench.RunTable1(cmd.Context(), g, func(t bench.Table1, c bench.Table1Cell) {
				a.Partial(func() { _ = a.printTable1(f.format, &t, &earlier) }) // the verb fails already
				fmt.Fprintf(a.Err, "N = %d, d = %d: %.4g s a round, %.4g s in all; the paper's %.2f s\n",
					c.Parties, c.Dim, c.Result.SecondsRound, c.Result.SecondsTotal, c.PaperSeconds)
			})
			if err != nil && (t == nil || len(t.Cells) == 0 || !cli.Interrupted(cmd.Context(), err)) {
				return err
			}
			return errors.Join(a.printTable1(f.format, t, &earlier), err)
		},
	}
	s := cmd.Flags()
	s.IntVar(&g.MinParties, "min-parties", 0, "leave out cells with fewer parties")
	s.IntVar(&g.MaxParties, "max-parties", 0, "leave out cells with more parties; 0: none")
	s.IntVar(&g.MinDim, "min-dim", 0, "leave out cells with fewer coordinates")
	s.IntVar(&g.MaxDim, "max-dim", 0, "leave out cells with more coordinates; 0: none")
	s.StringVar(&add, "add", "", "JSON of an earlier run, whose other cells are added")
	s.IntVar(&f.Computes, "compute-nodes", 10, "compute nodes, M; the paper's are 10")
	s.IntVar(&f.Repeats, "repeats", 1, "sessions of each cell; the median one counts")
	f.addCell(cmd)
	f.addNoise(cmd)
	return cmd
}

// printTable1 prints the cells of this run and the other ones of an earlier run.
func (a *tools) printTable1(format string, t, earlier *bench.Table1) error {
	t.Command = commandLine()
	for i := range t.Cells {
		t.Cells[i].Result.Command = t.Command
	}
	t.Merge(earlier)
	return a.Print(format, t, func() { fmt.Fprint(a.Out, t.Markdown()) })
}

func (a *tools) benchScale() *cobra.Command {
	f, s := &cellFlags{format: "text"}, bench.Sweep{}
	cmd := &cobra.Command{
		Use:     "scale",
		Short:   "Measure cost against N, d and M, and fit exponents",
		Long:    "Measure cost against N, d and M without noise, one at a time, and fit exponents.",
		Example: "  choir bench scale --max-parties 1024",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.parse(cmd); err != nil {
				return err
			}
			f.Progress = a.Console.Set
			s.Cell = f.Config
			out, err := bench.RunScale(cmd.Context(), s, func(p bench.ScalePoint) {
				fmt.Fprintf(a.Err, "%s = %d: %.4g cpu s a round\n", p.Over, p.X, p.CPURound)
			})
			if err != nil && (len(out.Points) == 0 || !cli.Interrupted(cmd.Context(), err)) {
				return err
			}
			out.Command = commandLine()
			return errors.Join(a.Print(f.format, out, func() { fmt.Fprint(a.Out, out.Markdown()) }), err)
		},
	}
	fs := cmd.Flags()
	fs.IntVar(&s.MaxParties, "max-parties", 4096,
		"the most parties, from 16, at d = 1000 and M = 3; 0: not this sweep")
	fs.IntVar(&s.MaxDim, "max-dim", 1<<18,
		"the most coordinates, from 64, at N = 32 and M = 3; 0: not this sweep")
	fs.IntVar(&s.MaxComputes, "max-compute-nodes", 20,
		"the most compute nodes, from 2, at N = 64 and d = 10000; 0: not this sweep")
	fs.IntVar(&f.Repeats, "repeats", 1, "sessions of each cell; the median one counts")
	f.addCell(cmd)
	return cmd
}

// benchPart is one verb for each building block.
func (a *tools) benchPart(name, short string) *cobra.Command {
	format, repeats, quick := "text", 5, false
	cmd := &cobra.Command{
		Use: name, Short: short, Args: cobra.NoArgs,
		Example: "  choir bench " + name + " --quick",
		RunE: func(*cobra.Command, []string) error {
			if err := cli.CheckFormat(format); err != nil {
				return err
			}
			p, err := bench.MeasurePart(name, repeats, quick)
			if err != nil {
				return err
			}
			p.Command = commandLine()
			return a.Print(format, p, func() { fmt.Fprint(a.Out, p.Markdown()) })
		},
	}
	cmd.Flags().IntVar(&repeats, "repeats", repeats, "repetitions of each figure; the median counts")
	cmd.Flags().BoolVar(&quick, "quick", false, "the smallest size only")
	cli.FormatFlag(cmd, &format)
	return cmd
}

// readDocument reads a JSON file that a flag names; without a name it is nothing.
func readDocument(flag, path string, v any) error {
	if path == "" {
		return nil
	}
	b, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(b, v)
	}
	if err != nil {
		return protocol.Fail(protocol.ClassInput, "%s: %w", flag, err)
	}
	return nil
}

func (a *tools) benchDocs() *cobra.Command {
	dir := "docs/benchmarks"
	cmd := &cobra.Command{
		Use: "docs", Short: "Draw the figures and fill the tables of a folder of results", Args: cobra.NoArgs,
		Example: "  choir bench docs --dir docs/benchmarks",
		RunE: func(*cobra.Command, []string) error {
			changed, err := bench.WriteRendered(dir)
			for _, name := range changed {
				fmt.Fprintln(a.Out, name)
			}
			return err
		},
	}
	cmd.Flags().StringVar(&dir, "dir", dir, "the folder")
	return cmd
}
