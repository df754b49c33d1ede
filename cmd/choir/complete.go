package main

import (
	"github.com/spf13/cobra"

	"choir/attack/simulate"
	"choir/lab/uci"
)

// values completes the value of a flag from a list.
func values(cmd *cobra.Command, flag string, list ...string) {
	must(cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(list, cobra.ShellCompDirectiveNoFileComp)))
}

// folders completes the values of flags that name folders.
func folders(cmd *cobra.Command, flags ...string) {
	for _, f := range flags {
		must(cmd.MarkFlagDirname(f))
	}
}

// filesOf completes the values of flags that name files with an extension.
func filesOf(cmd *cobra.Command, extension string, flags ...string) {
	for _, f := range flags {
		must(cmd.MarkFlagFilename(f, extension))
	}
}

// must panics on an error about a flag that the command doesn't have, which is a
// mistake in this package.
func must(err error) {
	if err != nil {
		panic(err)
	}
}

// oneOfArgs completes a single argument from a list.
func oneOfArgs(list func() []string) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return list(), cobra.ShellCompDirectiveNoFileComp
	}
}

// folderArgs completes arguments that are folders.
func folderArgs(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveFilterDirs
}

func experimentNames() (names []string) {
	for _, e := range experiments() {
		names = append(names, cobra.CompletionWithDesc(e.Name, e.About))
	}
	return names
}

func dataSetNames() []string { return uci.Names() }

func profileNames() (names []string) {
	for _, p := range simulate.Profiles() {
		names = append(names, p.Name)
	}
	return names
}
