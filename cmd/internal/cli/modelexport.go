package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"choir/session/member"
)

const modelExportLong = `Write what a member's store has of a session into a folder: the model after the
last round that the member has checked, session.json with how far the session
came, and at the aggregator the transcript, at a party the ledger's state. It
works after a session that ended early, whose plan has expired, or that was
given up. The member must not be running. A compute node never sees a model.`

func (a *App) modelExport() *cobra.Command {
	var out, plan string
	format := "text"
	cmd := &cobra.Command{
		Use: "export STORE --out DIR", Short: "Write the last verified model of a member's store",
		Long: modelExportLong, Args: cobra.ExactArgs(1),
		Example: "  choir model export hospital-a.db --out result-a",
		RunE: func(_ *cobra.Command, args []string) error {
			o, err := member.Export(args[0], plan, out)
			if err != nil {
				return err
			}
			return a.Print(format, o, func() {
				fmt.Fprintf(a.Out, "%s: all up to round %d of %d, in %s\n", o.Member, o.Settled, o.Rounds, out)
				if o.Ended != "" {
					fmt.Fprintf(a.Out, "the session ended early: %s\n", o.Ended)
				}
			})
		},
	}
	s := cmd.Flags()
	s.StringVar(&out, "out", "", "folder for the files")
	s.StringVar(&plan, "plan", "", "beginning of the plan's id, for a store of several plans")
	must(cmd.MarkFlagRequired("out"))
	Folders(cmd, "out")
	FormatFlag(cmd, &format)
	return cmd
}
