package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"choir/internal/atomicfile"
	"choir/protocol"
	"choir/protocol/verify"
	"choir/session/member"
	"choir/session/result"
)

// verdict is what choir verify prints.
type verdict struct {
	SchemaVersion int              `json:"schema_version"`
	Plan          string           `json:"plan"`
	Rounds        int              `json:"rounds"`
	Completed     bool             `json:"completed"`
	Aborted       string           `json:"aborted,omitempty"`
	Fault         string           `json:"fault,omitempty"` // in the attempt in which the session ended
	Stopped       bool             `json:"stopped"`         // the record ends before the session does
	Unconfirmed   bool             `json:"unconfirmed"`     // a node's signature on the last sum is missing
	Releases      int              `json:"releases"`
	Audited       bool             `json:"audited"`
	Epsilon       *float64         `json:"epsilon"` // null when the plan claims none
	Delta         *float64         `json:"delta"`
	Attempts      []attemptVerdict `json:"attempts"`
	After         string           `json:"after,omitempty"`  // id of the predecessor
	Before        *verdict         `json:"before,omitempty"` // the predecessor's, if its record is here
	// Unchecked names the files of the folder that the transcript does not determine.
	Unchecked []string `json:"unchecked,omitempty"`

	mixed bool // a mix-net carried reports
}

type attemptVerdict struct {
	Round   uint32   `json:"round"`
	Attempt uint32   `json:"attempt"`
	Outcome string   `json:"outcome"`
	Set     []string `json:"set"`
}

func (a *App) Verify() *cobra.Command {
	format, store := "text", ""
	verbose := false
	cmd := &cobra.Command{
		Use:   "verify DIR",
		Short: "Check a session's transcript offline",
		Long: `Check, from the signed plan and the transcript in DIR alone, everything that the
protocol promises about a session: signatures, set agreement, partial sums,
results, models and charges. A successor plan's transcript is checked with its
predecessors', as far as they are there, and the model's files in DIR with the
transcript. Other files in DIR, such as scores on test data, are not checked and
are named. With --store, also that the aggregator signed the same results for
the party whose store it is. Exits with 7 and the cause when anything was
altered.`,
		Example: "  choir verify result\n  choir verify result --store store.db\n" +
			"  choir verify result --format json",
		Args: cobra.ExactArgs(1), ValidArgsFunction: folderArgs,
		RunE: func(_ *cobra.Command, args []string) error {
			r, err := result.VerifyFolder(args[0])
			if errors.Is(err, fs.ErrNotExist) {
				return WithHint(err, "name "+resultFolder(args[0]))
			}
			if err != nil {
				return err
			}
			if store != "" {
				proofs, err := member.ResultProofs(store, result.PlanPath(args[0]))
				if err != nil {
					return err
				}
				if err := verify.Proofs(r, proofs); err != nil {
					return err
				}
			}
			v := verdictOf(r)
			if v.Unchecked, err = result.Unchecked(args[0]); err != nil {
				return err
			}
			return a.Print(format, v, func() { a.verified(v, verbose) })
		},
	}
	cmd.Flags().BoolVarP(&verbose, "verbose", "v", false, "list every round and the parties that it counts")
	FormatFlag(cmd, &format)
	cmd.Flags().StringVar(&store, "store", "", "party's store, whose results are compared with the transcript's")
	return cmd
}

func verdictOf(r *verify.Report) verdict {
	v := verdict{
		SchemaVersion: 1,
		Plan:          r.Plan.String(),
		Rounds:        r.Rounds(),
		Completed:     r.Completed(),
		Aborted:       r.Aborted,
		Fault:         r.Fault,
		Stopped:       r.Stopped,
		Unconfirmed:   r.Unconfirmed,
		Releases:      r.Releases,
		Audited:       r.Audited,
		Attempts:      []attemptVerdict{},
		mixed:         r.Mixed(),
	}
	if id, ok := r.After(); ok {
		v.After = id.String()
	}
	if r.Before != nil {
		before := verdictOf(r.Before)
		v.Before = &before
	}
	if r.Claimed {
		v.Epsilon, v.Delta = &r.Epsilon, &r.Delta
	}
	for _, t := range r.Attempts {
		set := t.Set
		if set == nil {
			set = []string{}
		}
		v.Attempts = append(v.Attempts, attemptVerdict{t.Round, t.Attempt, outcomeName(t.Outcome), set})
	}
	return v
}

func outcomeName(o protocol.Outcome) string {
	if o == 0 {
		return "open"
	}
	return o.String()
}

func (a *App) verified(v verdict, verbose bool) {
	if v.Before != nil {
		a.verified(*v.Before, verbose)
		what := "model"
		if v.Before.Unconfirmed {
			what = "unconfirmed model"
		}
		fmt.Fprintf(a.Out, "\nits successor, from the %s after round %d on:\n", what, v.Before.Rounds)
	} else if v.After != "" {
		fmt.Fprintf(a.Out, "goes on from plan %s, whose transcript is not here\n", v.After[:16])
	}
	what := "set, sum, result and model"
	if v.mixed {
		what = "list, report and result"
	}
	fmt.Fprintf(a.Out, "plan %s:\nevery signature, %s holds\n", v.Plan, what)
	if verbose {
		a.listAttempts(v.Attempts)
	} else {
		a.countAttempts(v.Attempts)
	}
	switch {
	case v.Aborted != "":
		fmt.Fprintf(a.Out, "ended early: %s\n", v.Aborted)
	case v.Stopped:
		fmt.Fprintf(a.Out, "stopped after %s: the record ends there, before the session does\n",
			plural(v.Rounds, "round", "rounds"))
	case v.Completed:
		fmt.Fprintf(a.Out, "completed, %d rounds\n", v.Rounds)
	}
	if v.Fault != "" {
		Wrap(a.Out, "fault: ", "what members signed in the attempt that is open contradicts itself, "+v.Fault)
	}
	if v.Unconfirmed {
		fmt.Fprintln(a.Out, "the last sum is not confirmed: the record lacks a node's signature on it")
		if !v.Audited {
			fmt.Fprintln(a.Out, "so the aggregator and another node may have made that sum up")
		}
	}
	if v.Epsilon != nil {
		fmt.Fprintf(a.Out, "charged: epsilon %.6g at delta %g\n", *v.Epsilon, *v.Delta)
	}
	if v.Audited {
		fmt.Fprintln(a.Out, "audited: every sum with a result opens the parties' commitments")
	}
	a.unchecked(v.Unchecked)
}

