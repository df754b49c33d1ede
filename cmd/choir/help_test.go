package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"choir/cmd/internal/cli"
)

// verbs are the commands that run, by path.
func verbs(cmd *cobra.Command) (all []*cobra.Command) {
	if !cmd.HasSubCommands() && cmd.Runnable() {
		all = append(all, cmd)
	}
	for _, c := range cmd.Commands() {
		all = append(all, verbs(c)...)
	}
	return all
}

// TestEveryVerbHasHelp: every verb has examples that its own flags accept, and
// help in lines of at most 80 columns.
func TestEveryVerbHasHelp(t *testing.T) {
	root := root(&cli.App{})
	list := verbs(root)
	if len(list) < 30 {
		t.Fatalf("only %d verbs", len(list))
	}
	for _, c := range list {
		t.Run(c.CommandPath(), func(t *testing.T) {
			if c.Example == "" {
				t.Error("no example")
			}
			for line := range strings.Lines(c.Example) {
				call, ok := strings.CutPrefix(strings.TrimRight(line, "\n"), "  choir ")
				if _, wrong := checkCall(root, strings.Fields(call)); !ok || wrong != "" {
					t.Errorf("example %q: %s", line, wrong)
				}
			}
			for line := range strings.Lines(c.Long + "\n" + c.UsageString()) {
				if n := len([]rune(strings.TrimRight(line, "\n"))); n > cli.LineWidth {
					t.Errorf("%d columns: %s", n, line)
				}
			}
		})
	}
}

// TestGroups: the help lists the verbs by what they are for.
func TestGroups(t *testing.T) {
	groups := map[string]string{}
	for _, c := range root(&cli.App{}).Commands() {
		if c.IsAvailableCommand() && c.Name() != "version" {
			groups[c.GroupID] += " " + c.Name()
		}
	}
	for id, want := range map[string]string{
		groupTry:    "demo sum predict",
		groupMember: "keygen plan party compute aggregator broker budget receipt",
		groupCheck:  "verify account simulate attack",
		groupStudy:  "experiment bench data",
	} {
		for _, name := range strings.Fields(want) {
			if !slices.Contains(strings.Fields(groups[id]), name) {
				t.Errorf("%s: %q lacks %s", id, groups[id], name)
			}
		}
	}
	if groups[""] != "" {
		t.Errorf("in no group:%s", groups[""])
	}
}

// TestRolesShowTheirOwnFlags: a role's help has no flags of other roles.
func TestRolesShowTheirOwnFlags(t *testing.T) {
	root := root(&cli.App{})
	for _, c := range []struct{ verb, has, lacks string }{
		{verb: "party", has: "data-file exec timing-exec", lacks: "worker-key-file timing-give-up"},
		{verb: "compute", has: "worker-key-file workers", lacks: "data-file exec out-dir"},
		{verb: "aggregator", has: "out-dir timing-give-up", lacks: "data-file exec worker-key-file"},
		{verb: "compute-worker", has: "worker-key-file", lacks: "key-file data-file out-dir"},
	} {
		t.Run(c.verb, func(t *testing.T) {
			flags := find(t, root, c.verb).Flags()
			for _, name := range strings.Fields(c.has) {
				if f := flags.Lookup(name); f == nil || f.Hidden {
					t.Errorf("--%s isn't shown", name)
				}
			}
			for _, name := range strings.Fields(c.lacks) {
				if f := flags.Lookup(name); f == nil || !f.Hidden {
					t.Errorf("--%s is shown, or not there", name)
				}
			}
		})
	}
}

// TestCompletion: the values of flags and the arguments of verbs complete.
func TestCompletion(t *testing.T) {
	for _, c := range []struct{ line, offers string }{
		{line: "demo --strategy", offers: "virtual dataset optimisation"},
		{line: "demo --method", offers: "dp-pvi global statistics mcmc"},
		{line: "demo --model", offers: "logistic linear bnn"},
		{line: "demo --format", offers: "text json"},
		{line: "experiment run", offers: "noisy-factors own-generated"},
		{line: "data get", offers: "adult wine abalone"},
		{line: "simulate --faults", offers: "chaos all"},
		{line: "account --accountant", offers: "pld"},
		{line: "bench dca --suite", offers: "hybrid x25519"},
		{line: "predict --format", offers: "csv json"},
		{line: "sum --transport", offers: "nats memory"},
	} {
		t.Run(c.line, func(t *testing.T) {
			args := append([]string{"__complete"}, strings.Fields(c.line)...)
			code, out, _ := choir(t, append(args, "")...)
			for _, want := range strings.Fields(c.offers) {
				if code != 0 || !strings.Contains("\n"+out, "\n"+want) {
					t.Errorf("no %s: exit code %d, %q", want, code, out)
				}
			}
		})
	}
	if _, out, _ := choir(t, "__complete", "verify", ""); !strings.Contains(out, ":16") {
		t.Errorf("verify doesn't complete folders: %q", out)
	}
}
