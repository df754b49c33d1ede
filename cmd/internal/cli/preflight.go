package cli

import (
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"choir/protocol"
	"choir/session/member"
)

const preflightLong = `Check a member before its session and print one page of what is right and wrong,
each with a remedy: the plan with its signatures, key and card, configuration,
data against the schema, store and ledger, disk, clock, and at the broker
credentials, TLS, the stream's settings and what this member may read and
publish. Nothing is stored at the broker. Exits with 4 if anything is wrong.`

func (a *App) preflight() *cobra.Command {
	var config string
	format := "text"
	cmd := &cobra.Command{
		Use: "preflight --config FILE", Short: "Check everything that a member needs, with a remedy for each",
		Long: preflightLong, Args: cobra.NoArgs,
		Example: "  choir preflight --config hospital-a.toml",
	}
	cmd.Flags().StringVar(&config, "config", "", "TOML file of the member")
	FilesOf(cmd, "toml", "config")
	given := settingFlags(cmd, "")
	FormatFlag(cmd, &format)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := CheckFormat(format); err != nil {
			return err
		}
		c, err := member.LoadConfig(config, os.LookupEnv, given())
		if err != nil {
			return err
		}
		p := member.RunPreflight(cmd.Context(), c, time.Now())
		if err := a.Print(format, p, func() { a.printPreflight(p) }); err != nil || p.Right {
			return err
		}
		var wrong []string
		for _, check := range p.Checks {
			if check.Verdict == member.Wrong {
				wrong = append(wrong, check.Name)
			}
		}
		return protocol.Fail(protocol.ClassInput, "wrong: %s", strings.Join(wrong, ", "))
	}
	return cmd
}

func (a *App) printPreflight(p *member.Preflight) {
	if p.Member != "" {
		fmt.Fprintf(a.Out, "%s (%s), plan %.16s\n", p.Member, p.Role, p.Plan)
	}
	for _, c := range p.Checks {
		Wrap(a.Out, fmt.Sprintf("%-8s %-14s", c.Verdict, c.Name), c.Detail)
		if c.Verdict != member.Right && c.Remedy != "" {
			Wrap(a.Out, strings.Repeat(" ", 23)+"->", c.Remedy)
		}
	}
}
