package cli

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"choir/crypto/identity"
	"choir/internal/atomicfile"
	"choir/protocol"
	"choir/session/member"
	"choir/session/terms"
)

// pollEvery is the time between two looks into a consortium's folder.
const pollEvery = time.Second

const inviteLong = `Propose a plan to the sites of a consortium. DIR has plan.toml with the terms,
whose cards are "cards/<name>.card" for each member. When the cards of all
members are there, invite makes DIR/plan.choir and prints its fingerprint, which
the sites compare over another way before each approves with "choir join". Until
then it names the missing ones, or waits.

DIR is a folder that all sites can read and write, such as a file share. With
--config it is this site's own copy, and cards, plans and signatures are
published and collected through the broker of that file, in the room --room.

With --after the plan is a successor: see "choir plan new".`

// inviteFlags are the flags of invite.
type inviteFlags struct {
	roomFlags
	after, of, origin string
	wait              time.Duration
}

func (a *App) invite() *cobra.Command {
	var f inviteFlags
	cmd := &cobra.Command{
		Use: "invite DIR", Short: "Propose a plan to the sites of a consortium", Long: inviteLong,
		Args: cobra.ExactArgs(1), ValidArgsFunction: folderArgs,
		Example: "  choir invite /mnt/consortium --wait 48h\n" +
			"  choir invite lungs --config coordinator.toml --wait 48h",
	}
	s := cmd.Flags()
	f.add(cmd)
	s.DurationVar(&f.wait, "wait", 0, "time to wait for the members' cards")
	s.StringVar(&f.after, "after", "", "successor plan: predecessor's result folder, or a member's store")
	s.StringVar(&f.of, "after-plan", "", "beginning of the predecessor's id, for a store of several plans")
	s.StringVar(&f.origin, "origin", "",
		"successor plan: file for the model that it begins with, which nobody but parties and the "+
			"aggregator should have")
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return a.inviteTo(cmd.Context(), args[0], f) }
	return cmd
}

func (a *App) inviteTo(ctx context.Context, dir string, f inviteFlags) error {
	folder := terms.Consortium(dir)
	var before *protocol.Predecessor
	if f.after != "" {
		s, err := member.SuccessionOf(f.after, f.of)
		if err != nil {
			return err
		}
		before = s.After
		if f.origin != "" {
			if err := atomicfile.WriteFile(f.origin, protocol.MarshalOrigin(s.Origin)); err != nil {
				return err
			}
		}
	}
	x, err := a.openRoom(ctx, folder, &f.roomFlags, identity.PublicKey{})
	if err != nil {
		return err
	}
	defer x.close()
	return a.poll(ctx, f.wait, func() (waitingFor string, err error) {
		if err := x.sync(ctx, ""); err != nil {
			return "", err
		}
		plan, missing, err := folder.Propose(time.Now(), before)
		if err != nil || len(missing) > 0 {
			return "the cards of " + strings.Join(missing, ", "), err
		}
		if err := x.sync(ctx, ""); err != nil {
			return "", err
		}
		a.printProposal(dir, plan)
		return "", nil
	})
}

const joinLong = `Join a consortium through its folder, which all sites can read and write. The
first time it publishes this member's card there. When a plan is proposed it
shows the plan's fingerprint: compare it with the other sites over another way,
by telephone say, and read the plan (choir plan show, choir plan check). With
--approve FINGERPRINT it signs the plan, if it is that one, and publishes the
signature. When all members have signed it writes the signed plan to --out.

With --config, the member's file, DIR is this site's own copy of the folder,
and what is published goes through the broker of that file, in the room --room:
all sites give the same name. The key, the passphrase, the data and --out are
then those of the file unless a flag names others.

A member that was in the plan that a successor goes on from names its store
with --store, or --config does: see "choir plan sign".`

// joinFlags are the flags of join.
type joinFlags struct {
	roomFlags
	signFlags
	card, approve, out string
	wait               time.Duration
}

