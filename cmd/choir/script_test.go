package main

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"choir/cmd/internal/cli"
	"choir/host"
	"choir/privacy/ledger"
	"choir/protocol"
	"choir/session/run"
	"choir/session/terms"
)

// TestScripts pins the voice and the exit codes of the command line, with the
// real binary: opening key files takes too long under the race detector.
func TestScripts(t *testing.T) { runScripts(t, "testdata/script", 4) }

// TestLongScripts runs the scripts that take longest, which make test leaves out.
func TestLongScripts(t *testing.T) { runScripts(t, "testdata/long", 3) }

// runScripts runs all scripts of a folder, which has at least some.
func runScripts(t *testing.T, dir string, least int) {
	files, err := filepath.Glob(filepath.Join(dir, "*.txt"))
	if err != nil || len(files) < least {
		t.Fatalf("%d scripts: %v", len(files), err)
	}
	testscript.Run(t, testscript.Params{Dir: dir, RequireExplicitExec: true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("PATH", filepath.Dir(binary(t))+string(filepath.ListSeparator)+env.Getenv("PATH"))
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"exits": exits, "alter": alter,
			"freeport": freeport, "narrow": narrow, "awaitfile": awaitFile,
			"fingerprint": fingerprint, "unconfirmed": unconfirmed, "charged": charged}})
}

// exits N COMMAND...: the command must end with exactly this exit code.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	if e, ok := err.(*exec.ExitError); ok {
		got = e.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

// alter FROM TO copies a text file with one character of its last line of
// content changed into another that is as good there.
func alter(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: alter FROM TO")
	}
	b, err := os.ReadFile(ts.MkAbs(args[0]))
	ts.Check(err)
	lines := strings.Split(string(b), "\n")
	last := 0
	for i, l := range lines {
		if l != "" && !strings.HasPrefix(l, "-----") {
			last = i
		}
	}
	l := []byte(lines[last])
	i := len(l) / 2
	if l[i] == '0' {
		l[i] = '1'
	} else {
		l[i] = '0' // a digit in hexadecimal and in base 64 alike
	}
	lines[last] = string(l)
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(strings.Join(lines, "\n")), 0o600))
}

// unconfirmed FOLDER takes the nodes' Confirms from the end of a folder's transcript.
func unconfirmed(ts *testscript.TestScript, _ bool, args []string) {
	path := filepath.Join(ts.MkAbs(args[0]), "transcript", "transcript.bin")
	b, err := os.ReadFile(path)
	ts.Check(err)
	entries, err := protocol.UnmarshalTranscript(b)
	ts.Check(err)
	for n := len(entries); protocol.Kind(entries[n-1][0]) == protocol.KindConfirm; n-- {
		entries = entries[:n-1]
	}
	ts.Check(os.WriteFile(path, protocol.MarshalTranscript(entries), 0o600))
}

// charged PLAN STORE makes a party's store whose ledger has all attempts of a plan like that of the file.
func charged(ts *testscript.TestScript, _ bool, args []string) {
	signed, err := terms.ReadPlan(ts.MkAbs(args[0]))
	ts.Check(err)
	before := *signed.Plan
	before.Name = "before"
	f, err := host.Open(ts.MkAbs(args[1]))
	ts.Check(err)
	spent := run.NewLedger(protocol.Bind(&before), new(ledger.Ledger), nil)
	for round := range before.Rounds {
		entry, seq, err := spent.Charge(round+1, 1)
		ts.Check(err)
		ts.Check(spent.Append(entry))
		ts.Check(f.Apply([]protocol.Record{{Key: fmt.Sprintf("ledger/%08d", seq), Value: entry}}))
	}
	ts.Check(f.Close())
}

// narrow: no line of the last command's output is longer than 80 columns.
func narrow(ts *testscript.TestScript, _ bool, _ []string) {
	for line := range strings.Lines(ts.ReadFile("stdout")) {
		if n := len([]rune(strings.TrimRight(line, "\n"))); n > cli.LineWidth {
			ts.Fatalf("%d columns: %s", n, line)
		}
	}
}

// ports is how many ports freeport has tried.
var ports atomic.Int64

// freeport VAR sets an environment variable to a TCP port that is free and stays so: it is
// below those that systems give away unasked, and no other script or test process gets it.
func freeport(ts *testscript.TestScript, _ bool, args []string) {
	for range 100 {
		port := strconv.FormatInt(20000+int64(os.Getpid()%100)*100+ports.Add(1)%100, 10)
		l, err := net.Listen("tcp", "127.0.0.1:"+port)
		if err != nil {
			continue
		}
		ts.Check(l.Close())
		ts.Setenv(args[0], port)
		return
	}
	ts.Fatalf("no port is free")
}

// awaitfile FILE waits until another process has written to a file.
func awaitFile(ts *testscript.TestScript, _ bool, args []string) {
	for range 12000 { // two minutes, far beyond what a busy machine needs
		if info, err := os.Stat(ts.MkAbs(args[0])); err == nil && info.Size() > 0 {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	ts.Fatalf("%s never came", args[0])
}

// fingerprint sets a variable to the fingerprint of the plan in a file that a verb has printed.
func fingerprint(ts *testscript.TestScript, _ bool, args []string) {
	for line := range strings.Lines(ts.ReadFile(args[0])) {
		if text, ok := strings.CutPrefix(line, "fingerprint: "); ok {
			ts.Setenv(args[1], strings.TrimSpace(text))
			return
		}
	}
	ts.Fatalf("no fingerprint in %s", args[0])
}
