package rig

import (
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"choir/crypto/channel"
	"choir/crypto/identity"
	"choir/host"
	"choir/party"
	"choir/privacy/ledger"
	"choir/protocol"
	"choir/session/app"
	"choir/session/run"
	"choir/session/terms"
	"choir/transport"
	"choir/transport/memory"
	"choir/transport/natsbus"
	"choir/transport/natsbus/embedded"
)

// members makes fresh identities for n parties, m compute nodes and an
// aggregator.
func Members(t testing.TB, n, m int) (list []protocol.Member, keys []*identity.PrivateKey) {
	t.Helper()
	add := func(name string, role protocol.Role) {
		k, err := identity.Generate(rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, k)
		list = append(list, terms.NewMember(name, role, k.Public()))
	}
	for i := range n {
		add(fmt.Sprintf("party-%03d", i), protocol.RoleParty)
	}
	for i := range m {
		add(fmt.Sprintf("compute-%02d", i), protocol.RoleCompute)
	}
	add("aggregator", protocol.RoleAggregator)
	return list, keys
}

// terms are sound terms for tests, with the cheap cipher suite.
func Terms(list []protocol.Member) terms.Terms {
	return terms.Terms{Name: "test", Members: list, Created: time.Now(), Lifetime: time.Hour, Suite: channel.SuiteX25519,
		Rounds: 1, Deadline: 30 * time.Second, Grace: 20 * time.Millisecond}
}

// local is a session of the plan in memory; the caller adds the application.
func Local(t testing.TB, p *protocol.Plan, keys []*identity.PrivateKey) *run.Local {
	t.Helper()
	byIndex := make([]*identity.PrivateKey, len(keys))
	for _, k := range keys {
		i, ok := p.Index(k.Public())
		if !ok {
			t.Fatal("a key isn't on the roster")
		}
		byIndex[i] = k
	}
	s, hub := protocol.Bind(p), memory.NewHub()
	return &run.Local{Session: s, Keys: byIndex, Resend: 5 * time.Second, GiveUp: time.Minute,
		Connect: func(i uint32) (transport.Bus, error) { return hub.Connect(s.Name(i)), nil },
		Store:   func(uint32) (host.Store, error) { return host.NewRam(), nil },
		Ledger:  func(uint32) party.Ledger { return run.NewLedger(s, new(ledger.Ledger), nil) },
	}
}

// overNATS moves a session onto an embedded JetStream server, with stores in
// files.
func OverNATS(t *testing.T, l *run.Local) {
	t.Helper()
	server, err := embedded.Start(embedded.Config{StoreDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Shutdown)
	l.Connect = func(i uint32) (transport.Bus, error) {
		bus, err := natsbus.Open(t.Context(), natsbus.Config{Server: server, Plan: l.Session.ID.Short(), Name: l.Session.Name(i)})
		if err != nil {
			return nil, err
		}
		return bus, bus.EnsureStream(t.Context())
	}
	dir := t.TempDir()
	l.Store = func(i uint32) (host.Store, error) { return host.OpenFile(dir + "/" + l.Session.Name(i) + ".db") }
}

// sums makes the session a plain sum of the given vectors.
func Sums(l *run.Local, vectors [][]int64) {
	d := int(l.Session.Plan.Dim)
	l.Model = app.Sum{Dim: d}
	l.App = func(uint32) protocol.Application { return app.Sum{Dim: d} }
	l.Proposer = func(i uint32) protocol.Proposer { return app.Fixed(vectors[i]) }
}

func WriteFile(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
