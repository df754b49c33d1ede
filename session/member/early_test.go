package member_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"choir/internal/config"
	"choir/protocol"
	"choir/session/internal/rig"
	"choir/session/internal/site"
	"choir/session/member"
	"choir/session/result"
	"choir/transport/natsbus/embedded"
)

// learning is a plan's file of some rounds, and csv a party's records for it.
const (
	learning = "rounds = 40\n[privacy]\nepsilon = 8.0\ndelta = 1e-5\n" +
		"[learning]\nschema_file = \"schema.json\"\n"
	schema = `{"version":1,"source":"a test","target":{"name":"died","categories":["no","yes"]},` +
		`"columns":[{"name":"age","numeric":{"lo":0,"hi":100,"center":50,"scale":50}}],` +
		`"missing":"zero","unseen":"zero"}`
)

func records() string {
	return "age,died\n" + strings.Repeat("30,no\n70,yes\n", 20)
}

// brokerOf starts a broker whose token is in a folder.
func brokerOf(t *testing.T, dir string) member.BusConfig {
	t.Helper()
	token := rig.WriteFile(t, dir, "token", "s3cret\n")
	config := embedded.Config{StoreDir: t.TempDir(), Listen: "127.0.0.1:0", TokenFile: token}
	server, err := embedded.Start(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Shutdown)
	return member.BusConfig{URL: server.ClientURL(), TokenFile: token}
}

var roles = map[string]protocol.Role{"party-a": protocol.RoleParty, "party-b": protocol.RoleParty,
	"node-a": protocol.RoleCompute, "node-b": protocol.RoleCompute, "agg": protocol.RoleAggregator}

// TestEarlyEndLeavesTheModel ends a session in which a party has left: the aggregator and a party
// have the model after the last settled round, the error names who was missing, and a store can be
// exported.
func TestEarlyEndLeavesTheModel(t *testing.T) {
	dir := t.TempDir()
	rig.WriteFile(t, dir, "schema.json", schema)
	configOf := site.DeployPlan(t, dir, time.Now(), learning, rig.WriteFile(t, dir, "a.csv", records()))
	bus := brokerOf(t, dir)
	errs := map[string]chan error{}
	var scored bytes.Buffer
	for name, role := range roles {
		var log io.Writer = io.Discard
		c := configOf(name)
		c.Bus = bus
		if role != protocol.RoleCompute {
			c.OutDir = filepath.Join(dir, name+"-out")
		}
		if name == "agg" {
			c.Timing.GiveUp = config.Duration{Duration: time.Second}
			c.TestFile = rig.WriteFile(t, dir, "test.csv", records())
			log = &scored
		}
		m, err := member.Open(c, role, slog.New(slog.NewTextHandler(log, nil)), time.Now())
		if err != nil {
			t.Fatal(name, err)
		}
		if name == "party-b" {
			m.LeaveAfter = 2
		}
		ended := make(chan error, 1)
		errs[name] = ended
		go func() { ended <- m.Run(t.Context()) }()
	}
	for name, ended := range errs {
		t.Run(name, func(t *testing.T) {
			if err := <-ended; name != "party-b" && (protocol.ClassOf(err) != protocol.ClassQuorum ||
				!strings.Contains(err.Error(), "no contribution from party-b")) {
				t.Errorf("%v", err)
			}
		})
	}
	if !strings.Contains(scored.String(), "event=scores round=2 rows=40 accuracy=") {
		t.Errorf("no scores of round 2 in the aggregator's log:\n%s", scored.String())
	}
	before, after, ok := strings.Cut(scored.String(), "event=writing")
	if !ok || strings.Contains(before, "event=stopped") || !strings.Contains(after, "event=written") ||
		!strings.Contains(after[strings.LastIndexByte(strings.TrimSpace(after), '\n'):], "event=stopped") {
		t.Errorf("the events of the end:\n%s", after)
	}
	for _, name := range []string{"agg", "party-a"} {
		checkOutcome(t, filepath.Join(dir, name+"-out"), name)
	}
	if _, err := os.Stat(filepath.Join(dir, "agg-out", "transcript", result.TranscriptFile)); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "party-a-out", "ledger.json")); err != nil {
		t.Error(err)
	}
	for _, name := range []string{"agg", "party-a", "party-b"} {
		out := filepath.Join(dir, name+"-export")
		if _, err := member.Export(filepath.Join(dir, name+".db"), "", out); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if name != "party-b" {
			checkOutcome(t, out, name)
		}
	}
	_, err := member.Export(filepath.Join(dir, "node-a.db"), "", dir)
	if protocol.ClassOf(err) != protocol.ClassInput || !strings.Contains(err.Error(), "compute node") {
		t.Errorf("a node's store: %v", err)
	}
	_, err = member.Export(filepath.Join(dir, "agg.db"), "ffff", dir)
	if protocol.ClassOf(err) != protocol.ClassInput || !strings.Contains(err.Error(), "names 0 of the plans") {
		t.Errorf("another plan: %v", err)
	}
}

