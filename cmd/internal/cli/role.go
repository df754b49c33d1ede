package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"choir/protocol"
	"choir/session/member"
)

const roleLong = `Run one %s of a plan until the session ends. Settings come from flags,
then from the environment (CHOIR_PLAN_FILE, CHOIR_BUS_URL, ...), then from the
TOML file. Events go to stderr: one JSON object a line, or text on a terminal.

State is on disk before any message leaves. After a crash, or when SIGINT or
SIGTERM has stopped it, start the member again with the same configuration; it
resumes where it stopped.`

// EndsByClosing marks the verbs that end by themselves when a signal arrives:
// they close their stores first.
func EndsByClosing() map[string]string { return map[string]string{EndsItself: "closes its stores"} }

func (a *App) role(role protocol.Role, short string) *cobra.Command {
	var config string
	var followStdin bool
	var leaveAfter uint32
	var workers workerFlags
	cmd := &cobra.Command{
		Use: role.String() + " --config FILE", Short: short, Long: fmt.Sprintf(roleLong, role),
		Example: fmt.Sprintf("  choir %[1]s --config %[1]s.toml\n"+
			"  choir %[1]s --config %[1]s.toml --log-level debug", role),
		Args: cobra.NoArgs, Annotations: EndsByClosing(),
	}
	s := cmd.Flags()
	s.StringVar(&config, "config", "", "TOML file; its relative paths are relative to its folder")
	FilesOf(cmd, "toml", "config")
	given := settingFlags(cmd, role.String())
	s.BoolVar(&followStdin, "follow-stdin", false, "stop when standard input closes")
	s.Uint32Var(&leaveAfter, "leave-after", 0, "leave the session without notice after that many rounds")
	if role == protocol.RoleCompute {
		workers.add(cmd)
	}
	Hide(cmd, "follow-stdin", "leave-after")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		m, err := a.openMember(role, config, given(), &workers)
		if err != nil {
			return err
		}
		m.LeaveAfter = leaveAfter
		ctx := cmd.Context()
		if followStdin {
			ctx = a.WhileStdin(ctx)
		}
		if workers.local > 0 {
			return resumable(ctx, a.withWorkers(ctx, m, config, given()))
		}
		return resumable(ctx, m.Run(ctx))
	}
	return cmd
}

func (a *App) openMember(role protocol.Role, config string, given map[string]string, workers *workerFlags) (
	*member.Member, error) {
	c, err := member.LoadConfig(config, os.LookupEnv, given)
	if err != nil {
		return nil, err
	}
	log, err := a.logger(c)
	if err != nil {
		return nil, err
	}
	n, err := workers.count()
	if err != nil {
		return nil, err
	}
	m, err := member.Open(c, role, log, time.Now())
	if err != nil {
		return nil, err
	}
	if n > 0 && m.Session.Plan.Mixes() {
		return nil, protocol.Fail(protocol.ClassInput, "--workers: a compute node of a mix-net has none, and uses "+
			"all cores of its machine; leave it out")
	}
	m.Workers = n
	return m, nil
}

// Hide keeps flags out of the help.
func Hide(cmd *cobra.Command, flags ...string) {
	for _, f := range flags {
		must(cmd.Flags().MarkHidden(f))
	}
}

// roleWords are the beginnings of a setting's help that limit it to roles.
var roleWords = []string{"party", "compute", "aggregator", "party, aggregator"}

// settingFlags adds a flag for every setting and returns those given. The help
// of a setting for one role begins with that role's name; the flags of other
// roles' settings are hidden, and refused when the configuration is checked.
func settingFlags(cmd *cobra.Command, role string) func() map[string]string {
	values := map[string]*string{}
	for _, s := range member.Settings() {
		help := s.Help
		of, rest, limited := strings.Cut(help, ": ")
		limited = limited && slices.Contains(roleWords, of)
		if limited {
			help = rest
		}
		values[s.Key()] = cmd.Flags().String(s.Flag(), "", help)
		if limited && !slices.Contains(strings.Split(of, ", "), role) {
			Hide(cmd, s.Flag())
		}
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

// WhileStdin ends the context when standard input closes: the parent has ended.
func (a *App) WhileStdin(ctx context.Context) context.Context {
	ctx, stop := context.WithCancel(ctx)
	go func() {
		_, _ = io.Copy(io.Discard, a.In) // an error closes it, too
		stop()
	}()
	return ctx
}

// errStopped ends a role that a signal stops before the end of the session.
var errStopped = errors.New("stopped before the end of the session")

func resumable(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return protocol.Fail(protocol.ClassFailed, "%w", errStopped)
	}
	return err
}
