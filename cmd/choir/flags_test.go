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

	"choir/cmd/internal/cli"
)

// choir runs a command line in this process.
func choir(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var out, errs bytes.Buffer
	code = cli.Execute(ctx, args, cli.Streams{In: strings.NewReader(""), Out: &out, Err: &errs}, root)
	return code, out.String(), errs.String()
}

// illegalFlags are combinations of flags of choir demo and the flag at fault; DATA
// is a CSV with the columns a and y.
var illegalFlags = []struct{ args, flag string }{
	{args: "--parties 0", flag: "--parties"},
	{args: "--parties 1", flag: "--parties"},
	{args: "--parties -3", flag: "--parties"},
	{args: "--parties 1000000", flag: "--parties"},
	{args: "--parties 99999999999999999999", flag: "--parties"},
	{args: "--computes 0", flag: "--computes"},
	{args: "--computes 1", flag: "--computes"},
	{args: "--computes 100000", flag: "--computes"},
	{args: "--method magic", flag: "--method"},
	{args: "--method global --model linear", flag: "--model"},
	{args: "--method statistics --rounds 1", flag: "--rounds"},
	{args: "--rounds 0", flag: "--rounds"},
	{args: "--rounds -1", flag: "--rounds"},
	{args: "--rounds 1000000000", flag: "--rounds"},
	{args: "--colluders -1", flag: "--colluders"},
	{args: "--parties 10 --colluders 10", flag: "--colluders"},
	{args: "--parties 10 --colluders 9", flag: "--colluders"},
	{args: "--parties 4 --colluders 4", flag: "--colluders"},
	{args: "--parties 2 --colluders 1", flag: "--colluders"},
	{args: "--dropouts -1", flag: "--dropouts"},
	{args: "--parties 10 --dropouts 10", flag: "--dropouts"},
	{args: "--parties 10 --dropouts 9", flag: "--dropouts"},
	{args: "--parties 2 --dropouts 1", flag: "--dropouts"},
	{args: "--parties 10 --colluders 5 --dropouts 4", flag: "--colluders, --dropouts"},
	{args: "--parties 3 --colluders 1 --dropouts 1", flag: "--colluders, --dropouts"},
	{args: "--epsilon 0", flag: "--epsilon"},
	{args: "--epsilon -1", flag: "--epsilon"},
	{args: "--epsilon NaN", flag: "--epsilon"},
	{args: "--epsilon Inf", flag: "--epsilon"},
	{args: "--epsilon 1e-300", flag: "--epsilon"},
	{args: "--epsilon one", flag: "--epsilon"},
	{args: "--delta 0", flag: "--delta"},
	{args: "--delta 1", flag: "--delta"},
	{args: "--delta -1e-5", flag: "--delta"},
	{args: "--delta 2", flag: "--delta"},
	{args: "--delta NaN", flag: "--delta"},
	{args: "--clip -1", flag: "--clip"},
	{args: "--clip NaN", flag: "--clip"},
	{args: "--clip Inf", flag: "--clip"},
	{args: "--clip 1e300", flag: "--clip"},
	{args: "--clip 1e-300", flag: "--clip"},
	{args: "--model quadratic", flag: "--model"},
	{args: "--model=", flag: "--model"},
	{args: "--strategy sideways", flag: "--strategy"},
	{args: "--strategy dataset --shards 5", flag: "--shards"},
	{args: "--shards -1", flag: "--shards"},
	{args: "--shards 100000000", flag: "--shards"},
	{args: "--format yaml", flag: "--format"},
	{args: "--seed -1", flag: "--seed"},
	{args: "--target y", flag: "--target"},
	{args: "--column a=1:2", flag: "--column"},
	{args: "--schema s.json", flag: "--schema"},
	{args: "--data DATA", flag: "--target"},
	{args: "--data DATA --target z", flag: "--target"},
	{args: "--data nowhere.csv --target y", flag: "--data"},
	{args: "--data DATA --target y --schema nowhere.json", flag: "--schema"},
	{args: "--data DATA --target y --column a", flag: "--column"},
	{args: "--data DATA --target y --parties 100", flag: "--parties"},
	{args: "--data DATA --target a --model logistic", flag: "--data"},
	{args: "--data DATA --target a --model linear --parties 2 --rounds 2 --train 0.9", flag: "--data"},
	{args: "--processes=perhaps", flag: "--processes"},
	{args: "--resume x --parties 4", flag: "--parties"},
	{args: "--resume x --processes", flag: "--processes"},
	{args: "--resume nowhere", flag: "--resume"},
	{args: "--parties 6 --processes --computes 1", flag: "--computes"},
	{args: "stray", flag: `"stray"`},
	{args: "--nonsense 1", flag: "--nonsense"},
}

// TestIllegalFlags: every invalid combination is refused with exit code 4, by a
// message that names the flag, and leaves no files.
func TestIllegalFlags(t *testing.T) {
	data := filepath.Join(t.TempDir(), "d.csv")
	if err := os.WriteFile(data, []byte("a,y\n1,0\n2,1\n3,0\n4,1\n5,0\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range illegalFlags {
		t.Run(c.args, func(t *testing.T) {
			out := filepath.Join(t.TempDir(), "out")
			args := append([]string{"demo"}, strings.Fields(strings.ReplaceAll(c.args, "DATA", data))...)
			if !strings.Contains(c.args, "--resume") {
				args = append(args, "--out", out)
			}
			code, stdout, stderr := choir(t, args...)
			first, rest, _ := strings.Cut(stderr, "\n")
			for strings.HasPrefix(first, "working: ") { // on a machine that is busy
				first, rest, _ = strings.Cut(rest, "\n")
			}
			if code != 4 || stdout != "" || !strings.HasPrefix(first, "choir: error: ") ||
				!strings.Contains(first, c.flag) {
				t.Errorf("exit code %d, want 4 naming %s; stdout %q, stderr %q", code, c.flag, stdout, stderr)
			}
			if entries, err := os.ReadDir(out); err == nil && len(entries) > 0 {
				t.Errorf("left behind: %v", entries)
			}
		})
	}
}

// TestResumeKnowsEveryFlag: a flag of choir demo either describes the session,
// and is refused with --resume, or not.
func TestResumeKnowsEveryFlag(t *testing.T) {
	n := 0
	find(t, root(&cli.App{}), "demo").Flags().VisitAll(func(f *pflag.Flag) {
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
