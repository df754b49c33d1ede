package cli

import (
	"fmt"
	"math"

	"github.com/spf13/cobra"

	"choir/protocol"
	"choir/session/member"
)

func (a *App) budget() *cobra.Command {
	return Group("budget", "Show, check and reset a party's privacy ledger",
		a.budgetShow("show", "List the charges, and what all of them spend together"),
		a.budgetShow("verify", "Check the chain; exits with 7 when it was altered"), a.budgetReset())
}

func (a *App) budgetShow(use, short string) *cobra.Command {
	format, delta, head, all := "text", 1e-5, "", false
	cmd := &cobra.Command{
		Use: use + " STORE", Short: short, Args: cobra.ExactArgs(1),
		Example: fmt.Sprintf("  choir budget %s hospital-a/store.db", use),
	}
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		s, err := member.ReadSpending(args[0], delta)
		if err != nil {
			return err
		}
		if head != "" && head != s.Head {
			return protocol.Fail(protocol.ClassIntegrity,
				"%s: the ledger ends in %s, not in %s: entries are missing or were added", args[0], s.Head, head)
		}
		return a.Print(format, s, func() { a.printSpending(s, use == "show", all) })
	}
	cmd.Flags().Float64Var(&delta, "delta", delta, "delta at which to compose")
	cmd.Flags().StringVar(&head, "head", "", "hash that the chain must end in, noted on an earlier occasion")
	if use == "show" {
		cmd.Flags().BoolVar(&all, "all", false, "list every charge by itself")
	}
	FormatFlag(cmd, &format)
	return cmd
}

func (a *App) printSpending(s *member.Spending, list, all bool) {
	for i := 0; list && i < len(s.Entries); {
		n := 1
		for !all && i+n < len(s.Entries) && follows(s.Entries[i+n-1], s.Entries[i+n]) {
			n++
		}
		a.printCharges(s.Entries[i : i+n])
		i += n
	}
	fmt.Fprintf(a.Out, "%s, chain intact\nhead %s\n", plural(len(s.Entries), "entry", "entries"), s.Head)
	fmt.Fprintf(a.Out, "epsilon %.6g at delta %g (%s)\n", s.Epsilon, s.Delta, s.Method)
}

// follows reports whether b is the charge for the next round under the same
// terms as a.
func follows(a, b member.Charge) bool {
	next := a
	next.Seq++
	next.Round++
	return a.Kind == "charge" && next == b
}

// printCharges prints charges that follow one another, in the inputs' unit.
func (a *App) printCharges(list []member.Charge) {
	first, last := list[0], list[len(list)-1]
	if first.Kind == "reset" {
		fmt.Fprintf(a.Out, "reset: %s\n", first.Note)
		return
	}
	rounds := fmt.Sprintf("round %d", first.Round)
	if len(list) > 1 {
		rounds = fmt.Sprintf("rounds %d-%d", first.Round, last.Round)
	}
	if first.Keep > 0 {
		fmt.Fprintf(a.Out, "%s attempt %d of plan %.8s: one of %d shuffled reports of %d levels, with noise that "+
			"falls to %.6g at the next level\n", rounds, first.Attempt, first.Plan, first.Reports, first.Categories,
			first.Keep)
		return
	}
	if first.Reports > 0 {
		fmt.Fprintf(a.Out, "%s attempt %d of plan %.8s: one of %d shuffled reports, random with probability %.4g\n",
			rounds, first.Attempt, first.Plan, first.Reports, first.Gamma)
		return
	}
	unit := math.Ldexp(1, -int(first.FracBits))
	fmt.Fprintf(a.Out, "%s attempt %d of plan %.8s: sensitivity %.4g, hidden noise %.4g\n",
		rounds, first.Attempt, first.Plan, float64(first.Sensitivity)*unit, first.NoiseStd*unit)
}

func (a *App) budgetReset() *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use: "reset STORE --reason TEXT", Short: "Record that the charges so far no longer concern the data",
		Example: "  choir budget reset hospital-a/store.db --reason 'the records were deleted'",
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if reason == "" {
				return protocol.Fail(protocol.ClassInput, "--reason: a reset needs a reason")
			}
			return member.ResetSpending(args[0], reason)
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "reason, which stays readable in the chain")
	return cmd
}
