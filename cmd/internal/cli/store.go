package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"choir/host"
)

const storeMirrorLong = `Give a member's store a mirror: a copy on another disk, or on a share of another
machine's, that has every transaction before the member sends anything that
depends on it. From then on the member opens both or neither. A former mirror is
no longer one; if it can't be reached, be sure that it is destroyed and that
nobody has taken it over. The member must not be running.`

const storeTakeoverLong = `Make a mirror a store, when the machine of the first one is lost: name it as
store_file, and start the member. The first store never opens again. A process
that still has the mirror open must end first. Give the store a new mirror with
"store mirror".`

func (a *App) store() *cobra.Command {
	var to string
	mirror := &cobra.Command{
		Use: "mirror STORE --to FILE", Short: "Give a store a mirror", Long: storeMirrorLong,
		Args: cobra.ExactArgs(1), Example: "  choir store mirror hospital-a.db --to /mnt/second/hospital-a.db",
		RunE: func(_ *cobra.Command, args []string) error {
			if err := host.Mirror(args[0], to); err != nil {
				return err
			}
			fmt.Fprintf(a.Out, "%s has the mirror %s\n", args[0], to)
			return nil
		},
	}
	mirror.Flags().StringVar(&to, "to", "", "file of the mirror, which must not exist")
	must(mirror.MarkFlagRequired("to"))
	takeover := &cobra.Command{
		Use: "takeover MIRROR", Short: "Make a mirror the store", Long: storeTakeoverLong,
		Args: cobra.ExactArgs(1), Example: "  choir store takeover /mnt/second/hospital-a.db",
		RunE: func(_ *cobra.Command, args []string) error {
			if err := host.TakeOver(args[0]); err != nil {
				return err
			}
			fmt.Fprintf(a.Out, "%s is a store now\n", args[0])
			return nil
		},
	}
	return Group("store", "Keep a member's store twice", mirror, takeover)
}
