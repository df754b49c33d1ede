package cli

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"choir/crypto/identity"
	"choir/host"
	"choir/protocol"
	"choir/session/member"
	"choir/session/terms"
)

const planSignLong = `Check a plan and sign it as one of its members. --config is the member's file,
whose key, passphrase, data and store count unless a flag names others.

A party's data must fit the plan, and the ledger in its store must cover all of
the plan's attempts: within [budget] of the member's file. Without --config the
limit is the plan's own epsilon, and a ledger beyond it is a warning.`

func (a *App) planSign() *cobra.Command {
	var config, out string
	var f signFlags
	cmd := &cobra.Command{
		Use: "sign PLAN --key FILE --passphrase-file FILE", Short: "Check a plan and sign it as one of its members",
		Long: planSignLong,
		Example: "  choir plan sign plan.choir --key keys/hospital-a.key --passphrase-file pass\n" +
			"  choir plan sign plan.choir --config hospital-a.toml",
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if config != "" {
				c, err := member.LoadConfig(config, os.LookupEnv, nil)
				if err != nil {
					return err
				}
				f.from(c)
			}
			private, err := terms.ReadKey(f.key, f.passphrase)
			if err != nil {
				return err
			}
			if err := a.maySign(args[0], private.Public(), f); err != nil {
				return err
			}
			sp, err := terms.SignPlan(args[0], private, time.Now())
			if err != nil {
				return err
			}
			if err := writePlan(cmp.Or(out, args[0]), sp); err != nil {
				return err
			}
			fmt.Fprintf(a.Out, "signed %s; %d of %d members have signed\n",
				sp.Plan.ID().Short(), len(sp.Accepts), len(sp.Plan.Members))
			return nil
		},
	}
	cmd.Flags().StringVar(&config, "config", "", "TOML file of the member")
	cmd.Flags().StringVar(&out, "out", "", "plan file to write; default: PLAN")
	f.add(cmd, "file with the key's passphrase")
	FilesOf(cmd, "toml", "config")
	return cmd
}

// signFlags are what a member signs a plan with.
type signFlags struct {
	key, passphrase string
	data            string // a party's file, which is compared with the plan
	store           string // which a successor plan is bound to, and which has a party's ledger
	lost, replace   bool

	file *member.Config // nil: not known
}

func (f *signFlags) add(cmd *cobra.Command, passphrase string) {
	s := cmd.Flags()
	s.StringVar(&f.key, "key", "", "key file")
	s.StringVar(&f.passphrase, "passphrase-file", "", passphrase)
	s.StringVar(&f.data, "data", "", "a party's file, which must fit the plan before it is signed")
	s.StringVar(&f.store, "store", "", "this member's store: a party's ledger must cover the plan, and a "+
		"successor plan is bound to it")
	s.BoolVar(&f.lost, "lost-store", false, "successor plan: a node's or aggregator's store is lost")
	s.BoolVar(&f.replace, "replace", false, "successor plan: in the place of another that was only signed")
	FilesOf(cmd, "key", "key")
	FilesOf(cmd, "csv", "data")
}

// from fills in what the flags leave open.
func (f *signFlags) from(c *member.Config) {
	f.file = c
	f.key = cmp.Or(f.key, c.KeyFile)
	f.passphrase = cmp.Or(f.passphrase, c.PassphraseFile)
	f.data = cmp.Or(f.data, c.DataFile)
	if _, err := os.Stat(c.StoreFile); err == nil && f.store == "" && !f.lost {
		f.store = c.StoreFile
	}
}

// maySign compares a plan that is to be signed with the party's data and ledger and, under a successor, with
// the member's store, which is bound to it.
func (a *App) maySign(plan string, own identity.PublicKey, f signFlags) error {
	sp, err := terms.ReadPlan(plan)
	if err != nil {
		return err
	}
	c := member.Config{}
	if f.file != nil {
		c = *f.file
	}
	c.DataFile, c.StoreFile = f.data, f.store
	if f.data != "" {
		if err := member.CheckData(sp.Plan, &c); err != nil {
			return fmt.Errorf("%w: nothing was signed", err)
		}
	}
	switch err := member.CheckBudget(sp.Plan, own, &c); {
	case err == nil:
	case errors.Is(err, host.ErrLocked) && sp.Plan.After == nil:
		Wrap(a.Err, "warning: ", fmt.Sprintf("the party's ledger was not compared with the plan: %v. choir serve "+
			"tells what a proposed plan charges, and choir preflight does when that process has ended", err))
	case protocol.ClassOf(err) == protocol.ClassBudget && f.file == nil:
		Wrap(a.Err, "warning: ", fmt.Sprintf("this party will not take part in what it signs: %v. If its file "+
			"has a [budget] that allows more, name the file with --config", err))
	default:
		return fmt.Errorf("%w: nothing was signed", err)
	}
	return member.CheckSuccessor(plan, own, f.store, f.lost, f.replace)
}
