package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"choir/cmd/internal/cli"
	"choir/lab/uci"
)

func (a *tools) data() *cobra.Command {
	return cli.Group("data", "Get published data sets, pinned by checksum", a.dataGet(), a.dataList())
}

func (a *tools) dataGet() *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use: "get NAME", Short: "Write the original files of a data set",
		Example: "  choir data get adult --dir data",
		Args:    cobra.ExactArgs(1), ValidArgsFunction: cli.OneOfArgs(dataSetNames),
		RunE: func(_ *cobra.Command, args []string) error {
			set, err := uci.Get(args[0])
			if err != nil {
				return err
			}
			path, err := set.Install(dir)
			if err != nil {
				return err
			}
			fmt.Fprintln(a.Out, path)
			return nil
		},
	}
	cmd.Flags().StringVar(&dir, "dir", "data", "folder for the data sets")
	cli.Folders(cmd, "dir")
	return cmd
}

func (a *tools) dataList() *cobra.Command {
	format := "text"
	cmd := &cobra.Command{
		Use: "list", Short: "List the data sets that data get writes", Args: cobra.NoArgs,
		Example: "  choir data list",
		RunE: func(*cobra.Command, []string) error {
			list := dataList{SchemaVersion: 1}
			for _, name := range uci.Names() {
				o, err := uci.Get(name)
				if err != nil {
					return err
				}
				list.Sets = append(list.Sets, o)
			}
			return a.Print(format, list, func() {
				for _, o := range list.Sets {
					fmt.Fprintf(a.Out, "%-8s  %s (%s)\n", o.Name, o.Title, o.Licence)
				}
			})
		},
	}
	cli.FormatFlag(cmd, &format)
	return cmd
}

type dataList struct {
	SchemaVersion int       `json:"schema_version"`
	Sets          []uci.Set `json:"sets"`
}
