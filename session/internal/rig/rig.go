package rig

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"choir/crypto/channel"
	"choir/crypto/identity"
	"choir/host"
	"choir/protocol"
	"choir/session/app"
	"choir/session/run"
	"choir/session/terms"
	"choir/transport/natsbus"
	"choir/transport/natsbus/embedded"
)

// Members returns n parties, m compute nodes and an aggregator with new keys.
func Members(t testing.TB, n, m int) ([]protocol.Member, []*identity.PrivateKey) {
	t.Helper()
	r, err := run.NewRoster(nil, n, m)
	if err != nil {
		t.Fatal(err)
	}
	return r.Members, r.Keys
}

// Terms are sound terms for tests, with the cheap cipher suite.
func Terms(list []protocol.Member) terms.Terms {
	return terms.Terms{Name: "test", Members: list, Created: time.Now(), Lifetime: time.Hour,
		Suite:  channel.SuiteX25519,
		Rounds: 1, Deadline: 30 * time.Second, Grace: 20 * time.Millisecond}
}

// Local is a session of the plan in memory; the caller adds the application.
func Local(t testing.TB, p *protocol.Plan, keys []*identity.PrivateKey) *run.Local {
	t.Helper()
	roster := run.Roster{Keys: keys}
	byIndex, err := roster.KeysIn(p)
	if err != nil {
		t.Fatal(err)
	}
	s := protocol.Bind(p)
	return &run.Local{Session: s, Keys: byIndex, Resend: 5 * time.Second, GiveUp: time.Minute,
		Connect: run.InMemory(s), Store: func(uint32) (host.Store, error) { return host.NewRam(), nil }}
}

// OverNATS moves a session onto an embedded JetStream server, with stores in
// files.
func OverNATS(t *testing.T, l *run.Local) {
	t.Helper()
	server, err := embedded.Start(embedded.Config{StoreDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Shutdown)
	l.Connect = run.OverNATS(t.Context(), l.Session, natsbus.Config{Server: server})
	dir := t.TempDir()
	l.Store = func(i uint32) (host.Store, error) { return host.OpenFile(dir + "/" + l.Session.Name(i) + ".db") }
}

// Sums makes the session a plain sum of the given vectors.
func Sums(l *run.Local, vectors [][]int64) {
	d := int(l.Session.Plan.Dim)
	l.Model = app.Sum{Dim: d}
	l.App = func(uint32) protocol.Application { return app.Sum{Dim: d} }
	l.Proposer = func(i uint32) protocol.Proposer { return app.Fixed(vectors[i]) }
}

// WriteFile writes a file of the test and returns its path.
func WriteFile(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
