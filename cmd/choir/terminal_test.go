//go:build unix

package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/spf13/cobra"

	"choir/cmd/internal/cli"
)

// Times of the watchdog. A verb must not be silent for longer than two seconds;
// the margin and the lag of this process, which runs on the same cores, are what
// a busy machine may add.
const (
	maxSilence = 2 * time.Second
	maxEnding  = time.Second
	margin     = 2 * time.Second
	lagFactor  = 10
	watched    = 3 * time.Second // longer than maxSilence
	tries      = 3               // a verb fails when it breaks a limit every time
)

// onTerminal is a verb that is run on a pseudo-terminal.
type onTerminal struct {
	name   string
	args   []string
	signal syscall.Signal // sent after watched; 0: the verb runs to its end
	code   int            // exit code
	shows  string         // regular expression that the output matches
}

// TestNoVerbIsSilent: on a terminal no verb is silent for longer than two
// seconds, and SIGINT and SIGTERM end each within one second.
func TestNoVerbIsSilent(t *testing.T) {
	path := binary(t)
	w := newWorkerSession(t)
	w.writeParty()
	w.writeMember(workerParties+2, "aggregator", "out_dir = \"out\"\n")
	w.server.Shutdown()
	party, err := os.ReadFile(w.path("party.toml"))
	if err != nil {
		t.Fatal(err)
	}
	w.write("serve.toml", strings.Replace(string(party), "plan_file = \"plan.choir\"\n", "", 1))
	w.write("rows.csv", "1,2\n3,4\n")
	w.write("schema.toml", "source = \"public: a test\"\nmissing = \"zero\"\nunseen = \"zero\"\n"+
		"[target]\nsick = [\"no\", \"yes\"]\n[columns]\nage = { lo = 0, hi = 100 }\n")
	w.write("plan.toml", "rounds = 5000\n[privacy]\nepsilon = 1\ndelta = 1e-5\n[learning]\n"+
		"schema_file = \"schema.toml\"\nrecords = 3000\n")
	for _, v := range watchedVerbs(w) {
		t.Run(v.name, func(t *testing.T) {
			t.Parallel()
			var wrong string
			for range tries {
				if wrong = v.watch(t, path); wrong == "" {
					return
				}
				t.Log(wrong)
				for _, out := range []string{"demo", "stopped", "experiment", "mcmc", "attack", "sweep", "rehearsal"} {
					os.RemoveAll(w.path(out))
				}
			}
			t.Errorf("%d times: %s", tries, wrong)
		})
	}
}

// watchedVerbs are the verbs that compute or wait for long.
func watchedVerbs(w *workerSession) []onTerminal {
	return slices.Concat(waitingVerbs(w), learningVerbs(w), studyVerbs(w))
}

func waitingVerbs(w *workerSession) []onTerminal {
	return []onTerminal{
		{name: "party without a broker", args: []string{"party", "--config", w.path("party.toml")},
			signal: syscall.SIGINT,
			code:   1,
			shows:  `waiting for the broker at nats://\S+ since \d\d:.*refused(?s:.*)stopped before the end`},
		{name: "broker", args: []string{"broker", "--listen", "127.0.0.1:0", "--store", w.path("streams"),
			"--token-file",
			w.path("token")}, signal: syscall.SIGTERM, code: 0, shows: "choir broker"},
		{name: "sum", args: []string{"sum", "--input", w.path("rows.csv")}, code: 0, shows: `(?m)^4\r?\n6`},
		{name: "node without a broker", args: []string{"compute", "--config", w.path("node.toml")},
			signal: syscall.SIGTERM, code: 1, shows: "stopped before the end of the session"},
		{name: "aggregator without a broker", args: []string{"aggregator", "--config", w.path("aggregator.toml")},
			signal: syscall.SIGINT, code: 1, shows: "stopped before the end of the session"},
		{name: "serve", args: []string{"serve", w.dir, "--config", w.path("serve.toml")},
			signal: syscall.SIGINT, code: 0, shows: "waiting for the broker"},
	}
}

