package verify_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"slices"
	"testing"
	"time"

	"choir/crypto/channel"
	"choir/crypto/identity"
	"choir/host"
	"choir/party"
	"choir/protocol"
	"choir/protocol/verify"
	"choir/session/app"
	sessionrun "choir/session/run"
	"choir/transport"
	"choir/transport/memory"
)

type noLedger struct{}

func (noLedger) Charge(uint32, uint32) ([]byte, uint64, error) { return nil, 0, nil }
func (noLedger) Append([]byte) error                           { return nil }

// run runs a session of n parties over the memory bus and returns the signed plan, the report and
// all members' stores.
func run(
	t *testing.T, n, m int, vectors [][]int64, change func(*protocol.Plan),
) (*protocol.SignedPlan, *sessionrun.Report, []*host.Ram) {
	t.Helper()
	signed, report, stores, err := try(t, n, m, vectors, change, nil)
	if err != nil {
		t.Fatal(err)
	}
	return signed, report, stores
}

// try is run for a session that may fail. cheat may change how it is set up.
func try(
	t *testing.T, n, m int, vectors [][]int64, change func(*protocol.Plan), cheat func(*sessionrun.Local),
) (*protocol.SignedPlan, *sessionrun.Report, []*host.Ram, error) {
	t.Helper()
	now := time.Now()
	p := &protocol.Plan{
		Name:          "real",
		Created:       now.Unix(),
		NotAfter:      now.Add(time.Hour).Unix(),
		Suite:         channel.SuiteX25519,
		Dim:           uint32(len(vectors[0])),
		FracBits:      8,
		Rounds:        2,
		SpareAttempts: 1,
		MinParties:    uint32(n),
		DeadlineMS:    30_000,
		PerParty:      1 << 40,
		Application:   "sum",
	}
	var keys []*identity.PrivateKey
	for i := range n + m + 1 {
		k, err := identity.Generate(rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		role, name := protocol.RoleParty, fmt.Sprintf("party-%d", i)
		if i >= n {
			role, name = protocol.RoleCompute, fmt.Sprintf("node-%d", i)
		}
		if i == n+m {
			role, name = protocol.RoleAggregator, "aggregator"
		}
		keys = append(keys, k)
		p.Members = append(p.Members, protocol.Member{Name: name, Role: role, Key: k.Public(),
			NotAfter: p.NotAfter})
	}
	if change != nil {
		change(p)
	}
	signed := &protocol.SignedPlan{Plan: p}
	for _, k := range keys {
		if err := signed.Sign(k); err != nil {
			t.Fatal(err)
		}
	}
	hub, stores, sum := memory.NewHub(), make([]*host.Ram, len(keys)), app.Sum{Dim: int(p.Dim)}
	l := &sessionrun.Local{Session: protocol.Bind(p), Keys: keys,
		Rand: func(uint32) io.Reader { return rand.Reader }, Model: sum, Resend: time.Second,
		Connect: func(i uint32) (transport.Bus, error) { return hub.Connect(p.Members[i].Name), nil },
		Store: func(i uint32) (host.Store, error) {
			if stores[i] == nil {
				stores[i] = host.NewRam()
			}
			return stores[i], nil
		},
		App:      func(uint32) protocol.Application { return sum },
		Proposer: func(i uint32) protocol.Proposer { return app.Fixed(vectors[i]) },
		Ledger:   func(uint32) party.Ledger { return noLedger{} },
	}
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Minute)
	defer cancel()
	if cheat != nil {
		cheat(l)
	}
	report, err := l.Run(ctx)
	return signed, report, stores, err
}

// checkRun verifies a session's transcript, and all parties' receipts.
func checkRun(t *testing.T, signed *protocol.SignedPlan, left *sessionrun.Report, stores []*host.Ram,
	want []int64) *verify.Report {
	t.Helper()
	r, err := verify.Transcript(signed, left.Transcript, app.Sum{Dim: int(signed.Plan.Dim)})
	if err != nil {
		t.Fatal(err)
	}
	if !r.Completed() || r.Rounds() != 2 || !slices.Equal(r.Model(), left.Model) ||
		!slices.Equal(r.Model(), want) {
		t.Errorf("model %v, session %v, want %v", r.Model(), left.Model, want)
	}
	for i := range signed.Plan.Parties() {
		var proofs [][]byte
		for _, key := range stores[i].Keys("proof/") {
			proofs = append(proofs, stores[i].Get(key))
		}
		if err := verify.Proofs(r, proofs); err != nil || len(proofs) != 2 {
			t.Errorf("party %d has %d proofs: %v", i, len(proofs), err)
		}
		for round := 1; round <= 2; round++ {
			var receipts [][]byte
			for _, key := range stores[i].Keys(fmt.Sprintf("receipt/%d/1/", round)) {
				receipts = append(receipts, stores[i].Get(key))
			}
			in, err := verify.Receipt(r, receipts)
			if err != nil || !in.Counted || in.Party != signed.Plan.Members[i].Name || in.Round != uint32(round) {
				t.Errorf("party %d, round %d: %+v, %v", i, round, in, err)
			}
		}
	}
	return r
}

func TestRealSession(t *testing.T) {
	vectors := [][]int64{{1, -2, 3}, {10, 20, -30}, {-100, 200, 300}}
	for _, paired := range []bool{false, true} {
		signed, left, stores := run(t, 3, 3, vectors, func(p *protocol.Plan) {
			if p.Paired = paired; paired {
				p.PerParty = 1 << 20
			}
		})
		r := checkRun(t, signed, left, stores, []int64{-89, 218, 273})
		if r.Audited {
			t.Error("audited without audit mode")
		}
	}
}

// TestRealAudit: the commitments of an audited session with noise open to its aggregates.
func TestRealAudit(t *testing.T) {
	vectors := [][]int64{{1, -2, 3}, {10, 20, -30}, {-100, 200, 300}}
	signed, left, stores := run(t, 3, 2, vectors, func(p *protocol.Plan) { p.Audit = true })
	if r := checkRun(t, signed, left, stores, []int64{-89, 218, 273}); !r.Audited {
		t.Error("not audited")
	}
	signed, left, _ = run(t, 3, 2, vectors,
		func(p *protocol.Plan) { p.Audit, p.Noise, p.Variance = true, protocol.NoiseParty, 1<<30 })
	r, err := verify.Transcript(signed, left.Transcript, app.Sum{Dim: 3})
	if err != nil {
		t.Fatal(err)
	}
	pairs, left, stores := run(t, 3, 2, vectors,
		func(p *protocol.Plan) { p.Audit, p.Paired, p.PerParty = true, true, 1<<20 })
	if r := checkRun(t, pairs, left, stores, []int64{-89, 218, 273}); !r.Audited {
		t.Error("pairs are not audited")
	}
	if slices.Equal(r.Model(), []int64{-89, 218, 273}) {
		t.Error("there is no noise in the sum")
	}
}