// unchecked names the first files of the folder for which the verdict does not hold.
func (a *App) unchecked(names []string) {
	const most = 20
	if n := len(names); n > most {
		names = append(slices.Clone(names[:most]), fmt.Sprintf("and %d more", n-most))
	}
	if len(names) > 0 {
		Wrap(a.Out, "not checked: ", strings.Join(names, ", "))
	}
}

func (a *App) listAttempts(all []attemptVerdict) {
	for _, t := range all {
		head := fmt.Sprintf("round %d attempt %d: ", t.Round, t.Attempt)
		Wrap(a.Out, head, fmt.Sprintf("%s, %s: %s", t.Outcome, plural(len(t.Set), "party", "parties"),
			strings.Join(t.Set, " ")))
	}
}

// countAttempts prints how many attempts ended in the same way, with so many parties.
func (a *App) countAttempts(all []attemptVerdict) {
	count := map[string]int{}
	var order []string
	for _, t := range all {
		key := fmt.Sprintf("%s, with %s each", t.Outcome, plural(len(t.Set), "party", "parties"))
		if count[key] == 0 {
			order = append(order, key)
		}
		count[key]++
	}
	for _, key := range order {
		fmt.Fprintf(a.Out, "%s %s\n", plural(count[key], "attempt", "attempts"), key)
	}
}

func (a *App) receipt() *cobra.Command {
	return Group("receipt", "Show and check the proof that a party was counted", a.receiptShow(),
		a.receiptVerify())
}

func (a *App) receiptShow() *cobra.Command {
	var plan, out string
	var round, attempt uint32
	cmd := &cobra.Command{
		Use: "show STORE --plan PLAN --round R --out FILE", Short: "Export a round's receipts from a party's store",
		Example: "  choir receipt show store.db --plan plan.choir --round 3 --out r.bin", Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if plan == "" {
				return protocol.Fail(protocol.ClassInput, "--plan: name the signed plan")
			}
			got, err := member.Receipts(args[0], plan, round, attempt)
			if err != nil {
				return err
			}
			if err := atomicfile.WriteFile(out, protocol.MarshalTranscript(got)); err != nil {
				return err
			}
			fmt.Fprintf(a.Out, "%d receipts of round %d in %s\n", len(got), round, out)
			return nil
		},
	}
	cmd.Flags().StringVar(&plan, "plan", "", "signed plan")
	cmd.Flags().Uint32Var(&round, "round", 1, "round")
	cmd.Flags().Uint32Var(&attempt, "attempt", 0, "attempt; 0: the last that has receipts")
	cmd.Flags().StringVar(&out, "out", "receipts.bin", "file to write")
	return cmd
}

func (a *App) receiptVerify() *cobra.Command {
	format := "text"
	cmd := &cobra.Command{
		Use: "verify RECEIPTS DIR", Short: "Check receipts against a session's transcript",
		Example: "  choir receipt verify receipts.bin result", Args: cobra.ExactArgs(2),
		RunE: func(_ *cobra.Command, args []string) error {
			b, err := os.ReadFile(args[0])
			if err != nil {
				return protocol.Fail(protocol.ClassInput, "%w", err)
			}
			messages, err := protocol.UnmarshalTranscript(b)
			if err != nil {
				return protocol.Fail(protocol.ClassIntegrity, "receipts: %w", err)
			}
			r, err := result.VerifyFolder(args[1])
			if err != nil {
				return err
			}
			in, err := verify.Receipt(r, messages)
			if err != nil {
				return err
			}
			return a.printInclusion(format, in)
		},
	}
	FormatFlag(cmd, &format)
	return cmd
}

// inclusion is what choir receipt verify prints.
type inclusion struct {
	SchemaVersion int      `json:"schema_version"`
	Party         string   `json:"party"`
	Round         uint32   `json:"round"`
	Attempt       uint32   `json:"attempt"`
	Nodes         []string `json:"nodes"`
	Outcome       string   `json:"outcome"`
	Counted       bool     `json:"counted"`
}

func (a *App) printInclusion(format string, in *verify.Inclusion) error {
	v := inclusion{SchemaVersion: 1, Party: in.Party, Round: in.Round, Attempt: in.Attempt, Nodes: in.Nodes,
		Outcome: outcomeName(in.Outcome), Counted: in.Counted}
	return a.Print(format, v, func() {
		verb := "was not counted"
		if v.Counted {
			verb = "was counted"
		}
		fmt.Fprintf(a.Out, "%s %s in round %d attempt %d (%s); receipts of %s\n",
			v.Party, verb, v.Round, v.Attempt, v.Outcome, strings.Join(v.Nodes, ", "))
	})
}
