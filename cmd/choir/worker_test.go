//go:build unix

package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	mathrand "math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"choir/crypto/channel"
	"choir/crypto/identity"
	"choir/host"
	"choir/internal/supervise"
	"choir/privacy/ledger"
	"choir/protocol"
	sessionapp "choir/session/app"
	sessionrun "choir/session/run"
	"choir/session/terms"
	"choir/transport/natsbus"
	"choir/transport/natsbus/embedded"
)

const (
	workerParties = 8
	workerRounds  = 12     // enough for a check every 400 ms to find each half in progress
	workerDim     = 70_000 // two chunks
)

// workerSession is a sum under one plan, whose first compute node is a process with two
// its own workers; the other members run in the test.
type workerSession struct {
	t      *testing.T
	dir    string
	server *embedded.Server
	s      protocol.BoundPlan
	keys   []*identity.PrivateKey // by member
	rounds atomic.Int64           // settled, as the aggregator sees it
	stores []host.Store
}

func newWorkerSession(t *testing.T) *workerSession {
	t.Helper()
	w := &workerSession{t: t, dir: t.TempDir()}
	w.write("pass", "a long passphrase\n")
	w.write("token", "s3cret\n")
	var err error
	if w.server, err = embedded.Start(embedded.Config{StoreDir: t.TempDir(), Listen: "127.0.0.1:0",
		TokenFile: w.path("token")}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.server.Shutdown)
	w.makePlan()
	w.writeMember(workerParties, "node", "")
	return w
}

// writeMember writes a member's key and configuration.
func (w *workerSession) writeMember(i uint32, name, more string) {
	w.t.Helper()
	costs := identity.KeyFileConfig{Params: identity.Params{Time: 1, MemoryKiB: 64, Lanes: 1}, Rand: rand.Reader}
	if err := identity.WriteKeyFile(w.path(name+".key"), w.keys[i], w.s.Name(i),
		[]byte("a long passphrase"), costs); err != nil {
		w.t.Fatal(err)
	}
	w.write(name+".toml", fmt.Sprintf(`plan_file = "plan.choir"
key_file = "%[1]s.key"
passphrase_file = "pass"
store_file = "%[1]s.db"
%[2]s[bus]
url = %[3]q
token_file = "token"
[timing]
resend = "1s"
`, name, more, w.server.ClientURL()))
}

// writeParty writes a party's key, data and configuration.
func (w *workerSession) writeParty() {
	w.t.Helper()
	w.write("party.csv", strings.Repeat("0,", workerDim-1)+"0\n")
	w.writeMember(0, "party", "data_file = \"party.csv\"\n")
}

// makePlan makes the members' keys and a plan that all have signed.
func (w *workerSession) makePlan() {
	w.t.Helper()
	ts := terms.Terms{Name: "workers", Created: time.Now(), Lifetime: time.Hour, Suite: channel.SuiteX25519,
		Deadline: time.Minute}
	for i := range workerParties + 3 {
		k, err := identity.Generate(rand.Reader)
		if err != nil {
			w.t.Fatal(err)
		}
		name, role := fmt.Sprintf("party-%d", i), protocol.RoleParty
		if i >= workerParties {
			name, role = fmt.Sprintf("node-%d", i-workerParties), protocol.RoleCompute
		}
		if i == workerParties+2 {
			name, role = "aggregator", protocol.RoleAggregator
		}
		w.keys, ts.Members = append(w.keys, k), append(ts.Members, terms.NewMember(name, role, k.Public()))
	}
	p, err := ts.Sum(terms.SumTerms{Dim: workerDim, PerParty: 1 << 40})
	if err != nil {
		w.t.Fatal(err)
	}
	p.Rounds = workerRounds // a plan of sums has one
	w.s = protocol.Bind(p)
	signed := &protocol.SignedPlan{Plan: p}
	for _, k := range w.keys {
		if err := signed.Sign(k); err != nil {
			w.t.Fatal(err)
		}
	}
	text, err := signed.MarshalText()
	if err != nil {
		w.t.Fatal(err)
	}
	w.write("plan.choir", string(text))
}

func (w *workerSession) path(name string) string { return filepath.Join(w.dir, name) }

