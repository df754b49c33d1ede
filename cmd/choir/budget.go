package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"choir/protocol"
	"choir/session/member"
)

func (a *app) budget() *cobra.Command {
	cmd := &cobra.Command{
		Use: "budget", Short: "Show, check and reset a party's privacy ledger", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.budgetShow("show", "List every charge, and what all of them spend together"),
		a.budgetShow("verify", "Check the chain; exits with 7 when it was altered"), a.budgetReset())
	return cmd
}

func (a *app) budgetShow(use, short string) *cobra.Command {
	format, delta, head := "text", 1e-5, ""
	cmd := &cobra.Command{
		Use: use + " STORE", Short: short, Args: cobra.ExactArgs(1),
		RunE: func(*cobra.Command, []string) error { return nil },
	}
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		s, err := member.ReadSpending(args[0], delta)
		if err != nil {
			return err
		}
		if head != "" && head != s.Head {
			return protocol.Fail(protocol.ClassIntegrity, "%s: the ledger ends in %s, not in %s: entries are missing or were added", args[0], s.Head, head)
		}
		return a.print(format, s, func() { a.spending(s, use == "show") })
	}
	cmd.Flags().Float64Var(&delta, "delta", delta, "delta at which to compose")
	cmd.Flags().StringVar(&head, "head", "", "hash that the chain must end in, kept from an earlier look")
	formatFlag(cmd, &format)
	return cmd
}

func (a *app) spending(s *member.Spending, all bool) {
	if all {
		for _, e := range s.Entries {
			if e.Kind == "reset" {
				fmt.Fprintf(a.out, "%6d  reset: %s\n", e.Seq, e.Note)
			} else {
				fmt.Fprintf(a.out, "%6d  plan %.16s  round %d attempt %d  sensitivity %d, hidden noise %.6g (units of 2^-%d)\n", e.Seq, e.Plan, e.Round, e.Attempt, e.Sensitivity, e.NoiseStd, e.FracBits)
			}
		}
	}
	fmt.Fprintf(a.out, "%d entries, chain intact, head %s\nepsilon %.6g at delta %g (%s)\n", len(s.Entries), s.Head, s.Epsilon, s.Delta, s.Method)
}

func (a *app) budgetReset() *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use: "reset STORE --reason TEXT", Short: "Record that what was spent no longer concerns the data, for good", Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if reason == "" {
				return protocol.Fail(protocol.ClassInput, "--reason: a reset without a reason would be silent")
			}
			return member.ResetSpending(args[0], reason)
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "why; it stays readable in the chain")
	return cmd
}
