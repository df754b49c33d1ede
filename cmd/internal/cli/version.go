package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"choir/protocol"
)

func (a *App) version() *cobra.Command {
	format := "text"
	cmd := &cobra.Command{
		Use: "version", Short: "Print the version and the commit", Args: cobra.NoArgs,
		Example: "  choir version\n  choir version --format json",
		RunE: func(*cobra.Command, []string) error {
			v := buildVersion()
			return a.Print(format, v, func() { fmt.Fprintln(a.Out, v) })
		},
	}
	FormatFlag(cmd, &format)
	return cmd
}

type versionInfo struct {
	SchemaVersion int    `json:"schema_version"`
	Version       string `json:"version"`
	Commit        string `json:"commit,omitempty"`   // empty: built without version control
	Modified      bool   `json:"modified,omitempty"` // the files differed from the commit's
	Plan          int    `json:"plan_version"`
	Go            string `json:"go"`
	Platform      string `json:"platform"`
}

// String is the version in one line.
func (v versionInfo) String() string {
	commit := ""
	if v.Commit != "" {
		commit = "commit " + v.Commit[:min(12, len(v.Commit))] + ", "
	}
	if v.Modified {
		commit += "modified, "
	}
	return fmt.Sprintf("choir %s (%splan version %d, %s, %s)", v.Version, commit, v.Plan, v.Go, v.Platform)
}

// buildVersion is what the Go tool has recorded in the binary.
func buildVersion() versionInfo {
	v := versionInfo{SchemaVersion: 1, Version: "(devel)", Plan: protocol.PlanVersion, Go: runtime.Version(),
		Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	if info.Main.Version != "" {
		v.Version = info.Main.Version
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Commit = s.Value
		case "vcs.modified":
			v.Modified = s.Value == "true"
		}
	}
	return v
}