// checkOutcome checks the files of a session that ended after at least two of its rounds.
func checkOutcome(t *testing.T, dir, name string) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, "session.json"))
	if err != nil {
		t.Error(err)
		return
	}
	var o member.Outcome
	if err := json.Unmarshal(b, &o); err != nil {
		t.Fatal(err)
	}
	if o.Member != name || o.Settled < 2 || o.Settled > 39 || o.Completed ||
		!strings.Contains(o.Ended, "party-b") {
		t.Errorf("%s: %+v", name, o)
	}
	if _, err := result.ReadModel(filepath.Join(dir, "model.npz")); err != nil {
		t.Error(err)
	}
}

// TestBudgetHoldsTheWholePlan refuses a plan that a party's own budget does not cover to its end,
// before anything is sent: nothing answers at the broker's address.
func TestBudgetHoldsTheWholePlan(t *testing.T) {
	dir := t.TempDir()
	rig.WriteFile(t, dir, "schema.json", schema)
	configOf := site.DeployPlan(t, dir, time.Now(), learning, rig.WriteFile(t, dir, "a.csv", records()))
	c := configOf("party-a")
	c.Budget = member.BudgetConfig{Epsilon: 7, Delta: 1e-5}
	m, err := member.Open(c, protocol.RoleParty, slog.New(slog.DiscardHandler), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Run(t.Context()); protocol.ClassOf(err) != protocol.ClassBudget ||
		!strings.Contains(err.Error(), "attempts that are left") {
		t.Errorf("error %v", err)
	}
}

// TestAlteredData refuses a file whose values the encoding would change more than the site allows,
// and logs what it changes otherwise.
func TestAlteredData(t *testing.T) {
	dir := t.TempDir()
	rig.WriteFile(t, dir, "schema.json", schema)
	months := strings.ReplaceAll(records(), "70", "840") + ",yes\n"
	configOf := site.DeployPlan(t, dir, time.Now(), learning, rig.WriteFile(t, dir, "a.csv", months))
	open := func(most config.Share) (string, error) {
		c := configOf("party-a")
		c.MaxAltered = most
		var log strings.Builder
		_, err := member.Open(c, protocol.RoleParty, slog.New(slog.NewTextHandler(&log, nil)), time.Now())
		return log.String(), err
	}
	log, err := open(0)
	if err != nil || !strings.Contains(log, "level=WARN") || !strings.Contains(log, "event=data") ||
		!strings.Contains(log, "of 41 values 20 outside the schema's bounds and clipped, 1 missing") {
		t.Errorf("%v, log %s", err, log)
	}
	if _, err := open(0.6); err != nil {
		t.Error(err)
	}
	_, err = open(0.1)
	if protocol.ClassOf(err) != protocol.ClassInput || !strings.Contains(err.Error(), `column "age"`) ||
		!strings.Contains(err.Error(), "max_altered") {
		t.Errorf("error %v", err)
	}
}

// TestStoppedSessionVerifies stops the aggregator between its rounds and the others after it: what it
// wrote, and what its store exports, verifies up to the last settled round.
func TestStoppedSessionVerifies(t *testing.T) {
	dir := t.TempDir()
	rig.WriteFile(t, dir, "schema.json", schema)
	configOf := site.DeployPlan(t, dir, time.Now(), learning, rig.WriteFile(t, dir, "a.csv", records()))
	bus := brokerOf(t, dir)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var all sync.WaitGroup
	for name, role := range roles {
		c := configOf(name)
		c.Bus = bus
		if name == "agg" {
			c.OutDir = filepath.Join(dir, "out")
		}
		m, err := member.Open(c, role, slog.New(slog.DiscardHandler), time.Now())
		if err != nil {
			t.Fatal(name, err)
		}
		if name == "agg" {
			m.LeaveAfter = 3
		}
		all.Go(func() {
			if err := m.Run(ctx); name == "agg" && err != nil {
				t.Errorf("aggregator: %v", err)
			}
			if name == "agg" {
				stop()
			}
		})
	}
	all.Wait()
	if _, err := member.Export(filepath.Join(dir, "agg.db"), "", filepath.Join(dir, "export")); err != nil {
		t.Error(err)
	}
	for _, folder := range []string{"out", "export"} {
		r, err := result.VerifyFolder(filepath.Join(dir, folder))
		if err != nil || !r.Stopped || r.Completed() || r.Rounds() < 3 || r.Rounds() > 39 {
			t.Errorf("%s: %+v, %v", folder, r, err)
		}
	}
}
