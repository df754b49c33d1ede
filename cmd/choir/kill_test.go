//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"choir/internal/supervise"
	"choir/lab/experiment"
)

const (
	killRuns   = 21 // three for each of the seven processes
	killRounds = 40 // enough that a session is still under way when the last process is hit
)

// tally counts, over all runs, who was hit.
type tally struct {
	mu       sync.Mutex
	hits     map[string]int
	prefixes int // ledgers compared with an earlier state of themselves
}

func (c *tally) hit(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.hits[name]++
}

// TestKilledAnywhere kills processes of a demonstration with SIGKILL at random
// moments: in every run one of them, each in its turn, and two more; in every
// fifth run the supervising process as well, which another then carries on.
// Whatever happens, the session completes, and afterwards the stores and
// the broker's history show that no member acted twice.
func TestKilledAnywhere(t *testing.T) {
	names := []string{"broker", "party-01", "party-02", "party-03", "compute-01", "compute-02", "aggregator"}
	c := &tally{hits: map[string]int{}}
	t.Run("runs", func(t *testing.T) {
		for i := range killRuns {
			t.Run(fmt.Sprint(i), func(t *testing.T) {
				t.Parallel()
				k := &killRun{t: t, tally: c, rng: rand.New(rand.NewPCG(uint64(i), 20)), dir: t.TempDir(), exe: binary(t)}
				k.run(names, names[i%len(names)], i%5 == 4)
			})
		}
	})
	total := 0
	for _, name := range names {
		total += c.hits[name]
		if c.hits[name] == 0 {
			t.Errorf("%s was never hit while it ran", name)
		}
	}
	if total < killRuns || c.hits["supervisor"] == 0 || c.prefixes == 0 {
		t.Errorf("only %d kills, %d of the supervisor, %d ledgers compared", total, c.hits["supervisor"],
			c.prefixes)
	}
	t.Logf("kills: %v; %d ledgers compared with what they were", c.hits, c.prefixes)
}

// killRun is one demonstration under fire.
type killRun struct {
	*tally
	t    *testing.T
	rng  *rand.Rand
	dir  string
	exe  string
	olds map[string][]string // copies of killed parties' stores, by party
}

func (k *killRun) out() string { return filepath.Join(k.dir, "out") }

func (k *killRun) run(names []string, first string, parent bool) {
	data, schema := smallData(k.t, k.dir)
	k.olds = map[string][]string{}
	demo := k.start("demo", "--processes", "--format", "json", "--out", k.out(), "--parties", "3", "--computes",
		"2",
		"--rounds", fmt.Sprint(killRounds), "--data", data, "--schema", schema, "--shards", "4", "--epsilon", "5")
	// the supervisor goes before one of the three, never after the last: it is over soonest
	when := k.rng.IntN(3)
	for i, name := range []string{first, names[k.rng.IntN(len(names))], names[k.rng.IntN(len(names))]} {
		if parent && i == when {
			demo = k.killSupervisor(demo)
		}
		if !k.kill(name, demo) && i == 0 {
			k.t.Logf("%s was done before it could be killed", name)
		}
	}
	res := demo.result(k.t)
	if res.Rounds != killRounds || res.Parties != 3 || !(res.Epsilon > 0 && res.Epsilon <= 5) ||
		res.Result == (experiment.Scores{}) {
		k.t.Errorf("result: %+v", res)
	}
	(&aftermath{t: k.t, dir: k.out(), rounds: killRounds}).check(k)
}

// killSupervisor kills the supervising process a random moment after its table
// of processes appears and lets another carry on, unless the demonstration is
// over.
func (k *killRun) killSupervisor(demo *demoProcess) *demoProcess {
	for started := false; !started && demo.running(); _, started = k.row("aggregator") {
		time.Sleep(5 * time.Millisecond)
	}
	time.Sleep(time.Duration(k.rng.Int64N(int64(600 * time.Millisecond))))
	if !demo.running() {
		return demo
	}
	if err := demo.cmd.Process.Kill(); err != nil {
		k.t.Fatal(err)
	}
	<-demo.done
	k.hit("supervisor")
	return k.start("demo", "--resume", k.out(), "--format", "json")
}

// kill waits a random moment, then kills the process that has the name by
// then, unless the demonstration is over.
func (k *killRun) kill(name string, d *demoProcess) bool {
	time.Sleep(time.Duration(k.rng.Int64N(int64(600 * time.Millisecond))))
	for d.running() {
		row, ok := k.row(name)
		if ok && row.State == supervise.Done {
			return false
		}
		if ok && row.PID > 0 && syscall.Kill(row.PID, syscall.SIGKILL) == nil {
			k.hit(name)
			k.keepStore(name, row.PID)
			return true
		}
		time.Sleep(5 * time.Millisecond)
	}
	return false
}

func (k *killRun) row(name string) (supervise.Row, bool) {
	b, err := os.ReadFile(filepath.Join(k.out(), "processes.json"))
	if err != nil {
		return supervise.Row{}, false
	}
	var table supervise.Table
	if err := json.Unmarshal(b, &table); err != nil {
		k.t.Fatal(err) // the table is written whole or not at all
	}
	for _, r := range table.Processes {
		if r.Name == name {
			return r, true
		}
	}
	return supervise.Row{}, false
}

// keepStore copies a killed party's store, if there is one, before the restarted
// process opens it; a copy that the new process may have changed is dropped.
func (k *killRun) keepStore(name string, pid int) {
	from := filepath.Join(k.out(), "members", name, "store.db")
	if b, err := os.ReadFile(from); err == nil && len(b) > 0 && name[0] == 'p' {
		if row, ok := k.row(name); !ok || (row.PID != 0 && row.PID != pid) {
			return
		}
		to := filepath.Join(k.dir, fmt.Sprintf("%s-%d.db", name, len(k.olds[name])))
		if err := os.WriteFile(to, b, 0o600); err != nil {
			k.t.Fatal(err)
		}
		k.olds[name] = append(k.olds[name], to)
	}
}

// demoProcess is a choir demo under way.
type demoProcess struct {
	cmd         *exec.Cmd
	out, stderr bytes.Buffer
	done        chan struct{}
	err         error
}

func (k *killRun) start(args ...string) *demoProcess {
	d := &demoProcess{cmd: exec.Command(k.exe, args...), done: make(chan struct{})}
	d.cmd.Stdout, d.cmd.Stderr = &d.out, &d.stderr
	if err := d.cmd.Start(); err != nil {
		k.t.Fatal(err)
	}
	go func() {
		d.err = d.cmd.Wait()
		close(d.done)
	}()
	return d
}

func (d *demoProcess) running() bool {
	select {
	case <-d.done:
		return false
	default:
		return true
	}
}

// patience is far beyond what a run takes on a busy machine.
const patience = 8 * time.Minute

func (d *demoProcess) result(t *testing.T) experiment.Result {
	t.Helper()
	select {
	case <-d.done:
	case <-time.After(patience):
		_ = d.cmd.Process.Kill()
		<-d.done
		t.Fatalf("not over after %s:\n%s", patience, d.stderr.String())
	}
	var r experiment.Result
	if err := json.Unmarshal(d.out.Bytes(), &r); err != nil {
		t.Fatalf("stdout isn't one JSON object: %v, %v\n%s\n%s", err, d.err, d.out.String(), d.stderr.String())
	}
	// Three rounds over so few rows may be worse than the majority, which the exit code tells.
	if (d.err != nil) != (r.Worse() != "") {
		t.Fatalf("%v, worse than the majority: %q\n%s", d.err, r.Worse(), d.stderr.String())
	}
	return r
}
