package member_test

import (
	"context"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"choir/crypto/identity"
	"choir/protocol"
	"choir/session/internal/rig"
	"choir/session/internal/site"
	"choir/session/member"
	"choir/session/terms"
)

// lockedText is a log that may be read while it grows.
type lockedText struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lockedText) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *lockedText) has(want string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Contains(l.text.String(), want)
}

// TestServe lets a party serve two plans of a consortium: one that a person approves, and one that
// its policy allows after a restart. The first is not run twice.
func TestServe(t *testing.T) {
	dir, configOf := site.Deploy(t, time.Now())
	bus := brokerOf(t, dir)
	share := t.TempDir()
	propose := func(name string) terms.Consortium {
		t.Helper()
		cards := "parties = [\"party-a.card\", \"party-b.card\"]\ncomputes = [\"node-a.card\", \"node-b.card\"]\n"
		folder := filepath.Join(share, name)
		if err := os.MkdirAll(folder, 0o700); err != nil {
			t.Fatal(err)
		}
		cards = strings.ReplaceAll(cards+"aggregator = \"agg.card\"\n", "\"", "\""+dir+"/")
		cards = strings.ReplaceAll(cards, "card\""+dir+"/", "card\"")
		rig.WriteFile(t, folder, "plan.toml", "name = \""+name+"\"\nlifetime = \"24h\"\n"+cards+
			"[sum]\ncolumns = 1\nbound = 10.0\n")
		c := terms.Consortium(folder)
		if _, missing, err := c.Propose(time.Now()); err != nil || len(missing) > 0 {
			t.Fatal(missing, err)
		}
		return c
	}
	approve := func(c terms.Consortium, names ...string) {
		t.Helper()
		plan, err := c.Proposed()
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			key, pass := filepath.Join(dir, name+".key"), filepath.Join(dir, "pass")
			if err := c.Approve(terms.Fingerprint(plan.Plan.ID()), key, pass, time.Now()); err != nil {
				t.Fatal(name, err)
			}
		}
	}
	config := configOf("party-a")
	config.PlanFile, config.Bus = "", bus
	serve := func(policy *member.Policy, during func(*lockedText)) {
		t.Helper()
		log := new(lockedText)
		ctx, stop := context.WithCancel(t.Context())
		s := &member.Service{Config: config, Folder: share, Policy: policy,
			Log: slog.New(slog.NewTextHandler(log, nil))}
		done := make(chan error, 1)
		go func() { done <- s.Run(ctx) }()
		during(log)
		if t.Failed() {
			t.Log(log.text.String())
		}
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	one := propose("one")
	others := []string{"party-b", "node-a", "node-b", "agg"}
	serve(nil, func(log *lockedText) {
		until(t, "the proposal is shown", func() bool { return log.has("waits for a person here") })
		approve(one, append(others, "party-a")...)
		runOthers(t, dir, one, configOf, bus, others)
		until(t, "it has completed", func() bool { return log.has("has completed") })
	})
	two := propose("two")
	approve(two, others...)
	policy := &member.Policy{Applications: []string{"sum"}}
	for name := range roles {
		card, err := terms.ReadCard(filepath.Join(dir, name+".card"), time.Now())
		if err != nil {
			t.Fatal(err)
		}
		policy.Keys = append(policy.Keys, card.Key)
	}
	strangers := &member.Policy{Applications: []string{"sum"}, Keys: []identity.PublicKey{{1}}}
	serve(strangers, func(log *lockedText) {
		until(t, "strangers are refused", func() bool { return log.has("not among the known cards") })
	})
	serve(policy, func(log *lockedText) {
		until(t, "the policy approves", func() bool { return log.has("is approved by the policy") })
		until(t, "it runs", func() bool { return log.has("event=running") })
		runOthers(t, dir, two, configOf, bus, others)
		until(t, "it has completed", func() bool { return log.has("has completed") })
		if log.has("from " + string(one)) {
			t.Error("the first plan was run again")
		}
	})
}

func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !ok(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("never: %s", what)
		}
	}
}

// runOthers runs the other members of a folder's plan to its end.
func runOthers(t *testing.T, dir string, c terms.Consortium, configOf func(string) *member.Config,
	bus member.BusConfig, names []string) {
	t.Helper()
	plan, _, err := c.Collect()
	if err != nil {
		t.Fatal(err)
	}
	if err := plan.Complete(time.Now()); err != nil {
		until(t, "all have signed", func() bool {
			plan, _, err = c.Collect()
			return err == nil && plan.Complete(time.Now()) == nil
		})
	}
	text, err := plan.MarshalText()
	if err != nil {
		t.Fatal(err)
	}
	file := rig.WriteFile(t, dir, filepath.Base(string(c))+".choir", string(text))
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	ended := map[string]chan error{}
	for _, name := range names {
		config := configOf(name)
		config.PlanFile, config.Bus = file, bus
		if roles[name] == protocol.RoleAggregator {
			config.OutDir = filepath.Join(dir, "out")
		}
		m, err := member.Open(config, roles[name], slog.New(slog.NewTextHandler(io.Discard, nil)), time.Now())
		if err != nil {
			t.Fatal(name, err)
		}
		done := make(chan error, 1)
		ended[name] = done
		go func() { done <- m.Run(ctx) }()
	}
	for name, done := range ended {
		if err := <-done; err != nil {
			t.Error(name, err)
		}
	}
}