func (a *App) join() *cobra.Command {
	var f joinFlags
	cmd := &cobra.Command{
		Use: "join DIR --key FILE", Short: "Publish a card, approve the plan, get it signed by all",
		Long: joinLong, Args: cobra.ExactArgs(1), ValidArgsFunction: folderArgs,
		Example: "  choir join /mnt/consortium --key keys/hospital-a.key\n" +
			"  choir join lungs --config hospital-a.toml\n" +
			"  choir join share --key a.key --passphrase-file pass --approve 'FINGERPRINT'",
	}
	s := cmd.Flags()
	f.roomFlags.add(cmd)
	f.signFlags.add(cmd, "file with the key's passphrase, for --approve")
	s.StringVar(&f.card, "card", "", "card (default: beside the key)")
	s.StringVar(&f.approve, "approve", "", "fingerprint of the plan that this site approves")
	s.StringVar(&f.out, "out", "", "file for the plan that all have signed (default signed.choir)")
	s.DurationVar(&f.wait, "wait", 0, "time to wait for the plan, or for the others' signatures")
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return a.joinFolder(cmd.Context(), args[0], f) }
	return cmd
}

// complete fills in what the flags leave open.
func (f *joinFlags) complete() error {
	c, err := f.load()
	if err != nil {
		return err
	}
	if f.roomFlags.config != "" {
		f.from(c)
	}
	if f.key == "" {
		return protocol.Fail(protocol.ClassInput, "--key: name this member's key file, or --config")
	}
	c.KeyFile = f.key
	f.card = cmp.Or(f.card, c.CardFile, strings.TrimSuffix(f.key, ".key")+".card")
	f.out = cmp.Or(f.out, c.PlanFile, "signed.choir")
	return nil
}

func (a *App) joinFolder(ctx context.Context, dir string, f joinFlags) error {
	if err := f.complete(); err != nil {
		return err
	}
	folder := terms.Consortium(dir)
	own, err := terms.ReadCard(f.card, time.Now())
	if err != nil {
		return err
	}
	x, err := a.openRoom(ctx, folder, &f.roomFlags, own.Key)
	if err != nil {
		return err
	}
	defer x.close()
	card, err := folder.AddCard(f.card, time.Now())
	if err != nil {
		return err
	}
	if err := x.sync(ctx, f.approve); err != nil {
		return err
	}
	fmt.Fprintf(a.Out, "the card of %s is in %s\n", card.Name, dir)
	if f.approve != "" {
		if err := a.approve(dir, f, own.Key); err != nil {
			return err
		}
	}
	warned := map[string]bool{}
	return a.poll(ctx, f.wait, func() (string, error) {
		if err := x.sync(ctx, f.approve); err != nil {
			return "", err
		}
		return a.joined(dir, f, warned)
	})
}

// joined shows the proposed plan, or writes the signed one; it returns what is still missing.
func (a *App) joined(dir string, f joinFlags, warned map[string]bool) (waitingFor string, err error) {
	folder := terms.Consortium(dir)
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
	a.leftOut(odd, warned)
	if missing := plan.Missing(); len(missing) > 0 {
		return "the signatures of " + strings.Join(missing, ", "), nil
	}
	if err := writePlan(f.out, plan); err != nil {
		return "", err
	}
	fmt.Fprintf(a.Out, "all %d members have signed: %s\n", len(plan.Plan.Members), f.out)
	return "", nil
}

// leftOut prints each text once.
func (a *App) leftOut(odd []string, warned map[string]bool) {
	for _, text := range odd {
		if !warned[text] {
			fmt.Fprintf(a.Err, "left out: %s\n", text)
		}
		warned[text] = true
	}
}

// approve signs the proposed plan if it is the approved one, the party's data fit it and, under a
// successor, so does the store.
func (a *App) approve(dir string, f joinFlags, own identity.PublicKey) error {
	if f.passphrase == "" {
		return protocol.Fail(protocol.ClassInput, "--passphrase-file: --approve needs the key")
	}
	folder, plan := terms.Consortium(dir), filepath.Join(dir, "plan.choir")
	if err := folder.Check(f.approve); err != nil {
		return err
	}
	if folder.Signed(own) {
		fmt.Fprintln(a.Out, "the plan is signed already")
		return nil
	}
	key, err := terms.ReadKey(f.key, f.passphrase)
	if err != nil {
		return err
	}
	if err := a.maySign(plan, key.Public(), f.signFlags); err != nil {
		return err
	}
	if err := folder.Approve(f.approve, key, time.Now()); err != nil {
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
