package session

import (
	"context"
	"crypto/rand"
	"fmt"
	"testing"
	"time"

	"choir/crypto/channel"
	"choir/crypto/identity"
	"choir/host"
	"choir/party"
	"choir/protocol"
	"choir/transport"
	"choir/transport/memory"
)

type freeLedger struct{ n uint64 }

func (f *freeLedger) Charge(round, attempt uint32) ([]byte, uint64, error) {
	return []byte{1}, f.n, nil
}
func (f *freeLedger) Commit([]byte) error { f.n++; return nil }

func TestSumInMemory(t *testing.T) {
	const n, m, d = 4, 3, 70000
	var keys []*identity.PrivateKey
	p := &protocol.Plan{Name: "sum", Created: 1, NotAfter: time.Now().Add(time.Hour).Unix(), Suite: channel.SuiteHybrid,
		Dim: d, FracBits: 16, Rounds: 2, MinParties: n, DeadlineMS: 60000, PerParty: 1 << 40, Clip: 1, Application: "sum"}
	add := func(name string, r protocol.Role) {
		k, err := identity.Generate(rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, k)
		p.Members = append(p.Members, protocol.Member{Name: name, Role: r, Key: k.Public(), NotAfter: p.NotAfter})
	}
	for i := range n {
		add(fmt.Sprintf("party-%02d", i), protocol.RoleParty)
	}
	for i := range m {
		add(fmt.Sprintf("compute-%02d", i), protocol.RoleCompute)
	}
	add("aggregator", protocol.RoleAggregator)
	if err := p.Validate(); err != nil {
		t.Fatal(err)
	}
	hub := memory.NewHub()
	x := make([]int64, d)
	for i := range x {
		x[i] = int64(i - 100)
	}
	l := &Local{Session: protocol.NewSession(p), Keys: keys,
		Connect:  func(i uint32) (transport.Bus, error) { return hub.Connect(fmt.Sprint(i)), nil },
		Store:    func(i uint32) (host.Store, error) { return host.NewRam(), nil },
		Rand:     rand.Reader,
		Model:    Sum{d},
		App:      func(uint32) protocol.Application { return Sum{d} },
		Proposer: func(uint32) protocol.Proposer { return Fixed(x) },
		Ledger:   func(uint32) party.Ledger { return &freeLedger{} },
		Notify:   func(i uint32, n protocol.Notice) { t.Log(p.Members[i].Name, n) },
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	r, err := l.Run(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for i := range r.Model {
		if r.Model[i] != n*x[i] {
			t.Fatalf("coordinate %d: %d, not %d", i, r.Model[i], n*x[i])
		}
	}
	t.Log(r.UploadBytes, r.Seconds)
}
