package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"choir/experiment"
	"choir/protocol"
	"choir/threat"
)

// study is an experiment by name.
type study struct {
	Name  string `json:"name"`
	About string `json:"about"`

	// run writes figures to a folder and returns what it found, and that as text.
	run func(ctx context.Context, out string, seeds int) (result any, text string, err error)
}

func studies() []study {
	return []study{
		{"noisy-factors", "what joint noise in private factors does to the published privacy claim (docs/noisy-factors.md)", noisyFactors},
	}
}

func noisyFactors(ctx context.Context, out string, seeds int) (any, string, error) {
	e := experiment.NoisyFactors{Out: out, Seeds: seeds, Distinguish: func(delta, falseAlarm float64, p, q []float64) (float64, error) {
		f, err := threat.Test{Delta: delta, FalseAlarm: falseAlarm}.Epsilon(p, q)
		return f.Epsilon, err
	}}
	r, err := e.Run(ctx)
	if err != nil {
		return nil, "", err
	}
	return r, r.Table(), nil
}

func (a *app) experiment() *cobra.Command {
	cmd := &cobra.Command{
		Use: "experiment", Short: "Repeat studies whose figures stand in the documents", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.experimentList(), a.experimentRun())
	return cmd
}

func (a *app) experimentList() *cobra.Command {
	format := "text"
	cmd := &cobra.Command{
		Use: "list", Short: "List the experiments", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			v := struct {
				SchemaVersion int     `json:"schema_version"`
				Experiments   []study `json:"experiments"`
			}{1, studies()}
			return a.print(format, v, func() {
				for _, s := range v.Experiments {
					fmt.Fprintf(a.out, "%-16s %s\n", s.Name, s.About)
				}
			})
		},
	}
	formatFlag(cmd, &format)
	return cmd
}

func (a *app) experimentRun() *cobra.Command {
	format, out, seeds := "text", "", 1
	cmd := &cobra.Command{
		Use: "run NAME", Short: "Run an experiment; JSON, CSV, SVG and PNG go to a folder", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkFormat(format); err != nil {
				return err
			}
			if seeds < 1 {
				return protocol.Fail(protocol.ClassInput, "--seeds: %d isn't at least 1", seeds)
			}
			s, err := studyOf(args[0])
			if err != nil {
				return err
			}
			dir, err := experiment.OutDir(out, time.Now())
			if err != nil {
				return err
			}
			result, text, err := s.run(cmd.Context(), dir, seeds)
			if err != nil {
				return err
			}
			return a.print(format, result, func() { fmt.Fprintf(a.out, "%s\nresults: %s\n", text, dir) })
		},
	}
	cmd.Flags().IntVar(&seeds, "seeds", seeds, "independent repetitions")
	cmd.Flags().StringVar(&out, "out", "", "folder for the results, empty or new (default choir-out/<time>)")
	formatFlag(cmd, &format)
	return cmd
}

func studyOf(name string) (study, error) {
	names := []string{}
	for _, s := range studies() {
		if s.Name == name {
			return s, nil
		}
		names = append(names, s.Name)
	}
	return study{}, protocol.Fail(protocol.ClassInput, "unknown experiment: %q is not one of %q", name, names)
}
