package cli

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"choir/internal/atomicfile"
	"choir/protocol"
	"choir/session/member"
	"choir/session/terms"
)

func (a *App) plan(more ...*cobra.Command) *cobra.Command {
	verbs := []*cobra.Command{a.planNew(), a.planShow(), a.planSign(), a.planMerge(), a.planCheck()}
	return Group("plan", "Make, show, sign and check plans", append(verbs, more...)...)
}

const planNewLong = `Make a plan from the members' cards and the terms.

With --after it is a successor: it goes on from where another plan's session
stopped, with the same method, model, factors and ledgers, and other members,
rounds or lifetime. --after is the folder of the predecessor's results, whose
transcript is verified, or the store of a party or of the aggregator. The model
goes to PLAN.origin, for members whose store does not have it.`

func (a *App) planNew() *cobra.Command {
	var config, out, after, of string
	format := "text"
	cmd := &cobra.Command{
		Use: "new --config FILE --out PLAN", Short: "Make a plan from the members' cards and the terms",
		Long: planNewLong, Args: cobra.NoArgs,
		Example: "  choir plan new --config plan.toml --out plan.choir\n" +
			"  choir plan new --config next.toml --after result --out next.choir",
		RunE: func(*cobra.Command, []string) error {
			if err := CheckFormat(format); err != nil {
				return err
			}
			if config == "" || out == "" {
				return protocol.Fail(protocol.ClassInput, "--config, --out: both are needed")
			}
			p, origin, err := a.newPlan(config, after, of)
			if err != nil {
				return err
			}
			if old, err := terms.ReadPlan(out); err == nil && len(old.Accepts) > 0 {
				return protocol.Fail(protocol.ClassInput,
					"out: %s holds plan %s, which %d members have signed; remove it, or name another file",
					out, old.Plan.ID().Short(), len(old.Accepts))
			}
			sp := &protocol.SignedPlan{Plan: p}
			if err := writePlan(out, sp); err != nil {
				return err
			}
			if origin != nil {
				if err := atomicfile.WriteFile(out+".origin", protocol.MarshalOrigin(origin)); err != nil {
					return err
				}
			}
			return a.showPlan(format, sp)
		},
	}
	cmd.Flags().StringVar(&config, "config", "", "TOML file with cards and terms")
	cmd.Flags().StringVar(&out, "out", "", "plan file to write")
	cmd.Flags().StringVar(&after, "after", "", "predecessor's result folder, or a member's store")
	cmd.Flags().StringVar(&of, "after-plan", "",
		"beginning of the predecessor's id, for a store of several plans")
	FilesOf(cmd, "toml", "config")
	FormatFlag(cmd, &format)
	return cmd
}

// newPlan makes a plan, and for a successor the model that it begins with.
func (a *App) newPlan(config, after, of string) (*protocol.Plan, *protocol.Origin, error) {
	if after == "" {
		p, err := terms.NewPlan(config, time.Now())
		return p, nil, err
	}
	s, err := member.SuccessionOf(after, of)
	if err != nil {
		return nil, nil, err
	}
	p, err := terms.NewSuccessor(config, time.Now(), s.After)
	if err == nil && s.Unconfirmed {
		Wrap(a.Err, "warning: ", fmt.Sprintf("round %d of plan %s is not confirmed: %s lacks a node's signature "+
			"on its sum, so that the aggregator and another node may have made it up, unless the plan has audit. "+
			"A party that has settled the round compares the model with its own, others can't: name the store of "+
			"such a party with --after, or start the aggregator again under the old plan until all nodes have signed",
			s.After.Round, s.Signed.Plan.ID().Short(), after))
	}
	return p, s.Origin, err
}

func (a *App) planShow() *cobra.Command {
	format := "text"
	cmd := &cobra.Command{
		Use: "show PLAN", Short: "Show the terms of a plan and its signatures",
		Example: "  choir plan show plan.choir\n  choir plan show plan.choir --format json",
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			sp, err := terms.ReadPlan(args[0])
			if err != nil {
				return err
			}
			return a.showPlan(format, sp)
		},
	}
	FormatFlag(cmd, &format)
	return cmd
}

func (a *App) planMerge() *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use: "merge PLAN PLAN... --out PLAN", Short: "Merge the signatures of several copies of a plan",
		Example: "  choir plan merge a.choir b.choir --out plan.choir", Args: cobra.MinimumNArgs(2),
		RunE: func(_ *cobra.Command, args []string) error {
			if out == "" {
				return protocol.Fail(protocol.ClassInput, "out: name a file")
			}
			sp, err := terms.MergePlans(args)
			if err != nil {
				return err
			}
			if err := writePlan(out, sp); err != nil {
				return err
			}
			fmt.Fprintf(a.Out, "%d of %d members have signed\n", len(sp.Accepts), len(sp.Plan.Members))
			return nil
		},
	}
	cmd.Flags().StringVar(&out, "out", "", "plan file to write")
	return cmd
}

const planCheckLong = `Check a plan and show its guarantees: the epsilon at the plan's delta for one
record and for a whole party, by who colludes and who drops out; the cost of a
round; and the noise, compared with a trusted aggregator's.

The table has the adversaries that the plan protects against, and the first
stronger one of each kind. --all shows every adversary, --wide every column.`

func (a *App) planCheck() *cobra.Command {
	format, plot, all, wide := "text", "", false, false
	cmd := &cobra.Command{
		Use:     "check PLAN",
		Short:   "Check that a plan is consistent, signed by all and hasn't expired",
		Long:    planCheckLong,
		Example: "  choir plan check plan.choir\n  choir plan check plan.choir --all --wide",
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			sp, err := terms.ReadPlan(args[0])
			if err != nil {
				return err
			}
			if err := terms.CheckPlan(sp.Plan); err != nil {
				return err
			}
			g, err := terms.GuaranteesOf(sp.Plan)
			if err != nil {
				return err
			}
			if plot != "" {
				if err := a.Plot(sp.Plan, plot); err != nil {
					return err
				}
			}
			if err := a.Print(format, g, func() { printGuarantees(a.Out, g, all, wide) }); err != nil {
				return err
			}
			if err := sp.Complete(time.Now()); err != nil {
				return err
			}
			if format == "text" {
				fmt.Fprintf(a.Out, "plan %s:\nsigned by all %d members, valid until %s\n",
					sp.Plan.ID(), len(sp.Plan.Members), time.Unix(sp.Plan.NotAfter, 0).UTC().Format(time.RFC3339))
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&plot, "plot", "",
		"write the curve of the noise's overhead to this path, .svg and .png")
	cmd.Flags().BoolVar(&all, "all", false, "show every adversary")
	WideFlag(cmd, &wide)
	FormatFlag(cmd, &format)
	return cmd
}

func writePlan(path string, sp *protocol.SignedPlan) error {
	text, err := sp.MarshalText()
	if err != nil {
		return err
	}
	return atomicfile.WriteFile(path, text)
}
