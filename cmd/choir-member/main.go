// Command choir-member runs one member of a plan, and has the tools that a
// member needs: keys, invitations, schemas, plans, receipts, its privacy ledger and
// store, a view of a session, verification, and what results have: a model's
// coefficients and statistics. It is choir without demonstrations, experiments,
// benchmarks and the embedded broker: a deployment has less code to trust.
package main

import (
	"os"

	"github.com/spf13/cobra"

	"choir/cmd/internal/cli"
)

func main() { os.Exit(cli.Run(root)) }

func root(a *cli.App) *cobra.Command {
	return a.RootCommand("choir-member", "Run one member of a Choir session",
		cli.VerbGroup{ID: "member", Title: "Run a member:", Commands: a.MemberVerbs()},
		cli.VerbGroup{ID: "check", Title: "Check:", Commands: []*cobra.Command{a.Verify(), a.Model(), a.Stats()}})
}
