package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"choir/protocol"
)

func (a *app) version() *cobra.Command {
	format := "text"
	cmd := &cobra.Command{
		Use: "version", Short: "Print the version", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			v := versionInfo{1, moduleVersion(), protocol.PlanVersion, runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH}
			return a.print(format, v, func() {
				fmt.Fprintf(a.out, "choir %s (plan version %d, %s, %s)\n", v.Version, v.Plan, v.Go, v.Platform)
			})
		},
	}
	formatFlag(cmd, &format)
	return cmd
}

type versionInfo struct {
	SchemaVersion int    `json:"schema_version"`
	Version       string `json:"version"`
	Plan          int    `json:"plan_version"`
	Go            string `json:"go"`
	Platform      string `json:"platform"`
}

// moduleVersion is the version that the binary was built from, with the
// revision for a build from a checkout.
func moduleVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "(devel)"
	}
	return info.Main.Version
}
