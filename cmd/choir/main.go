// Command choir runs secure sums and what is learnt from them: a whole session
// in one process, one role of a session, or the tools around it.
//
// Results go to stdout, everything else to stderr. The exit code is the class
// of the failure: 0 ok, 1 failed, 2 authentication or connection, 3 timeout,
// 4 bad input, 5 quorum lost, 6 privacy budget refused, 7 integrity failure.
//
// The package has no logic: flags, files and printing only.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"choir/protocol"
)

func main() {
	runtime.MemProfileRate = 0 // the heap profile is unused; "bench" sets its own rate where it needs one
	os.Exit(run())
}

func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	return execute(ctx, os.Args[1:], streams{os.Stdin, os.Stdout, os.Stderr})
}

// streams are where a command reads and writes.
type streams struct {
	in       io.Reader
	out, err io.Writer
}

// app is what all verbs share.
type app struct {
	streams
	args    []string // the command line
	console *console

	mu   sync.Mutex
	verb *cobra.Command // the verb that runs; nil while the command line is read
}

// started reports which verb runs, nil before that.
func (a *app) started() *cobra.Command {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.verb
}

// start notes that a verb runs.
func (a *app) start(cmd *cobra.Command) {
	a.mu.Lock()
	a.verb = cmd
	a.mu.Unlock()
	a.console.start(cmd.CommandPath())
}

// execute runs one command line and returns the exit code.
func execute(ctx context.Context, args []string, s streams) int {
	c := newConsole(s.err)
	a := &app{streams: streams{s.in, c.writer(s.out), c.writer(s.err)}, args: args, console: c}
	root := a.root()
	root.SetArgs(args)
	root.SetIn(a.in)
	root.SetOut(a.out)
	root.SetErr(a.err)
	err := a.within(ctx, func() error { return root.ExecuteContext(ctx) })
	c.end()
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
	endsItself = "ends-by-its-own" // annotation of the others
)

// within runs a verb. When the context ends and the verb doesn't return within
// its grace, it is abandoned.
func (a *app) within(ctx context.Context, verb func() error) error {
	done := make(chan error, 1)
	go func() { done <- verb() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	wait := grace
	if cmd := a.started(); cmd != nil && cmd.Annotations[endsItself] != "" {
		wait = longGrace
	}
	select {
	case err := <-done:
		return err
	case <-time.After(wait):
		return errInterrupted
	}
}

// The groups of verbs in the help.
const (
	groupTry    = "try"
	groupMember = "member"
	groupCheck  = "check"
	groupStudy  = "study"
)

func (a *app) root() *cobra.Command {
	cobra.EnableCommandSorting = false // the groups have an order
	root := group("choir", "Learn together while nobody sees anything but noisy sums")
	root.SilenceErrors = true
	root.SilenceUsage = true
	root.Version = buildVersion().String()
	root.SetVersionTemplate("{{.Version}}\n")
	root.PersistentPreRun = func(cmd *cobra.Command, _ []string) { a.start(cmd) }
	root.SetFlagErrorFunc(badFlag)
	for _, g := range []struct {
		id, title string
		commands  []*cobra.Command
	}{
		{groupTry, "Try it:", []*cobra.Command{a.demo(), a.sum(), a.predict()}},
		{groupMember, "Run a member:", []*cobra.Command{a.keygen(), a.plan(),
			a.role(protocol.RoleParty, "Run a party, which contributes noised updates from its data"),
			a.role(protocol.RoleCompute, "Run a compute node, which adds shares and reveals partial sums"),
			a.computeWorker(),
			a.role(protocol.RoleAggregator, "Run the aggregator, which opens rounds and publishes results"),
			a.broker(), a.budget(), a.receipt()}},
		{groupCheck, "Check:", []*cobra.Command{a.verify(), a.account(), a.simulate()}},
		{groupStudy, "Study:", []*cobra.Command{a.experiment(), a.bench(), a.data(), a.report()}},
	} {
		root.AddGroup(&cobra.Group{ID: g.id, Title: g.title})
		for _, c := range g.commands {
			c.GroupID = g.id
			root.AddCommand(c)
		}
	}
	root.AddCommand(a.version())
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), ".FlagUsages",
		fmt.Sprintf(".FlagUsagesWrapped %d", lineWidth)))
	return root
}
