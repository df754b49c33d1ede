package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"choir/attack/threat"
	"choir/cmd/internal/cli"
	"choir/internal/atomicfile"
	"choir/lab/bed"
	"choir/lab/catalogue"
	"choir/lab/experiment"
	"choir/lab/figure"
	"choir/lab/study"
	"choir/protocol"
)

// listed is an experiment by name.
type listed struct {
	Name  string `json:"name"`
	About string `json:"about"`

	// run writes its results to o.Dir and returns what it found, and that as text.
	run func(ctx context.Context, o study.Options) (result any, text string, err error)
}

func experiments() []listed {
	all := []listed{{"noisy-factors",
		"joint noise in private factors and the published privacy claim (docs/noisy-factors.md)", noisyFactors}}
	for _, s := range catalogue.All() {
		all = append(all, listed{s.Name, s.About, func(ctx context.Context, o study.Options) (any, string, error) {
			r, err := s.Run(ctx, o)
			if err != nil {
				return nil, "", err
			}
			return r, r.Table(), r.Write(o.Dir, o.Figures...)
		}})
	}
	return all
}

func noisyFactors(ctx context.Context, o study.Options) (any, string, error) {
	e := experiment.NoisyFactors{Out: o.Dir, Seeds: o.Seeds,
		Distinguish: func(delta, falseAlarm float64, p, q []float64) (float64, error) {
			f, err := threat.Test{Delta: delta, FalseAlarm: falseAlarm}.Epsilon(p, q)
			return f.Epsilon, err
		}}
	e.Progress = o.Begin(e.Steps()).Tell
	r, err := e.Run(ctx)
	if err != nil {
		return nil, "", err
	}
	return r, r.Table(), nil
}

func (a *tools) experiment() *cobra.Command {
	return cli.Group("experiment", "Repeat the studies in the documents", a.experimentList(), a.experimentRun(),
		a.experimentReport())
}

func (a *tools) experimentList() *cobra.Command {
	format := "text"
	cmd := &cobra.Command{
		Use: "list", Short: "List the experiments", Args: cobra.NoArgs,
		Example: "  choir experiment list",
		RunE: func(*cobra.Command, []string) error {
			v := struct {
				SchemaVersion int      `json:"schema_version"`
				Experiments   []listed `json:"experiments"`
			}{1, experiments()}
			return a.Print(format, v, func() {
				for _, s := range v.Experiments {
					cli.Wrap(a.Out, fmt.Sprintf("%-19s", s.Name), s.About)
				}
			})
		},
	}
	cli.FormatFlag(cmd, &format)
	return cmd
}

func (a *tools) experimentRun() *cobra.Command {
	format, out, over, o := "text", "", string(study.Memory), study.Options{Seeds: 1}
	cmd := &cobra.Command{
		Use: "run NAME", Short: "Run an experiment; tables and figures go to a folder",
		Example: "  choir experiment run noisy-factors\n" +
			"  choir experiment run own-generated --seeds 3 --out results",
		Args: cobra.ExactArgs(1), ValidArgsFunction: cli.OneOfArgs(experimentNames),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Transport = study.Transport(over)
			if err := checkStudy(format, o); err != nil {
				return err
			}
			e, err := experimentOf(args[0])
			if err != nil {
				return err
			}
			if o.Dir, err = experiment.OutDir(out, time.Now()); err != nil {
				return err
			}
			return a.runExperiment(cmd.Context(), e, o, format)
		},
	}
	cmd.Flags().IntVar(&o.Seeds, "seeds", o.Seeds, "independent repetitions")
	cmd.Flags().IntVar(&o.First, "first-seed", 1, "number of the first of them")
	cmd.Flags().StringVar(&out, "out", "", "folder for the results, empty or new (default choir-out/<time>)")
	cmd.Flags().StringVar(&over, "transport", over,
		"transport of the sessions: memory, nats, or clear for sums without a protocol")
	cmd.Flags().StringSliceVar(&o.Only, "only", nil,
		"only the methods of these names, where an experiment compares several")
	cmd.Flags().StringSliceVar(&o.Figures, "figure-format", []string{"svg", "png"},
		"formats of the figures: svg, png and pdf")
	cli.Values(cmd, "transport", string(study.Memory), string(study.NATS), string(bed.Clear))
	cli.Values(cmd, "figure-format", figure.Formats()...)
	cli.Folders(cmd, "out")
	cli.FormatFlag(cmd, &format)
	return cmd
}

// checkStudy checks the values of flags.
func checkStudy(format string, o study.Options) error {
	if err := cli.CheckFormat(format); err != nil {
		return err
	}
	if o.Seeds < 1 {
		return protocol.Fail(protocol.ClassInput, "--seeds: %d isn't at least 1", o.Seeds)
	}
	for _, f := range o.Figures {
		if err := cli.OneOf("figure-format", f, figure.Formats()...); err != nil {
			return err
		}
	}
	return cli.OneOf("transport", string(o.Transport), string(study.Memory), string(study.NATS),
		string(bed.Clear))
}

// runExperiment runs an experiment; what is finished is kept when it is
// interrupted.
func (a *tools) runExperiment(ctx context.Context, e listed, o study.Options, format string) error {
	o.DataDir = os.Getenv("CHOIR_DATA")
	o.Progress = func(s string) { fmt.Fprintln(a.Err, s) }
	o.Status = a.Console.Set
	kept := false
	o.Kept = func(r *study.Result) {
		kept = atomicfile.WriteJSON(filepath.Join(o.Dir, r.Name+".json"), r) == nil || kept
	}
	result, text, err := e.run(ctx, o)
	if kept && cli.Interrupted(ctx, err) {
		return cli.WithHint(cli.ErrInterrupted, "choir report "+o.Dir+" shows what is finished")
	}
	if err != nil {
		return err
	}
	return a.Print(format, result, func() { fmt.Fprintf(a.Out, "%s\nresults: %s\n", text, o.Dir) })
}

func (a *tools) experimentReport() *cobra.Command {
	in, out, figures := "docs/figures/results", "docs", "figures/results"
	cmd := &cobra.Command{
		Use: "report", Short: "Write the pages of all results, their tables and their figures", Args: cobra.NoArgs,
		Example: "  choir experiment report --in docs/figures/results --out docs",
		RunE: func(*cobra.Command, []string) error {
			all, err := study.ReadAll(in)
			if err != nil {
				return protocol.Fail(protocol.ClassInput, "--in: %w", err)
			}
			for _, r := range all {
				if err := r.Write(in, "svg"); err != nil {
					return err
				}
			}
			pages, err := catalogue.Pages(all, figures)
			if err != nil {
				return err
			}
			for name, page := range pages {
				if err := atomicfile.WriteFile(filepath.Join(out, name), page); err != nil {
					return err
				}
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&in, "in", in, "folder with the experiments' JSON files")
	cmd.Flags().StringVar(&out, "out", out, "folder for results.md and results/")
	cmd.Flags().StringVar(&figures, "figures", figures, "path from there to the folder")
	return cmd
}

func experimentOf(name string) (listed, error) {
	names := []string{}
	for _, e := range experiments() {
		if e.Name == name {
			return e, nil
		}
		names = append(names, e.Name)
	}
	return listed{}, protocol.Fail(protocol.ClassInput, "unknown experiment: %q is not one of %q", name, names)
}
