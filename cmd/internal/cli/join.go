package cli

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"choir/protocol"
	"choir/session/terms"
)

// pollEvery is the time between two looks into a consortium's folder.
const pollEvery = time.Second

const inviteLong = `Propose a plan in a consortium's folder, which all sites can read and write. DIR
has plan.toml with the terms, whose cards are "cards/<name>.card" for each
member. When the cards of all members are there, invite makes DIR/plan.choir and
prints its fingerprint, which the sites compare over another way before each
approves with "choir join". Until then it names the missing ones, or waits.`

func (a *App) invite() *cobra.Command {
	var wait time.Duration
	cmd := &cobra.Command{
		Use: "invite DIR", Short: "Propose a plan to the sites of a consortium", Long: inviteLong,
		Args: cobra.ExactArgs(1), ValidArgsFunction: folderArgs,
		Example: "  choir invite /mnt/consortium --wait 48h",
	}
	cmd.Flags().DurationVar(&wait, "wait", 0, "time to wait for the members' cards")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		folder := terms.Consortium(args[0])
		return a.poll(cmd.Context(), wait, func() (waitingFor string, err error) {
			plan, missing, err := folder.Propose(time.Now())
			if err != nil || len(missing) > 0 {
				return "the cards of " + strings.Join(missing, ", "), err
			}
			a.printProposal(args[0], plan)
			return "", nil
		})
	}
	return cmd
}

const joinLong = `Join a consortium through its folder, which all sites can read and write. The
first time it publishes this member's card there. When a plan is proposed it
shows the plan's fingerprint: compare it with the other sites over another way,
by telephone say, and read the plan (choir plan show, choir plan check). With
--approve FINGERPRINT it signs the plan, if it is that one, and publishes the
signature. When all members have signed it writes the signed plan to --out.`

// joinFlags are the flags of join.
type joinFlags struct {
	key, card, passphrase, approve, data, out string
	wait                                      time.Duration
}

func (a *App) join() *cobra.Command {
	var f joinFlags
	cmd := &cobra.Command{
		Use: "join DIR --key FILE", Short: "Publish a card, approve the plan, get it signed by all",
		Long: joinLong, Args: cobra.ExactArgs(1), ValidArgsFunction: folderArgs,
		Example: "  choir join /mnt/consortium --key keys/hospital-a.key\n" +
			"  choir join share --key a.key --passphrase-file pass --approve 'FINGERPRINT'",
	}
	s := cmd.Flags()
	s.StringVar(&f.key, "key", "", "key file")
	s.StringVar(&f.card, "card", "", "card (default: beside the key)")
	s.StringVar(&f.passphrase, "passphrase-file", "", "file with the key's passphrase, for --approve")
	s.StringVar(&f.approve, "approve", "", "fingerprint of the plan that this site approves")
	dataFlag(cmd, &f.data)
	s.StringVar(&f.out, "out", "signed.choir", "file for the plan that all have signed")
	s.DurationVar(&f.wait, "wait", 0, "time to wait for the plan, or for the others' signatures")
	must(cmd.MarkFlagRequired("key"))
	FilesOf(cmd, "key", "key")
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return a.joinFolder(cmd.Context(), args[0], f) }
	return cmd
}

func (a *App) joinFolder(ctx context.Context, dir string, f joinFlags) error {
	folder := terms.Consortium(dir)
	if f.card == "" {
		f.card = strings.TrimSuffix(f.key, ".key") + ".card"
	}
	card, err := folder.AddCard(f.card, time.Now())
	if err != nil {
		return err
	}
	fmt.Fprintf(a.Out, "the card of %s is in %s\n", card.Name, dir)
	if f.approve != "" {
		if err := a.approve(dir, f); err != nil {
			return err
		}
	}
	warned := map[string]bool{}
	return a.poll(ctx, f.wait, func() (string, error) {
		plan, err := folder.Proposed()
		if err != nil || plan == nil {
			return "a proposed plan", err
		}
		if f.approve == "" {
			a.printProposal(dir, plan)
			return "", nil
		}
		plan, odd, err := folder.Collect()
		if err != nil {
			return "", err
		}
		for _, text := range odd {
			if !warned[text] {
				fmt.Fprintf(a.Err, "left out: %s\n", text)
			}
			warned[text] = true
		}
		if missing := plan.Missing(); len(missing) > 0 {
			return "the signatures of " + strings.Join(missing, ", "), nil
		}
		if err := writePlan(f.out, plan); err != nil {
			return "", err
		}
		fmt.Fprintf(a.Out, "all %d members have signed: %s\n", len(plan.Plan.Members), f.out)
		return "", nil
	})
}

// approve signs the proposed plan if it is the approved one and the party's data fit it.
func (a *App) approve(dir string, f joinFlags) error {
	if f.passphrase == "" {
		return protocol.Fail(protocol.ClassInput, "--passphrase-file: --approve needs the key")
	}
	if err := checkData(filepath.Join(dir, "plan.choir"), f.data); err != nil {
		return err
	}
	if err := terms.Consortium(dir).Approve(f.approve, f.key, f.passphrase, time.Now()); err != nil {
		return err
	}
	fmt.Fprintln(a.Out, "the plan is signed")
	return nil
}

func (a *App) printProposal(dir string, plan *protocol.SignedPlan) {
	p := plan.Plan
	fmt.Fprintf(a.Out, "%s: %d parties, %d compute nodes, %d rounds of %s",
		p.Name, p.Parties(), p.Computes(), p.Rounds, p.Application)
	if p.Epsilon > 0 {
		fmt.Fprintf(a.Out, ", epsilon %g at delta %g", p.Epsilon, p.Delta)
	}
	fmt.Fprintf(a.Out, "\nfingerprint: %s\n", terms.Fingerprint(p.ID()))
	fmt.Fprintf(a.Out, "read it with: %s plan check %s/plan.choir\n", a.name, dir)
}

// poll calls f until it waits for nothing any more, for a limited time.
func (a *App) poll(ctx context.Context, limit time.Duration, f func() (waitingFor string, err error)) error {
	said := ""
	for begun := time.Now(); ; {
		what, err := f()
		if err != nil || what == "" {
			return err
		}
		if what != said {
			said = what
			fmt.Fprintf(a.Out, "waiting for %s\n", what)
		}
		if time.Since(begun) >= limit {
			if limit == 0 {
				return nil
			}
			return protocol.Fail(protocol.ClassTimeout, "still waiting for %s after %s", what, limit)
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(pollEvery):
		}
	}
}
