package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"choir/attack/simulate"
	"choir/cmd/internal/cli"
	"choir/protocol"
)

const attackStoryLong = `Repeat the simulated session of a seed and tell it step by step: the time, the
member, what it got, and below that its notices (!), messages (>) and requests
(?). When the session violates an invariant, its faults are first reduced to
those that are needed, and the verb exits with 7.`

func (a *tools) attackStory() *cobra.Command {
	seed, faults, noise, dropouts := uint64(1), "chaos", "party", 0
	var h simulate.Shape
	cmd := &cobra.Command{
		Use: "story --seed N --faults PROFILE", Short: "Tell a simulated session step by step",
		Long: attackStoryLong, Args: cobra.NoArgs,
		Example: "  choir attack story --seed 4711 --faults chaos\n" +
			"  choir attack story --seed 3 --faults lossy --parties 8 --nodes 3",
		RunE: func(*cobra.Command, []string) error {
			p, ok := simulate.ProfileByName(faults)
			if !ok {
				return cli.OneOf("faults", faults, profileNames()...)
			}
			placement, ok := placements[noise]
			if !ok {
				return cli.OneOf("noise", noise, "none", "party", "compute", "local")
			}
			h.MinParties, h.Noise = h.Parties-dropouts, placement
			if h.Parties != 0 {
				if err := h.Check(); err != nil {
					return err
				}
				p.Shape = h
			}
			return a.tellStory(seed, p)
		},
	}
	s := cmd.Flags()
	s.Uint64Var(&seed, "seed", seed, "the session's seed")
	s.StringVar(&faults, "faults", faults, "profile of faults: "+strings.Join(profileNames(), ", "))
	s.IntVar(&h.Parties, "parties", 0, "parties; 0: the seed draws members and noise")
	s.IntVar(&h.Computes, "nodes", 3, "compute nodes (with --parties)")
	s.IntVar(&dropouts, "dropouts", 0, "parties that may be missing (with --parties)")
	s.StringVar(&noise, "noise", noise, "who adds noise: none, party, compute or local\n(with --parties)")
	cli.Values(cmd, "faults", profileNames()...)
	cli.Values(cmd, "noise", "none", "party", "compute", "local")
	return cmd
}

func (a *tools) tellStory(seed uint64, p simulate.Profile) error {
	r := simulate.Run(seed, p)
	setup, script := r.Setup, r.Script
	if len(r.Violations) > 0 {
		var err error
		if setup, script, err = simulate.Shrink(seed, p); err != nil {
			return err
		}
	}
	told, story := simulate.Tell(setup, script)
	fmt.Fprint(a.Out, story)
	fmt.Fprintf(a.Out, "\n%d faults, %d steps, %d rounds, %d void attempts\n", len(script), told.Steps,
		told.Rounds,
		told.Voids)
	for _, f := range script {
		fmt.Fprintln(a.Out, "  "+f.String())
	}
	for _, v := range told.Violations {
		fmt.Fprintln(a.Out, v)
	}
	if len(told.Violations) > 0 {
		return protocol.Fail(protocol.ClassIntegrity, "seed %d violates an invariant", seed)
	}
	return nil
}
