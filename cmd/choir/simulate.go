package main

import (
	"context"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"choir/attack/simulate"
	"choir/cmd/internal/cli"
	"choir/protocol"
)

const simulateLong = `Run whole sessions under a virtual clock, one per seed, with the faults of a
profile, and check the protocol's invariants after every step. The same seed and
profile give the same session, message by message. Exits with 7 when an
invariant is violated. When interrupted, it prints the report on the sessions
so far and exits with 1.`

func (a *tools) simulate() *cobra.Command {
	b, format := simulate.Batch{From: 1, Seeds: 1000, Profile: "chaos", Workers: runtime.NumCPU()}, "text"
	cmd := &cobra.Command{
		Use:   "simulate --seeds N --faults PROFILE",
		Short: "Attack the protocol in a deterministic simulation",
		Long:  simulateLong,
		Example: "  choir simulate --seeds 10000 --faults all\n" +
			"  choir simulate --from 4711 --seeds 1 --faults chaos",
		Args:        cobra.NoArgs,
		Annotations: map[string]string{cli.EndsItself: "prints a partial report"},
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case b.Seeds < 1:
				return protocol.Fail(protocol.ClassInput, "--seeds: %d isn't at least 1", b.Seeds)
			case b.Workers < 1:
				return protocol.Fail(protocol.ClassInput, "--workers: %d isn't at least 1", b.Workers)
			}
			if err := cli.CheckFormat(format); err != nil {
				return err
			}
			return a.runSimulate(cmd.Context(), b, format)
		},
	}
	cmd.Flags().IntVar(&b.Seeds, "seeds", b.Seeds, "number of sessions")
	cmd.Flags().Uint64Var(&b.From, "from", b.From, "first seed")
	cmd.Flags().StringVar(&b.Profile, "faults", b.Profile,
		"profile of faults: all, or "+strings.Join(profileNames(), ", "))
	cmd.Flags().IntVar(&b.Workers, "workers", b.Workers, "sessions simulated at a time")
	cli.Values(cmd, "faults", append(profileNames(), simulate.AllProfiles)...)
	cli.FormatFlag(cmd, &format)
	return cmd
}

func (a *tools) runSimulate(ctx context.Context, b simulate.Batch, format string) error {
	began := time.Now()
	b.Progress = func(r simulate.Report) { a.Console.Set(simulated(r, b.Seeds, time.Since(began))) }
	r, err := b.Run(ctx)
	if err != nil {
		return protocol.Fail(protocol.ClassInput, "--faults: %w", err)
	}
	a.Console.End()
	if err := a.Print(format, r, func() { a.printSimulated(r) }); err != nil {
		return err
	}
	switch {
	case r.Interrupted:
		return protocol.Fail(protocol.ClassFailed, "interrupted after %d of %d sessions", r.Seeds, b.Seeds)
	case r.Violations > 0:
		return protocol.Fail(protocol.ClassIntegrity, "%d of %d sessions violated an invariant", r.Violations,
			r.Seeds)
	}
	return nil
}

// simulated is the progress of a simulation in a line.
func simulated(r simulate.Report, of int, since time.Duration) string {
	faults := 0
	for _, n := range r.Faults {
		faults += n
	}
	rate := float64(r.Seeds) / since.Seconds()
	left := time.Duration(float64(of-r.Seeds) / rate * float64(time.Second))
	return fmt.Sprintf("%d/%d seeds  %d steps  %d faults  %d violations  %.0f seeds/s  %s left",
		r.Seeds, of, r.Steps, faults, r.Violations, rate, cli.Elapsed(left))
}

func (a *tools) printSimulated(r simulate.Report) {
	fmt.Fprintf(a.Out, "%d sessions from seed %d under %q: %d steps, %d rounds, %d void attempts\n",
		r.Seeds, r.From, r.Profile, r.Steps, r.Rounds, r.Voids)
	for _, kind := range slices.Sorted(maps.Keys(r.Faults)) {
		fmt.Fprintf(a.Out, "%12d  %s\n", r.Faults[kind], kind)
	}
	fmt.Fprintf(a.Out, "%12d  violations\n", r.Violations)
	for _, f := range r.Failed {
		fmt.Fprintf(a.Out, "seed %d (%s): %s\n", f.Seed, f.Profile, f.Violation)
	}
}
