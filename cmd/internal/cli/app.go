package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"choir/protocol"
)

// Streams are where a command reads and writes.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
}

// App is what all verbs share.
type App struct {
	Streams
	args    []string // the command line
	Console *Console
	name    string // the program's

	// Classes and hints for the errors of a program's further verbs; both may be nil.
	Classify func(error) (class protocol.Class, ok bool)
	Hint     func(err error, verb *cobra.Command) string
	// Plot draws the noise of a plan; nil: plan check has no --plot.
	Plot func(p *protocol.Plan, path string) error

	mu      sync.Mutex
	verb    *cobra.Command // the verb that runs; nil while the command line is read
	partial func()
}

// started reports which verb runs, nil before that.
func (a *App) started() *cobra.Command {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.verb
}

// start notes that a verb runs.
func (a *App) start(cmd *cobra.Command) {
	a.mu.Lock()
	a.verb = cmd
	a.mu.Unlock()
	a.Console.start(cmd.CommandPath())
}

// Run runs the command line of the process and returns the exit code.
func Run(build func(*App) *cobra.Command) int {
	ctx, stop := signal.NotifyContext(context.Background(), endings()...)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	return Execute(ctx, os.Args[1:], Streams{os.Stdin, os.Stdout, os.Stderr}, build)
}

// endings are the signals that end a verb. A terminal that goes away sends SIGHUP, which nohup has
// made the process ignore: Notify would undo that.
func endings() []os.Signal {
	ends := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		ends = append(ends, syscall.SIGHUP)
	}
	return ends
}

// Execute runs one command line and returns the exit code. build makes the
// root command.
func Execute(ctx context.Context, args []string, s Streams, build func(*App) *cobra.Command) int {
	c := newConsole(s.Err)
	out := &output{w: c.writer(s.Out)}
	a := &App{Streams: Streams{s.In, out, c.writer(s.Err)}, args: args, Console: c}
	root := build(a)
	a.name = root.Name()
	root.SetArgs(args)
	root.SetIn(a.In)
	root.SetOut(a.Out)
	root.SetErr(a.Err)
	err := out.result(a.within(ctx, func() error { return root.ExecuteContext(ctx) }))
	c.End()
	if err != nil {
		return a.fail(ctx, err)
	}
	return 0
}

// Times that a verb has for ending once it is interrupted. Most verbs only
// compute and may be abandoned anywhere. Others keep stores and child
// processes, or have a partial result, and end by themselves well within the
// longer time.
const (
	grace      = 700 * time.Millisecond
	longGrace  = 15 * time.Second
	EndsItself = "ends-itself" // annotation of the others
)

// within runs a verb. When the context ends and the verb doesn't return within
// its grace, it is abandoned.
func (a *App) within(ctx context.Context, verb func() error) error {
	done := make(chan error, 1)
	go func() { done <- verb() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	wait := grace
	if cmd := a.started(); cmd != nil && cmd.Annotations[EndsItself] != "" {
		wait = longGrace
	}
	select {
	case err := <-done:
		return err
	case <-time.After(wait):
		a.printPartial()
		return ErrInterrupted
	}
}

// Partial sets the function that prints the result so far if the verb is
// abandoned. It may be called while the verb still runs.
func (a *App) Partial(show func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.partial = show
}

func (a *App) printPartial() {
	a.mu.Lock()
	show := a.partial
	a.mu.Unlock()
	if show != nil {
		show()
	}
}

// VerbGroup is a part of the help.
type VerbGroup struct {
	ID, Title string
	Commands  []*cobra.Command
}

// RootCommand makes the root of a program from its groups of verbs.
func (a *App) RootCommand(name, short string, groups ...VerbGroup) *cobra.Command {
	cobra.EnableCommandSorting = false // the groups have an order
	root := Group(name, short)
	root.SilenceErrors = true
	root.SilenceUsage = true
	root.Version = buildVersion().String()
	root.SetVersionTemplate("{{.Version}}\n")
	root.PersistentPreRun = func(cmd *cobra.Command, _ []string) { a.start(cmd) }
	root.SetFlagErrorFunc(badFlag)
	for _, g := range groups {
		root.AddGroup(&cobra.Group{ID: g.ID, Title: g.Title})
		for _, c := range g.Commands {
			c.GroupID = g.ID
			root.AddCommand(c)
		}
	}
	root.AddCommand(a.version())
	nameExamples(root, name)
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), ".FlagUsages",
		fmt.Sprintf(".FlagUsagesWrapped %d", LineWidth)))
	return root
}

// MemberVerbs are the verbs that run a member, with further ones about plans.
func (a *App) MemberVerbs(plan ...*cobra.Command) []*cobra.Command {
	return []*cobra.Command{a.keygen(), a.invite(), a.join(), a.schema(), a.plan(plan...),
		a.role(protocol.RoleParty, "Run a party, which contributes noised updates from its data"),
		a.role(protocol.RoleCompute, "Run a compute node, which adds shares and reveals partial sums"),
		a.computeWorker(),
		a.role(protocol.RoleAggregator, "Run the aggregator, which opens rounds and publishes results"),
		a.serve(), a.preflight(), a.watch(), a.session(), a.budget(), a.receipt(), a.store()}
}

// nameExamples names the program in the examples of all its verbs.
func nameExamples(cmd *cobra.Command, program string) {
	for _, c := range cmd.Commands() {
		c.Example = strings.ReplaceAll(c.Example, "  choir ", "  "+program+" ")
		nameExamples(c, program)
	}
}
