package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"choir/cmd/internal/cli"
	"choir/internal/atomicfile"
	"choir/lab/experiment"
	"choir/protocol"
	"choir/session/terms"
)

const adviseLong = `Compare the settings of a plan before anybody's rows are used: from the schema,
the numbers of records and the budget alone, draw synthetic twins with a weak, a
medium and a strong signal, learn from them with every candidate, clipped,
rounded and noised as in a session, and print the expected scores, who could
learn what, what it costs, and from which epsilon or number of records joining
pays, for the parties with the fewest and the most records if these are unlike.
--accuracy names what a model without privacy is known to reach, which tells how
strong the signal is. Whether columns repeat each other, and how unequal the
classes are, no schema tells: the intervals cover columns that each tell
something else as well as columns that tell the same, and classes of one to two
as well as rare ones. No private data is used: the advice costs no budget.`

func (a *tools) advise() *cobra.Command {
	ad := &experiment.Advisor{Computes: 3, Epsilon: 1, Delta: 1e-5, Worlds: 2, Seed: 1}
	schema, out, format := "", "", "text"
	cmd := &cobra.Command{
		Use:   "advise --schema FILE --records N,N,...",
		Short: "Compare settings on synthetic twins and write a plan file",
		Long:  adviseLong, Args: cobra.NoArgs,
		Example: "  choir plan advise --schema schema.toml --records 142,142,142 --epsilon 1\n" +
			"  choir plan advise --schema s.toml --records 500,800 --accuracy 0.9",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := cli.CheckFormat(format); err != nil {
				return err
			}
			if err := checkAdvise(ad, schema, out); err != nil {
				return err
			}
			var err error
			if ad.Schema, err = terms.ReadSchema(schema); err != nil {
				return err
			}
			ad.Progress = a.adviseProgress()
			advice, err := ad.Run(cmd.Context())
			if err != nil {
				return err
			}
			if err := writeAdvised(advice, schema, out); err != nil {
				return err
			}
			return a.Print(format, advice, func() { a.printAdvice(advice, out) })
		},
	}
	s := cmd.Flags()
	s.StringVar(&schema, "schema", "", "schema file")
	s.IntSliceVar(&ad.Records, "records", nil, "number of records of each party")
	s.IntVar(&ad.Computes, "nodes", ad.Computes, "compute nodes")
	s.IntVar(&ad.Colluders, "colluders", 0, "parties that may pool what they know")
	s.IntVar(&ad.Dropouts, "dropouts", 0, "parties that may be missing")
	s.Float64Var(&ad.Epsilon, "epsilon", ad.Epsilon, "privacy budget over all rounds")
	s.Float64Var(&ad.Delta, "delta", ad.Delta, "delta of the budget")
	s.Float64Var(&ad.Accuracy, "accuracy", 0, "accuracy of a model without privacy, as published; 0: unknown")
	s.IntVar(&ad.Worlds, "worlds", ad.Worlds, "populations drawn for each strength and structure of the signal")
	s.Uint64Var(&ad.Seed, "seed", ad.Seed, "seed of the twins")
	s.StringVar(&out, "out", "", "plan file to write with the best setting, every key filled")
	cli.FormatFlag(cmd, &format)
	cli.FilesOf(cmd, "toml", "schema")
	return cmd
}

// writeAdvised writes the best setting's plan file, if one is wanted.
func writeAdvised(advice *experiment.Advice, schema, out string) error {
	if out == "" {
		return nil
	}
	if from, err := filepath.Rel(filepath.Dir(out), schema); err == nil {
		schema = from // else one of them is absolute
	}
	text, err := advice.Plan(filepath.ToSlash(schema))
	if err != nil {
		return err
	}
	if err := atomicfile.WriteFile(out, text); err != nil {
		return protocol.Fail(protocol.ClassInput, "out: %w", err)
	}
	return nil
}