func learningVerbs(w *workerSession) []onTerminal {
	return []onTerminal{
		{name: "demo", args: []string{"demo", "--rounds", "2", "--parties", "3", "--out", w.path("demo")}, code: 0,
			shows: `2/2(?s:.*)computing the references(?s:.*)secure sum`},
		{name: "demo stopped", args: []string{"demo", "--rounds", "500", "--parties", "3", "--out",
			w.path("stopped")},
			signal: syscall.SIGINT, code: 1, shows: "interrupted"},
		{name: "demo mcmc", args: []string{"demo", "--method", "mcmc", "--out", w.path("mcmc")},
			signal: syscall.SIGTERM, code: 1, shows: "interrupted"},
		{name: "rehearse", args: []string{"rehearse", w.path("plan.toml"), "--out", w.path("rehearsal")},
			signal: syscall.SIGINT, code: 1, shows: "a rehearsal: not private"},
		{name: "plan advise", args: []string{"plan", "advise", "--schema", w.path("schema.toml"), "--records",
			"20000,20000,20000", "--worlds", "50"}, signal: syscall.SIGINT, code: 1, shows: "interrupted"},
	}
}

func studyVerbs(w *workerSession) []onTerminal {
	sampled := strings.Fields("account --solve sigma --epsilon 1 --clip 1 --relation replace " +
		"--steps 100000 --sample-rate 0.01 --sampling without-replacement")
	return []onTerminal{
		{name: "simulate", args: []string{"simulate", "--seeds", "10000000"}, signal: syscall.SIGINT, code: 1,
			shows: `seeds/s.*left(?s:.*)sessions from seed 1(?s:.*)interrupted after \d+ of`},
		{name: "account", args: sampled, signal: syscall.SIGTERM, code: 1,
			shows: "searching for the noise.*(?s:.*)interrupted"},
		{name: "experiment", args: []string{"experiment", "run", "noisy-factors", "--seeds", "20", "--out",
			w.path("experiment")},
			signal: syscall.SIGINT, code: 1, shows: `\d+ of \d+ steps`},
		{name: "bench audit", args: []string{"bench", "audit", "--repeats", "50"}, signal: syscall.SIGTERM, code: 1,
			shows: "choir bench audit"},
		{name: "attack run", args: []string{"attack", "run", "--parties", "4", "--time", "0", "--out",
			w.path("attack")}, signal: syscall.SIGTERM, code: 1, shows: "interrupted"},
		{name: "attack sweep", args: []string{"attack", "sweep", "--parties", "8", "--time", "0", "--out",
			w.path("sweep")}, signal: syscall.SIGINT, code: 1, shows: "interrupted"},
		{name: "bench dca",
			args:   []string{"bench", "dca", "--parties", "100", "--dim", "10000", "--repeats", "200"},
			signal: syscall.SIGINT, code: 1, shows: "N = 100, d = 10000, M = 3: "},
	}
}

// TestVerbsThatEndThemselves: a verb that is not abandoned on a signal, because it closes stores or has a
// partial report, is watched above. All others end by the same code, and all have the status line.
func TestVerbsThatEndThemselves(t *testing.T) {
	watched := map[string]bool{
		"choir compute-worker": true, // TestWorkersKilled
	}
	for _, v := range watchedVerbs(&workerSession{}) {
		watched["choir "+v.args[0]] = true
	}
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		if c.Annotations[cli.EndsItself] != "" && !watched[c.CommandPath()] {
			t.Errorf("%s ends by itself, and no row of TestNoVerbIsSilent runs it", c.CommandPath())
		}
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(root(&cli.App{}))
}

// TestWatchdogNoticesSilence: the test above would notice.
func TestWatchdogNoticesSilence(t *testing.T) {
	silent := onTerminal{args: []string{"-c", "echo begun; sleep 1000"}, signal: syscall.SIGKILL}
	if wrong := silent.watch(t, "/bin/sh"); !strings.Contains(wrong, "silent") {
		t.Errorf("not noticed: %q", wrong)
	}
	deaf := onTerminal{args: []string{"-c", `trap "" INT; while echo here; do sleep 1; done`},
		signal: syscall.SIGINT}
	if wrong := deaf.watch(t, "/bin/sh"); !strings.Contains(wrong, "still runs") {
		t.Errorf("not noticed: %q", wrong)
	}
}

