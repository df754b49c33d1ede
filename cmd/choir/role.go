package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"choir/protocol"
	"choir/session/member"
)

const roleLong = `Run one %s of a plan, until the session ends. Settings come from flags, then from
the environment (CHOIR_PLAN_FILE, CHOIR_BUS_URL, ...), then from the TOML file.
Events go to stderr, a JSON object a line.

State is on disk before anything leaves: after a crash, or when stopped by
SIGINT or SIGTERM, start it again with the same configuration and it goes on.`

func (a *app) role(role protocol.Role, short string) *cobra.Command {
	var config string
	var followStdin bool
	var leaveAfter uint32
	var workers workerFlags
	cmd := &cobra.Command{
		Use: role.String() + " --config FILE", Short: short, Long: fmt.Sprintf(roleLong, role), Args: cobra.NoArgs,
		Annotations: map[string]string{endsByItsOwn: "closes its stores"},
	}
	s := cmd.Flags()
	s.StringVar(&config, "config", "", "TOML file; its relative paths are relative to its folder")
	given := settingFlags(cmd)
	s.BoolVar(&followStdin, "follow-stdin", false, "stop when standard input closes")
	s.Uint32Var(&leaveAfter, "leave-after", 0, "leave without a word after so many rounds")
	if role == protocol.RoleCompute {
		workers.add(cmd)
	}
	for _, hidden := range []string{"follow-stdin", "leave-after"} {
		_ = s.MarkHidden(hidden) // fails only for a flag that isn't there
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		c, err := member.LoadConfig(config, os.LookupEnv, given())
		if err != nil {
			return err
		}
		log, err := a.logger(c)
		if err != nil {
			return err
		}
		n, err := workers.count()
		if err != nil {
			return err
		}
		m, err := member.Open(c, role, log, time.Now())
		if err != nil {
			return err
		}
		m.LeaveAfter, m.Workers = leaveAfter, n
		ctx := cmd.Context()
		if followStdin {
			ctx = a.whileStdin(ctx)
		}
		if workers.local > 0 {
			return resumable(ctx, a.withWorkers(ctx, m, config, given()))
		}
		return resumable(ctx, m.Run(ctx))
	}
	return cmd
}

// settingFlags adds a flag for every setting and returns what was given.
func settingFlags(cmd *cobra.Command) func() map[string]string {
	values := map[string]*string{}
	for _, s := range member.Settings() {
		values[s.Key()] = cmd.Flags().String(s.Flag(), "", s.Help)
	}
	return func() map[string]string {
		given := map[string]string{}
		for _, s := range member.Settings() {
			if cmd.Flags().Changed(s.Flag()) {
				given[s.Key()] = *values[s.Key()]
			}
		}
		return given
	}
}

// whileStdin ends when standard input does: the parent is gone.
func (a *app) whileStdin(ctx context.Context) context.Context {
	ctx, stop := context.WithCancel(ctx)
	go func() {
		_, _ = io.Copy(io.Discard, a.in) // however it ends
		stop()
	}()
	return ctx
}

// errStopped says that a role was told to stop before the session's end.
var errStopped = errors.New("stopped before the end of the session")

func resumable(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return protocol.Fail(protocol.ClassFailed, "%w", errStopped)
	}
	return err
}