func (w *workerSession) write(name, content string) {
	w.t.Helper()
	if err := os.WriteFile(w.path(name), []byte(content), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

// slow proposes a party's vector after a moment.
type slow struct{ sessionapp.Fixed }

func (s slow) Propose(ctx context.Context, w protocol.Work) ([]int64, []byte, error) {
	select {
	case <-time.After(200 * time.Millisecond):
	case <-ctx.Done():
	}
	return s.Fixed.Propose(ctx, w)
}

// value is a party's coordinate j.
func value(party, j int) int64 { return int64(party+1) * int64(j%1000-300) }

// role runs a member in this process to its end.
func (w *workerSession) role(ctx context.Context, i uint32) error {
	bus, err := natsbus.Open(ctx,
		natsbus.Config{URL: w.server.ClientURL(), TokenFile: w.path("token"), Plan: w.s.ID.Short(),
			Name: w.s.Name(i)})
	if err != nil {
		return err
	}
	defer bus.Close()
	if err := bus.EnsureStream(ctx); err != nil {
		return err
	}
	made := sessionapp.Sum{Dim: workerDim}
	r := &sessionrun.Role{Session: w.s, Key: w.keys[i], Store: w.stores[i], Bus: bus, Rand: rand.Reader,
		Resend: time.Second, Model: made, App: made,
		Ledger: sessionrun.NewLedger(w.s, new(ledger.Ledger), nil)}
	v := make(sessionapp.Fixed, workerDim)
	for j := range v {
		v[j] = value(int(i), j)
	}
	r.Proposer = slow{v}
	r.Notify = func(n protocol.Notice) {
		if i == w.s.Plan.Aggregator() && n.Code == protocol.NoteResult {
			w.rounds.Add(1)
			if n.Count != workerParties {
				w.t.Errorf("round %d counts %d parties", n.Round, n.Count)
			}
		}
	}
	return r.Run(ctx)
}

// node starts the compute node's process; it ends with ctx, and its workers with it.
func (w *workerSession) node(ctx context.Context, log *bytes.Buffer) (*exec.Cmd, <-chan error) {
	cmd := exec.CommandContext(ctx, binary(w.t), "compute", "--config", w.path("node.toml"), "--workers", "2")
	cmd.Stderr = log
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	return cmd, done
}

// killWorker kills one of the workers with SIGKILL, unless none runs, and takes its store
// away, perhaps.
func (w *workerSession) killWorker(rng *mathrand.Rand, wipe bool) bool {
	b, err := os.ReadFile(w.path("node.db.workers.json"))
	var table supervise.Table
	if err != nil || json.Unmarshal(b, &table) != nil || len(table.Processes) != 2 {
		return false // not yet written
	}
	rows, k := table.Processes, rng.IntN(2)
	if rows[k].PID <= 0 || syscall.Kill(rows[k].PID, syscall.SIGKILL) != nil {
		return false
	}
	if wipe {
		_ = os.Remove(w.path(fmt.Sprintf("node.db.worker-%d", k))) // it may not have made it yet
	}
	return true
}

// TestWorkersKilled kills the workers of a compute node with SIGKILL again and again, some
// with their stores, and the node's own process once, over a real broker. Every round's
// sum is exact, over all parties, and the session ends.
func TestWorkersKilled(t *testing.T) {
	binary(t) // before the time begins to run
	w := newWorkerSession(t)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for range w.keys {
		w.stores = append(w.stores, host.NewRam())
	}
	var group sync.WaitGroup
	for i := range uint32(len(w.keys)) {
		if i == workerParties {
			continue
		}
		group.Go(func() {
			if err := w.role(ctx, i); err != nil {
				t.Errorf("%s: %v", w.s.Name(i), err)
				cancel()
			}
		})
	}
	k := &workerKills{w: w, cancel: cancel, last: -1, rng: mathrand.New(mathrand.NewPCG(6, 3))}
	k.run(ctx)
	group.Wait()
	if w.rounds.Load() != workerRounds || k.kills < 2 || k.wiped < 1 || !k.nodeKilled {
		t.Errorf("%d rounds, %d kills, %d with the store, of the node: %t\n%s", w.rounds.Load(), k.kills, k.wiped,
			k.nodeKilled, tail(k.log.String()))
	}
	w.checkModel()
	if n := strings.Count(k.log.String(), `"event":"revealed"`); n < workerRounds {
		t.Errorf("the node logged %d reveals", n)
	}
	if !strings.Contains(k.log.String(), "a worker of this node, was killed by a signal and is started again") {
		t.Error("the node does not tell of a killed worker")
	}
	t.Logf("%d rounds, %d kills of workers, %d with their stores", workerRounds, k.kills, k.wiped)
}

// checkModel checks the aggregator's model, which is the exact sum.
func (w *workerSession) checkModel() {
	w.t.Helper()
	model, _ := protocol.UnpackInts(w.stores[w.s.Plan.Aggregator()].Get("model"))
	if len(model) != workerDim {
		w.t.Fatalf("a model of %d coordinates", len(model))
	}
	for j, got := range model {
		if want := value(0, j) * workerParties * (workerParties + 1) / 2; got != want {
			w.t.Fatalf("coordinate %d: %d, want %d", j, got, want)
		}
	}
}

// workerKills runs the compute node and kills its processes.
type workerKills struct {
	w      *workerSession
	cancel func()
	rng    *mathrand.Rand
	log    bytes.Buffer // of the node

	kills, wiped int   // of workers; with their stores
	nodeKilled   bool  // once
	last         int64 // settled rounds at the last kill
}

// run starts the node and kills processes until the node ends.
func (k *workerKills) run(ctx context.Context) {
	cmd, done := k.w.node(ctx, &k.log)
	for {
		select {
		case err := <-done:
			if err != nil {
				k.w.t.Errorf("the node: %v\n%s", err, tail(k.log.String()))
				k.cancel()
			}
			return
		case <-time.After(time.Duration(100+k.rng.IntN(300)) * time.Millisecond):
		}
		settled := k.w.rounds.Load()
		switch {
		case settled >= workerRounds-2 || settled == k.last: // let it run
		case settled >= workerRounds/2 && !k.nodeKilled:
			k.nodeKilled = true
			if err := cmd.Process.Kill(); err != nil {
				k.w.t.Error(err)
			}
			<-done
			cmd, done = k.w.node(ctx, &k.log)
		case k.w.killWorker(k.rng, k.kills%2 == 1):
			k.last = settled
			if k.kills++; k.kills%2 == 0 {
				k.wiped++
			}
		}
	}
}

func tail(s string) string { return s[max(0, len(s)-4000):] }