// lagMeter finds out how late this process is scheduled.
func lagMeter(stop <-chan struct{}) (largest func() time.Duration) {
	const step = 20 * time.Millisecond
	lags := make(chan time.Duration, 1)
	lags <- 0
	go func() {
		for {
			begun := time.Now()
			select {
			case <-stop:
				return
			case <-time.After(step):
			}
			lags <- max(<-lags, time.Since(begun)-step)
		}
	}()
	return func() time.Duration {
		l := <-lags
		lags <- l
		return l
	}
}

// watch runs the verb on a terminal and returns what is wrong with it.
func (v onTerminal) watch(t *testing.T, path string) (wrong string) {
	t.Helper()
	stop := make(chan struct{})
	defer close(stop)
	lag := lagMeter(stop)
	cmd := exec.Command(path, v.args...)
	cmd.Env = append(os.Environ(), "TERM=xterm", "NO_COLOR=1")
	tty, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 24, Cols: 120})
	if err != nil {
		t.Fatal(err)
	}
	defer tty.Close()
	limit := func(d time.Duration) time.Duration { return d + margin + lagFactor*lag() }
	r := reading{chunks: make(chan []byte)}
	go r.read(tty)
	defer r.drain()
	// The whole group: a child that ignores the hang-up would keep the terminal open. It is an
	// error when all have ended.
	defer func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }()
	if wrong := r.follow(v.signal != 0, limit); wrong != "" {
		return wrong
	}
	if v.signal != 0 && r.ended {
		v.code, v.shows = 0, "" // a machine on which the verb is done by now
	} else if v.signal != 0 {
		if err := cmd.Process.Signal(v.signal); err != nil {
			return err.Error()
		}
		if !r.end(func() time.Duration { return limit(maxEnding) }) {
			return "still runs after " + limit(maxEnding).String()
		}
	}
	return v.check(cmd.Wait(), r.text.String())
}

func (v onTerminal) check(err error, output string) (wrong string) {
	code := 0
	if exit := new(exec.ExitError); errors.As(err, &exit) {
		code = exit.ExitCode()
	}
	if code != v.code || !regexp.MustCompile(v.shows).MatchString(output) {
		return fmt.Sprintf("exit code %d, %v, output:\n%s", code, err, tail(output))
	}
	return ""
}

// reading is the output of a terminal.
type reading struct {
	chunks chan []byte
	text   strings.Builder
	ended  bool
}

func (r *reading) read(tty *os.File) {
	defer close(r.chunks)
	for {
		b := make([]byte, 4096)
		n, err := tty.Read(b)
		if n > 0 {
			r.chunks <- b[:n]
		}
		if err != nil {
			return // a terminal whose last process has ended gives an error
		}
	}
}

func (r *reading) take(b []byte, ok bool) {
	r.text.Write(b)
	r.ended = r.ended || !ok
}

// follow reads until the end, or until the first output after the time watched,
// and returns what is wrong: silence.
func (r *reading) follow(some bool, limit func(time.Duration) time.Duration) (wrong string) {
	begun := time.Now()
	for last := begun; !r.ended; {
		select {
		case b, ok := <-r.chunks:
			r.take(b, ok)
			last = time.Now()
			if some && last.Sub(begun) > watched {
				return ""
			}
		case <-time.After(100 * time.Millisecond):
			if silence := time.Since(last); silence > limit(maxSilence) {
				return "silent for " + silence.String() + " after:\n" + tail(r.text.String())
			}
		}
	}
	return ""
}

// end reads to the end, and reports whether that came within the limit.
func (r *reading) end(limit func() time.Duration) bool {
	for begun := time.Now(); !r.ended; {
		select {
		case b, ok := <-r.chunks:
			r.take(b, ok)
		case <-time.After(100 * time.Millisecond):
			if time.Since(begun) > limit() {
				return false
			}
		}
	}
	return true
}

func (r *reading) drain() {
	for range r.chunks {
	}
}
