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
	"errors"
	"io/fs"
	"os"
	"runtime"
	"syscall"

	"github.com/spf13/cobra"

	"choir/cmd/internal/cli"
	"choir/lab/experiment"
	"choir/lab/uci"
	"choir/protocol"
)

func main() {
	runtime.MemProfileRate = 0 // the heap profile is unused; "bench" sets its own rate where it needs one
	os.Exit(cli.Run(root))
}

// tools has the verbs that a member doesn't need.
type tools struct{ *cli.App }

// The groups of verbs in the help.
const (
	groupTry    = "try"
	groupMember = "member"
	groupCheck  = "check"
	groupStudy  = "study"
)

func root(a *cli.App) *cobra.Command {
	a.Plot = experiment.NoiseCurve
	a.Classify = classify
	a.Hint = hintOf
	t := &tools{a}
	return a.RootCommand("choir", "Learn together while nobody sees anything but noisy sums",
		cli.VerbGroup{ID: groupTry, Title: "Try it:",
			Commands: []*cobra.Command{t.demo(), t.init(), t.rehearse(), t.sum(), t.histogram(), t.predict(),
				a.Model(), a.Stats()}},
		cli.VerbGroup{ID: groupMember, Title: "Run a member:",
			Commands: append(a.MemberVerbs(t.advise()), t.broker())},
		cli.VerbGroup{ID: groupCheck, Title: "Check:",
			Commands: []*cobra.Command{a.Verify(), t.account(), t.simulate(), t.attack()}},
		cli.VerbGroup{ID: groupStudy, Title: "Study:",
			Commands: []*cobra.Command{t.experiment(), t.bench(), t.data(), t.report()}})
}

// classify is the class of the errors of the data sets.
func classify(err error) (class protocol.Class, ok bool) {
	switch {
	case errors.Is(err, uci.ErrChecksum):
		return protocol.ClassIntegrity, true
	case errors.Is(err, uci.ErrUnknownSet):
		return protocol.ClassInput, true
	}
	return 0, false
}

// hintOf is a next step after an error of one of the tools, "" if there is none.
func hintOf(err error, verb *cobra.Command) string {
	switch {
	case errors.Is(err, uci.ErrUnknownSet):
		return "choir data list shows the sets that are in the program; any other is a file of yours for --data"
	case errors.Is(err, fs.ErrNotExist) && verb.CommandPath() == "choir experiment run":
		return "unset CHOIR_DATA: the data sets are in the program"
	case errors.Is(err, fs.ErrNotExist) && verb.CommandPath() == "choir bench docs":
		return "run it in a clone of Choir's repository, or name a folder of results"
	case errors.Is(err, syscall.ENOSPC) && verb.HasParent() && verb.Parent().Name() == "bench":
		return "sessions over nats keep files in the folder that TMPDIR names: make room there, or name another"
	}
	return ""
}
