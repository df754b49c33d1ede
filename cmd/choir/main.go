// Command choir runs secure sums and what is learnt from them: a whole session
// in one process, one role of a session, or the tools around it.
//
// Results go to stdout, everything else to stderr. The exit code says what kind
// of failure ended the command: 0 ok, 1 failed, 2 authentication or connection,
// 3 timeout, 4 bad input, 5 quorum lost, 6 privacy budget refused, 7 integrity
// failure.
//
// There is no logic in this package: flags, files and printing only.
package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"runtime"
	"syscall"

	"github.com/spf13/cobra"

	"choir/protocol"
)

func main() {
	runtime.MemProfileRate = 0 // nobody reads the heap's profile; "bench" sets a rate of its own where it does
	os.Exit(run())
}

func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return execute(ctx, os.Args[1:], streams{os.Stdin, os.Stdout, os.Stderr})
}

// streams are where a command reads and writes.
type streams struct {
	in       io.Reader
	out, err io.Writer
}

// app is what every verb shares.
type app struct {
	streams
	started bool // a verb began its work: errors before that are about the command line
	verb    *cobra.Command
}

// execute runs one command line and returns the exit code.
func execute(ctx context.Context, args []string, s streams) int {
	a := &app{streams: s}
	root := a.root()
	root.SetArgs(args)
	root.SetIn(s.in)
	root.SetOut(s.out)
	root.SetErr(s.err)
	if err := root.ExecuteContext(ctx); err != nil {
		return a.fail(ctx, err)
	}
	return 0
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:           "choir",
		Short:         "Learn together while nobody sees anything but noisy sums",
		SilenceErrors: true, SilenceUsage: true,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		PersistentPreRun: func(cmd *cobra.Command, _ []string) {
			a.started, a.verb = true, cmd
		},
	}
	root.AddCommand(a.demo(), a.sum(), a.keygen(), a.plan(), a.data(), a.broker(), a.version(), a.verify(), a.receipt(), a.account(), a.budget(), a.simulate(), a.predict(), a.experiment(), a.bench(),
		a.role(protocol.RoleParty, "Run a party: it holds data and contributes noised updates"),
		a.role(protocol.RoleCompute, "Run a compute node: it adds shares and reveals one partial sum a round"),
		a.computeWorker(),
		a.role(protocol.RoleAggregator, "Run the aggregator: it opens rounds and publishes the results"))
	return root
}