// checkAdvise checks the flags that the advisor doesn't see.
func checkAdvise(ad *experiment.Advisor, schema, out string) error {
	if schema == "" {
		return protocol.Fail(protocol.ClassInput, "schema: name a schema file; choir schema new writes one")
	}
	if ad.Worlds < 2 || ad.Worlds > 100 {
		return protocol.Fail(protocol.ClassInput, "worlds: %d isn't in 2..100", ad.Worlds)
	}
	if out != "" {
		if _, err := os.Stat(out); err == nil {
			return protocol.Fail(protocol.ClassInput, "out: %s exists already; remove it, or name another file", out)
		}
	}
	return nil
}

// adviseProgress tells what is under way, on a terminal and at most every two seconds else.
func (a *tools) adviseProgress() func(done, total int, what string) {
	last := time.Now()
	return func(done, total int, what string) {
		a.Console.Set(fmt.Sprintf("%s %d/%d  %s", cli.Bar(done, total), done, total, what))
		if time.Since(last) > 2*time.Second {
			fmt.Fprintf(a.Err, "%d of %d: %s\n", done, total, what)
			last = time.Now()
		}
	}
}

func (a *tools) printAdvice(v *experiment.Advice, out string) {
	a.printScores(v)
	for _, s := range v.Settings {
		if s.Refused != "" {
			cli.Wrap(a.Out, "", fmt.Sprintf("%s: no such plan: %s", s.Name, s.Refused))
		}
	}
	best := v.Settings[0]
	fmt.Fprintln(a.Out)
	cli.Wrap(a.Out, "", fmt.Sprintf("best: %s, %d rounds, %.0f kB from each party, about %.1f minutes between "+
		"sites", best.Name, best.Rounds, float64(best.Upload)/1000, best.Minutes))
	fmt.Fprintf(a.Out, "\nepsilon at delta %g, for one record against\n", v.Delta)
	for _, l := range v.Layers {
		if l.Sample != nil {
			fmt.Fprintf(a.Out, "  %-8.4g %s\n", *l.Sample, l.Adversary)
		}
	}
	fmt.Fprintln(a.Out)
	for _, line := range v.BreakEven {
		cli.Wrap(a.Out, "", line+".")
	}
	for _, w := range v.Warnings {
		cli.Wrap(a.Out, "warning: ", w)
	}
	if out != "" {
		fmt.Fprintf(a.Out, "plan file with every key: %s\n", out)
	}
}

// printScores is the table of the settings, with a party alone and the majority.
func (a *tools) printScores(v *experiment.Advice) {
	measure, majority := "accuracy", "the majority class"
	if v.Linear {
		measure, majority = "R squared", "the mean of the targets"
	}
	signals := []string{"weak", "medium", "strong"}
	if len(v.Signals) == 1 {
		signals = []string{fmt.Sprintf("signal %.2g", v.Signals[0])}
	}
	fmt.Fprintf(a.Out, "expected %s of a session, at 90 %%, by strength of the signal\n\n", measure)
	t := tabwriter.NewWriter(a.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "setting\t%s\tlog-lik.\n", strings.Join(signals, "\t"))
	row := func(name string, scores []experiment.Expected) {
		fmt.Fprint(t, name)
		mean := 0.0
		for _, s := range scores {
			fmt.Fprintf(t, "\t%s±%s", scoreText(s.Accuracy), scoreText(s.AccuracyMargin))
			mean += s.LogLik / float64(len(scores))
		}
		fmt.Fprintf(t, "\t%s\n", scoreText(mean))
	}
	for _, s := range v.Settings {
		if s.Refused == "" {
			row(s.Name, s.Scores)
		}
	}
	if v.Uneven() {
		row(fmt.Sprintf("with %d alone, no privacy", slices.Max(v.Records)), v.Alone)
		row(fmt.Sprintf("with %d alone, no privacy", slices.Min(v.Records)), v.Fewest)
	} else {
		row("a party alone, no privacy", v.Alone)
	}
	row(majority, v.Majority)
	_ = t.Flush() // a.Out reports its errors elsewhere
}

// scoreText keeps hopeless scores as short as the others.
func scoreText(x float64) string {
	if x > -10 && x < 10 {
		return fmt.Sprintf("%.3f", x)
	}
	return fmt.Sprintf("%.3g", x)
}
