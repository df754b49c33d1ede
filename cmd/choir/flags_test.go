package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// choir runs a command line in this process.
func choir(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var out, errs bytes.Buffer
	code = execute(ctx, args, streams{strings.NewReader(""), &out, &errs})
	return code, out.String(), errs.String()
}

// TestIllegalFlags: every combination that can't be is refused with exit code
// 4, by a message that names the flag, before anything is left behind.
func TestIllegalFlags(t *testing.T) {
	data := filepath.Join(t.TempDir(), "d.csv")
	if err := os.WriteFile(data, []byte("a,y\n1,0\n2,1\n3,0\n4,1\n5,0\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	cases := []struct{ args, flag string }{
		{"--parties 0", "--parties"}, {"--parties 1", "--parties"}, {"--parties -3", "--parties"}, {"--parties 1000000", "--parties"},
		{"--parties 99999999999999999999", "--parties"},
		{"--computes 0", "--computes"}, {"--computes 1", "--computes"}, {"--computes 100000", "--computes"},
		{"--method magic", "--method"}, {"--method global --model linear", "--model"}, {"--method statistics --rounds 1", "--rounds"},
		{"--rounds 0", "--rounds"}, {"--rounds -1", "--rounds"}, {"--rounds 1000000000", "--rounds"},
		{"--colluders -1", "--colluders"}, {"--colluders 10", "--colluders"}, {"--colluders 9", "--colluders"},
		{"--parties 4 --colluders 4", "--colluders"}, {"--parties 2 --colluders 1", "--colluders"},
		{"--dropouts -1", "--dropouts"}, {"--dropouts 10", "--dropouts"}, {"--dropouts 9", "--dropouts"}, {"--parties 2 --dropouts 1", "--dropouts"},
		{"--colluders 5 --dropouts 4", "--colluders, --dropouts"}, {"--parties 3 --colluders 1 --dropouts 1", "--colluders, --dropouts"},
		{"--epsilon 0", "--epsilon"}, {"--epsilon -1", "--epsilon"}, {"--epsilon NaN", "--epsilon"}, {"--epsilon Inf", "--epsilon"},
		{"--epsilon 1e-300", "--epsilon"}, {"--epsilon one", "--epsilon"},
		{"--delta 0", "--delta"}, {"--delta 1", "--delta"}, {"--delta -1e-5", "--delta"}, {"--delta 2", "--delta"}, {"--delta NaN", "--delta"},
		{"--clip -1", "--clip"}, {"--clip NaN", "--clip"}, {"--clip Inf", "--clip"}, {"--clip 1e300", "--clip"}, {"--clip 1e-300", "--clip"},
		{"--model quadratic", "--model"}, {"--model=", "--model"}, {"--strategy sideways", "--strategy"}, {"--strategy dataset --shards 5", "--shards"},
		{"--shards -1", "--shards"}, {"--shards 100000000", "--shards"},
		{"--format yaml", "--format"}, {"--seed -1", "--seed"}, {"--target y", "--target"}, {"--column a=1:2", "--column"}, {"--schema s.json", "--schema"},
		{"--data " + data, "--target"}, {"--data " + data + " --target z", "--target"}, {"--data nowhere.csv --target y", "--data"},
		{"--data " + data + " --target y --schema nowhere.json", "--schema"}, {"--data " + data + " --target y --column a", "--column"},
		{"--data " + data + " --target y --parties 100", "--parties"}, {"--data " + data + " --target a --model logistic", "--data"},
		{"--data " + data + " --target a --model linear --parties 2 --rounds 1 --train 0.9", "--data"},
		{"--processes=perhaps", "--processes"}, {"--resume x --parties 4", "--parties"}, {"--resume x --processes", "--processes"}, {"--resume nowhere", "--resume"},
		{"--parties 6 --processes --computes 1", "--computes"},
		{"stray", `"stray"`}, {"--nonsense 1", "--nonsense"},
	}
	for _, c := range cases {
		t.Run(c.args, func(t *testing.T) {
			out := filepath.Join(t.TempDir(), "out")
			args := append([]string{"demo"}, strings.Fields(c.args)...)
			if !strings.Contains(c.args, "--resume") {
				args = append(args, "--out", out)
			}
			code, stdout, stderr := choir(t, args...)
			first, _, _ := strings.Cut(stderr, "\n")
			if code != 4 || stdout != "" || !strings.HasPrefix(first, "choir: error: ") || !strings.Contains(first, c.flag) {
				t.Errorf("exit code %d, want 4 naming %s; stdout %q, stderr %q", code, c.flag, stdout, stderr)
			}
			if entries, err := os.ReadDir(out); err == nil && len(entries) > 0 {
				t.Errorf("left behind: %v", entries)
			}
		})
	}
}

// TestResumeKnowsEveryFlag: a flag of choir demo either describes the session,
// and is then refused with --resume, or doesn't.
func TestResumeKnowsEveryFlag(t *testing.T) {
	a := &app{}
	n := 0
	find(t, a.root(), "demo").Flags().VisitAll(func(f *pflag.Flag) {
		n++
		free := f.Name == "resume" || f.Name == "format" || f.Name == "help"
		if free == slices.Contains(sessionFlags, f.Name) {
			t.Errorf("--%s: with --resume?", f.Name)
		}
	})
	if n < len(sessionFlags) {
		t.Errorf("only %d flags seen", n)
	}
}

func find(t *testing.T, root *cobra.Command, name string) *cobra.Command {
	t.Helper()
	cmd, _, err := root.Find([]string{name})
	if err != nil {
		t.Fatal(err)
	}
	return cmd
}

func anyFlag(string) bool { return true }

// TestNamedByVerb: what a verb has no flag for keeps its own name.
func TestNamedByVerb(t *testing.T) {
	few := func(flag string) bool { return flag == "--data-file" || flag == "--clip" }
	for in, want := range map[string]string{
		"dropouts: 3 of 3 parties can't drop out": "dropouts: 3 of 3 parties can't drop out",
		"sigma: -1 isn't positive":                "sigma: -1 isn't positive",
		"plan: frac_bits: 99":                     "plan: frac_bits: 99",
		"epsilon, clip: both":                     "--clip: both",
		"plan: clip: bad":                         "--clip: bad",
		"data: 2 rows":                            "--data-file: 2 rows",
	} {
		if got := named(in, few); got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
}

// TestNamed: errors of the packages below name the flag in front.
func TestNamed(t *testing.T) {
	for in, want := range map[string]string{
		"plan: epsilon: too small":                     "--epsilon: too small",
		"data: target: no column":                      "--target: no column",
		"colluders, dropouts: none left":               "--colluders, --dropouts: none left",
		"plan: parameters: clip: bad":                  "--clip: bad",
		"plan: not signed by [a]":                      "plan: not signed by [a]",
		"party-01: something: else":                    "party-01: something: else",
		"round 3: epsilon: mentioned in passing":       "round 3: epsilon: mentioned in passing",
		"frac_bits: fixedpoint: no headroom: 3 > 2^62": "--frac-bits: fixedpoint: no headroom: 3 > 2^62",
	} {
		if got := named(in, anyFlag); got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
}
