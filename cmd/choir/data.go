package main

import (
	"fmt"
	"net/http"
	"os"
	"time"

	"github.com/spf13/cobra"

	"choir/learn/dataset"
	"choir/protocol"
)

func (a *app) data() *cobra.Command {
	cmd := &cobra.Command{
		Use: "data", Short: "Get published data sets, pinned by checksum", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.dataGet(), a.dataList())
	return cmd
}

// downloadTimeout bounds one file.
const downloadTimeout = 2 * time.Minute

func (a *app) dataGet() *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use: "get NAME", Short: "Fetch a UCI original, or copy it from $CHOIR_DATA", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o, err := dataset.Get(args[0])
			if err != nil {
				return err
			}
			from := dataset.Origin{Dir: os.Getenv("CHOIR_DATA"), Client: &http.Client{Timeout: downloadTimeout}}
			path, err := o.Fetch(cmd.Context(), dir, from)
			if err != nil {
				return fetchError(err, from)
			}
			fmt.Fprintln(a.out, path)
			return nil
		},
	}
	cmd.Flags().StringVar(&dir, "dir", "data", "folder for the data sets")
	return cmd
}

// fetchError: what fails on the way from the archive is a connection's failure.
func fetchError(err error, from dataset.Origin) error {
	if from.Dir != "" || classOf(err) != protocol.ClassFailed {
		return err
	}
	return protocol.Fail(protocol.ClassAuth, "%w", err)
}

func (a *app) dataList() *cobra.Command {
	format := "text"
	cmd := &cobra.Command{
		Use: "list", Short: "List the data sets that data get knows", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			list := dataList{SchemaVersion: 1}
			for _, name := range dataset.Names() {
				o, err := dataset.Get(name)
				if err != nil {
					return err
				}
				list.Sets = append(list.Sets, o)
			}
			return a.print(format, list, func() {
				for _, o := range list.Sets {
					fmt.Fprintf(a.out, "%-8s  %s (%s)\n", o.Name, o.Title, o.Licence)
				}
			})
		},
	}
	formatFlag(cmd, &format)
	return cmd
}

type dataList struct {
	SchemaVersion int                `json:"schema_version"`
	Sets          []dataset.Original `json:"sets"`
}
