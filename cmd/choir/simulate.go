package main

import (
	"fmt"
	"maps"
	"runtime"
	"slices"

	"github.com/spf13/cobra"

	"choir/attack/simulate"
	"choir/protocol"
)

func (a *app) simulate() *cobra.Command {
	seeds, from, faults, workers, format := 1000, uint64(1), "chaos", runtime.NumCPU(), "text"
	cmd := &cobra.Command{
		Use:   "simulate --seeds N --faults PROFILE",
		Short: "Attack the protocol in a deterministic simulation",
		Long: `Run whole sessions under a virtual clock, one per seed, with the faults of a
profile, and hold every step to the protocol's invariants. The same seed and
profile give the same session, message by message. Exits with 7 when an invariant
didn't hold.`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			switch {
			case seeds < 1:
				return protocol.Fail(protocol.ClassInput, "--seeds: %d isn't at least 1", seeds)
			case workers < 1:
				return protocol.Fail(protocol.ClassInput, "--workers: %d isn't at least 1", workers)
			}
			r, err := simulate.ManyProfiles(from, seeds, faults, workers)
			if err != nil {
				return protocol.Fail(protocol.ClassInput, "--faults: %w", err)
			}
			if err := a.print(format, r, func() { a.simulated(r) }); err != nil {
				return err
			}
			if r.Violations > 0 {
				return protocol.Fail(protocol.ClassIntegrity, "%d of %d sessions broke an invariant", r.Violations, r.Seeds)
			}
			return nil
		},
	}
	cmd.Flags().IntVar(&seeds, "seeds", seeds, "how many sessions")
	cmd.Flags().Uint64Var(&from, "from", from, "the first seed")
	cmd.Flags().StringVar(&faults, "faults", faults, "what goes wrong: a profile's name, or all: "+profileNames())
	cmd.Flags().IntVar(&workers, "workers", workers, "sessions at a time")
	formatFlag(cmd, &format)
	return cmd
}

func profileNames() (names string) {
	for i, p := range simulate.Profiles() {
		if i > 0 {
			names += ", "
		}
		names += p.Name
	}
	return names
}

func (a *app) simulated(r simulate.Report) {
	fmt.Fprintf(a.out, "%d sessions from seed %d under %q: %d steps, %d rounds, %d void attempts\n", r.Seeds, r.From, r.Profile, r.Steps, r.Rounds, r.Voids)
	for _, kind := range slices.Sorted(maps.Keys(r.Faults)) {
		fmt.Fprintf(a.out, "%12d  %s\n", r.Faults[kind], kind)
	}
	fmt.Fprintf(a.out, "%12d  violations\n", r.Violations)
	for _, f := range r.Failed {
		fmt.Fprintf(a.out, "seed %d (%s): %s\n", f.Seed, f.Profile, f.Violation)
	}
}
