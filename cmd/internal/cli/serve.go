package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"choir/protocol"
	"choir/session/app"
	"choir/session/member"
	"choir/session/terms"
)

const serveLong = `Run a site's member for as long as the consortium exists. DIR is the folder
that the sites share, or a folder of such folders, one a study. A folder that
was joined through the broker is kept in step with the others'. Serve prints
every proposed plan that waits for a person, with its fingerprint, the epsilon
for each adversary and what this site's ledger would have spent after it; so
do the page at station.listen and "choir session status" with the same
configuration. It runs the plans that are signed by all, one after the other,
oldest first, over the same store and so the same ledger. A person approves a
plan with "choir join DIR --approve". A local policy approves without asking:
plans of --allow applications, of an epsilon up to --max-epsilon at a delta up
to --max-delta, all of whose members have a card in --known. One that claims no
epsilon, as every sum, it approves under --max-epsilon inf alone.

The configuration is the member's without plan_file; results go to a folder a
plan below out_dir. A plan that is over is never run again, whatever restarts.
One that this site's files or budget refuse is left until serve starts again.`

func (a *App) serve() *cobra.Command {
	var config, known string
	var allow []string
	var epsilon, delta float64
	cmd := &cobra.Command{
		Use: "serve DIR --config FILE", Short: "Run a site's member under plan after plan of its consortium",
		Long: serveLong, Args: cobra.ExactArgs(1), ValidArgsFunction: folderArgs, Annotations: EndsByClosing(),
		Example: "  choir serve /mnt/consortium --config hospital-a.toml\n" +
			"  choir serve all --config a.toml --known cards --allow dp-pvi --max-epsilon 1",
	}
	s := cmd.Flags()
	s.StringVar(&config, "config", "", "TOML file of the member, without plan_file")
	s.StringVar(&known, "known", "", "folder with the cards of the members that the policy trusts")
	s.StringSliceVar(&allow, "allow", nil, "applications that the policy allows, such as dp-pvi or table")
	s.Float64Var(&epsilon, "max-epsilon", 0, "largest epsilon that the policy allows a plan")
	s.Float64Var(&delta, "max-delta", 1e-5, "largest delta that the policy allows a plan")
	FilesOf(cmd, "toml", "config")
	given := settingFlags(cmd, "")
	Folders(cmd, "known")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c, err := member.LoadConfig(config, os.LookupEnv, given())
		if err != nil {
			return err
		}
		log, err := a.logger(c)
		if err != nil {
			return err
		}
		service := &member.Service{Config: c, Folder: args[0], Log: log, Show: func(p *member.Proposal) {
			a.printProposed(p, c)
		}}
		if known != "" || len(allow) > 0 || epsilon != 0 || cmd.Flags().Changed("max-delta") {
			if service.Policy, err = policyOf(known, allow, epsilon, delta); err != nil {
				return err
			}
		}
		return service.Run(cmd.Context())
	}
	return cmd
}

// policyOf reads the cards that a policy trusts.
func policyOf(known string, allow []string, epsilon, delta float64) (*member.Policy, error) {
	if known == "" || len(allow) == 0 {
		return nil, protocol.Fail(protocol.ClassInput, "--known, --allow: a policy needs both")
	}
	for _, name := range allow {
		if names := app.Names(); !slices.Contains(names, name) {
			return nil, protocol.Fail(protocol.ClassInput, "--allow: %q is none of the applications %s", name,
				strings.Join(names, ", "))
		}
	}
	if !(epsilon >= 0) {
		return nil, protocol.Fail(protocol.ClassInput, "--max-epsilon: %g isn't 0 or more", epsilon)
	}
	if !(delta >= 0 && delta < 1) {
		return nil, protocol.Fail(protocol.ClassInput, "--max-delta: %g isn't in [0, 1)", delta)
	}
	files, err := filepath.Glob(filepath.Join(known, "*.card"))
	if err != nil || len(files) == 0 {
		return nil, protocol.Fail(protocol.ClassInput, "--known: %s has no cards", known)
	}
	p := &member.Policy{Epsilon: epsilon, Delta: delta, Applications: allow}
	for _, file := range files {
		card, err := terms.ReadCard(file, time.Now())
		if err != nil {
			return nil, err
		}
		p.Keys = append(p.Keys, card.Key)
	}
	return p, nil
}

// printProposed prints a plan that waits for a person at this site.
func (a *App) printProposed(p *member.Proposal, c *member.Config) {
	fmt.Fprintf(a.Out, "\n%s: %s\nplan %s in %s\n", printable(p.Name), p.Terms, p.Plan, p.Folder)
	fmt.Fprintf(a.Out, "waits for a person here: %s\n\n", printable(p.Why))
	if len(p.Layers) > 0 {
		fmt.Fprintf(a.Out, "epsilon at delta %g over all rounds, by adversary (* is promised)\n", p.Delta)
		narrowLayers(a.Out, p.Layers)
	}
	if p.Charge != nil {
		Wrap(a.Out, "ledger here: ", p.Charge.String())
	}
	fmt.Fprintf(a.Out, "fingerprint: %s\nread it with: %s plan check %s\n", p.Fingerprint, a.name,
		filepath.Join(p.Folder, "plan.choir"))
	fmt.Fprintf(a.Out, "approve it with: %s join %s %s --approve '%s'\n", a.name, p.Folder,
		p.With(c.KeyFile), p.Fingerprint)
}
