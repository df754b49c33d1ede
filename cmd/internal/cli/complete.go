package cli

import "github.com/spf13/cobra"

// Values completes the value of a flag from a list.
func Values(cmd *cobra.Command, flag string, list ...string) {
	must(cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(list, cobra.ShellCompDirectiveNoFileComp)))
}

// Folders completes the values of flags that name folders.
func Folders(cmd *cobra.Command, flags ...string) {
	for _, f := range flags {
		must(cmd.MarkFlagDirname(f))
	}
}

// FilesOf completes the values of flags that name files with an extension.
func FilesOf(cmd *cobra.Command, extension string, flags ...string) {
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

// OneOfArgs completes a single argument from a list.
func OneOfArgs(list func() []string) cobra.CompletionFunc {
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
