package member_test

import (
	"context"
	"errors"
	"fmt"
	"html"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"choir/crypto/identity"
	"choir/host"
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

func (l *lockedText) count(want string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.text.String(), want)
}

// serveTable is a plan with an epsilon that takes a second.
const serveTable = "[privacy]\nepsilon = 0.5\ndelta = 1e-5\n[table]\nmeans = [\"age\"]\n[table.schema]\n" +
	"source = \"a test\"\nmissing = \"drop\"\n[table.schema.target]\n" +
	"died = [\"no\", \"yes\"]\n[table.schema.columns]\n" +
	"age = { lo = 0, hi = 100 }\n"

// TestServe lets a party serve two plans of a consortium: one that a person approves, and one that
// its policy allows after a restart. The first is not run twice.
func TestServe(t *testing.T) {
	dir := t.TempDir()
	configOf := site.DeployPlan(t, dir, time.Now(), serveTable, rig.WriteFile(t, dir, "a.csv", records()))
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
			serveTable)
		c := terms.Consortium(folder)
		if _, missing, err := c.Propose(time.Now(), nil); err != nil || len(missing) > 0 {
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
			key, err := terms.ReadKey(filepath.Join(dir, name+".key"), filepath.Join(dir, "pass"))
			if err != nil {
				t.Fatal(err)
			}
			if err := c.Approve(terms.Fingerprint(plan.Plan.ID()), key, time.Now()); err != nil {
				t.Fatal(name, err)
			}
		}
	}
	config := configOf("party-a")
	config.PlanFile, config.Bus = "", bus
	config.Budget = member.BudgetConfig{Epsilon: 2, Delta: 1e-5}
	config.Station.Listen = "127.0.0.1:0"
	var shown []*member.Proposal
	serve := func(policy *member.Policy, during func(*lockedText)) {
		t.Helper()
		log := new(lockedText)
		ctx, stop := context.WithCancel(t.Context())
		s := &member.Service{Config: config, Folder: share, Policy: policy,
			Log:  slog.New(slog.NewTextHandler(log, nil)),
			Show: func(p *member.Proposal) { shown = append(shown, p) }}
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
	rows, moved := config.DataFile, config.DataFile+".moved"
	serve(nil, func(log *lockedText) {
		until(t, "the proposal is shown", func() bool { return log.has("waits for a person here") })
		checkProposal(t, config, log, "epsilon 0 is spent, and 0.5 after")
		if err := os.Rename(rows, moved); err != nil {
			t.Fatal(err)
		}
		approve(one, append(others, "party-a")...)
		until(t, "it is refused without the rows", func() bool { return log.has("is refused here") })
	})
	if err := os.Rename(moved, rows); err != nil {
		t.Fatal(err)
	}
	config.CardFile = filepath.Join(dir, "party-b.card")
	serve(nil, func(log *lockedText) {
		until(t, "another's card is refused", func() bool { return log.has("another key than the key file") })
		until(t, "the plan is not over", func() bool { return log.has("is refused here") })
	})
	config.CardFile = ""
	serve(nil, func(log *lockedText) {
		runOthers(t, dir, one, configOf, bus, others)
		until(t, "it has completed", func() bool { return log.has("has completed") })
	})
	two := propose("two")
	approve(two, others...)
	policy := &member.Policy{Applications: []string{"table"}, Epsilon: 0.5, Delta: 1e-5}
	for name := range roles {
		card, err := terms.ReadCard(filepath.Join(dir, name+".card"), time.Now())
		if err != nil {
			t.Fatal(err)
		}
		policy.Keys = append(policy.Keys, card.Key)
	}
	strangers := &member.Policy{Applications: []string{"table"}, Epsilon: 0.5, Delta: 1e-5,
		Keys: []identity.PublicKey{{1}}}
	serve(strangers, func(log *lockedText) {
		until(t, "strangers are refused", func() bool { return log.has("not among the known cards") })
		checkProposal(t, config, log, "epsilon 0.5 is spent, and 0.")
	})
	if len(shown) != 2 || shown[1].Charge == nil || shown[1].Charge.Spent < 0.4 ||
		*shown[1].Charge.After < 1.2*shown[1].Charge.Spent || shown[1].Charge.Limit != 2 {
		t.Errorf("the ledger after one plan of the two is shown as %+v", shown[len(shown)-1].Charge)
	}
	config.Budget.Epsilon = 0.6
	serve(policy, func(log *lockedText) {
		until(t, "what the ledger does not cover waits", func() bool {
			return log.has("do not fit in this party's budget")
		})
		if log.has("is approved by the policy") {
			t.Error("the policy approves what the ledger does not cover")
		}
	})
	config.Budget.Epsilon = 2
	serve(policy, func(log *lockedText) {
		until(t, "the policy approves", func() bool { return log.has("is approved by the policy") })
		until(t, "it runs", func() bool { return log.has("event=running") })
		runOthers(t, dir, two, configOf, bus, others)
		until(t, "it has completed", func() bool { return log.has("has completed") })
		if log.has("from " + string(one)) {
			t.Error("the first plan was run again")
		}
		if !log.has("event=serving over=1") {
			t.Error("the service does not log how it begins")
		}
	})
	over := filepath.Join(config.StoreFile+".served", "over.json")
	if err := os.WriteFile(over, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := &member.Service{Config: config, Folder: share, Log: slog.New(slog.DiscardHandler)}
	if err := s.Run(t.Context()); err == nil || !strings.Contains(err.Error(), over+": ") {
		t.Errorf("a damaged %s: %v", over, err)
	}
	if err := os.Remove(over); err != nil {
		t.Fatal(err)
	}
	serve(nil, func(log *lockedText) { // the store has what is over
		until(t, "both have completed again", func() bool { return log.count("has completed") == 2 })
	})
}

// checkProposal compares what a service says of the only plan that waits: its page, and its file.
func checkProposal(t *testing.T, c *member.Config, log *lockedText, charge string) {
	t.Helper()
	var f *member.ProposalFile
	until(t, "the file lists the only plan", func() bool { // it is written after the log
		var err error
		f, err = member.ReadProposals(c)
		return err == nil && len(f.Proposals) == 1
	})
	p := f.Proposals[0]
	if len(p.Layers) < 3 || p.Layers[0].Sample == nil || !strings.HasPrefix(p.Charge.String(), charge) {
		t.Errorf("%d adversaries, and the ledger: %s", len(p.Layers), p.Charge)
	}
	var address string
	until(t, "the page is there", func() bool {
		address = log.after("watchable address=")
		return address != ""
	})
	r, err := http.Get("http://" + address + "/")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	page, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{p.Fingerprint, p.Layers[0].Adversary, fmt.Sprintf("%.4g", *p.Layers[0].Sample),
		p.Charge.String()} {
		if !strings.Contains(string(page), html.EscapeString(want)) {
			t.Errorf("the page lacks %q:\n%s", want, page)
		}
	}
}

// after returns the word that follows a text in the log, empty if it is not there.
func (l *lockedText) after(text string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, rest, _ := strings.Cut(l.text.String(), text)
	word, _, _ := strings.Cut(rest, "\n")
	return word
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
		if roles[name] == protocol.RoleParty {
			config.Budget = member.BudgetConfig{Epsilon: 2, Delta: 1e-5}
		}
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

// TestOneProcessAStore: while a service works with a store, also between its plans, another service and a
// member end at once with an error that names the process; afterwards the store is free.
func TestOneProcessAStore(t *testing.T) {
	dir, configOf := site.Deploy(t, time.Now())
	quiet := slog.New(slog.DiscardHandler)
	own := configOf("party-a")
	serving := *own
	serving.PlanFile, serving.Bus = "", member.BusConfig{URL: "nats://127.0.0.1:1"}
	serve := func(ctx context.Context, log *slog.Logger) error {
		return (&member.Service{Config: &serving, Folder: t.TempDir(), Log: log}).Run(ctx)
	}
	ctx, stop := context.WithCancel(t.Context())
	log, ended := new(lockedText), make(chan error, 1)
	go func() { ended <- serve(ctx, slog.New(slog.NewTextHandler(log, nil))) }()
	until(t, "it serves", func() bool { return log.has("event=serving") })
	m, err := member.Open(own, protocol.RoleParty, quiet, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	limited, cancel := context.WithTimeout(t.Context(), 20*time.Second) // both end at once
	defer cancel()
	for what, err := range map[string]error{"a service": serve(limited, quiet), "a member": m.Run(limited)} {
		if !errors.Is(err, host.ErrLocked) || !strings.Contains(err.Error(), fmt.Sprint("pid ", os.Getpid())) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "party-a.db")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the member has opened the store: %v", err)
	}
	stop()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	ctx, stop = context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer stop()
	if err := serve(ctx, quiet); err != nil {
		t.Error("the store is not free:", err)
	}
}
