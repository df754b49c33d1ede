package protocol

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"choir/crypto/channel"
	"choir/crypto/identity"
)

// deterministic returns a reader that gives the same bytes for a seed.
func deterministic(seed byte) *rand.ChaCha8 {
	return rand.NewChaCha8([32]byte(bytes.Repeat([]byte{seed}, 32)))
}

func testKey(i int) *identity.PrivateKey {
	return identity.FromSeed([32]byte(bytes.Repeat([]byte{byte(i + 1)}, 32)))
}

// unmarshalPlan decodes a canonical plan. It checks the form alone.
func unmarshalPlan(b []byte) (*Plan, error) {
	p := new(Plan)
	if err := unmarshal("plan", b, p); err != nil {
		return nil, err
	}
	return p, nil
}

// testPlan returns a valid plan of three parties, two compute nodes and an aggregator, whose
// member i has testKey(i). It claims no epsilon.
func testPlan() *Plan {
	p := &Plan{
		Name:              "test plan",
		Created:           1_700_000_000,
		NotAfter:          1_800_000_000,
		Suite:             channel.SuiteX25519,
		Dim:               3,
		FracBits:          16,
		Rounds:            2,
		SpareAttempts:     1,
		MinParties:        2,
		UnsafeDifferences: true,
		DeadlineMS:        60_000,
		GraceMS:           1_000,
		Clip:              1 << 16,
		PerParty:          1 << 20,
		Application:       "sum",
		Parameters:        []byte("parameters"),
	}
	for i, m := range []struct {
		name string
		role Role
	}{
		{name: "alice", role: RoleParty},
		{name: "bob", role: RoleParty},
		{name: "carol", role: RoleParty},
		{name: "node-1", role: RoleCompute},
		{name: "node-2", role: RoleCompute},
		{name: "sum", role: RoleAggregator},
	} {
		p.Members = append(p.Members, Member{Name: m.name, Role: m.role, Key: testKey(i).Public(),
			NotAfter: 1_900_000_000})
	}
	return p
}

// private makes a plan add noise and claim a feasible epsilon: one release moves the sum by at
// most 2 * 65536, with a hidden standard deviation of 2^24.
func private(p *Plan) *Plan {
	p.Colluders, p.Noise, p.Variance = 0, NoiseParty, 1<<48
	p.Relation, p.Sensitivity, p.Epsilon, p.Delta, p.Accountant = 1, 2<<16, 1, 1e-5, AccountantInteger
	return p
}

func testSession(t testing.TB) BoundPlan {
	t.Helper()
	p := testPlan()
	if err := p.Validate(); err != nil {
		t.Fatal(err)
	}
	return Bind(p)
}

func signedTestPlan(t testing.TB) *SignedPlan {
	t.Helper()
	sp := &SignedPlan{Plan: testPlan()}
	for i := range sp.Plan.Members {
		if err := sp.Sign(testKey(i)); err != nil {
			t.Fatal(err)
		}
	}
	return sp
}

func testSecret(t testing.TB, seed byte) *channel.Secret {
	t.Helper()
	s, err := channel.NewSecret(bytes.Repeat([]byte{seed}, channel.SecretSize))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func testDigest(b byte) Digest { return Digest(bytes.Repeat([]byte{b}, 32)) }

// sample is a message of a kind, with a member that may send it.
type sample struct {
	name string
	from uint32
	m    Message
}

// samples returns messages of every kind, with every variant of the encoding.
func samples() []sample {
	entries := []Entry{{0, testDigest(1)}, {2, testDigest(2)}}
	tags := [][16]byte{{1, 2, 3}, {4, 5, 6}}
	blinding := []SealedScalar{{7}, {8}}
	return []sample{
		{"accept", 0, &Accept{}},
		{"key", 3, &Key{Number: 1, Public: bytes.Repeat([]byte{9}, 32), NotAfter: 1_800_000_000}},
		{"open", 1, &Open{To: 3, Key: testDigest(3), Enc: bytes.Repeat([]byte{5}, 32)}},
		{"group", 5, &Group{To: 1, Sealed: bytes.Repeat([]byte{6}, 48)}},
		{"round", 5, &Round{Round: 1, Attempt: 2, Model: testDigest(4), Last: testDigest(11)}},
		{"contribution", 1, &Contribution{Round: 1, Attempt: 2, Model: testDigest(4), Last: testDigest(11),
			Salt: Salt{9, 8}, Explicit: 1, Vector: testDigest(5), Confirm: tags}},
		{"contribution/audit", 1, &Contribution{Round: 1, Attempt: 2, Model: testDigest(4), Vector: testDigest(5),
			Confirm: tags, Commitment: [32]byte{1}, Blinding: blinding}},
		{"receipt", 3, &Receipt{Round: 1, Attempt: 2, Party: 1, Bundle: testDigest(1), Count: 1}},
		{"receipt/of three", 3, &Receipt{Round: 1, Attempt: 2, Party: 1, Bundle: testDigest(1), Index: 1, Count: 3,
			Path: []Digest{testDigest(2), testDigest(3)}}},
		{"hold", 4, &Hold{Round: 1, Attempt: 2, Last: testDigest(11), Entries: entries}},
		{"hold/empty", 4, &Hold{Round: 1, Attempt: 2}},
		{"agree", 4, &Agree{Round: 1, Attempt: 2, Count: 2, Set: testDigest(6), Partial: testDigest(7)}},
		{"partial", 3, &Partial{Round: 1, Attempt: 2, Set: testDigest(6), Vector: testDigest(7),
			Opening: [80]byte{8}}},
		{"result", 5, &Result{Round: 1, Attempt: 2, Outcome: OutcomeAccepted, Set: entries,
			Aggregate: testDigest(8), Next: testDigest(9), Partials: []Digest{testDigest(7), testDigest(10)},
			Commitments: [32]byte{12}, Blinding: SealedScalar{13}, Trace: SealedTrace{14},
			Chunks: []Digest{testDigest(15), testDigest(16)}}},
		{"result/void", 5, &Result{Round: 1, Attempt: 2, Outcome: OutcomeVoid}},
		{"confirm", 4, &Confirm{Round: 1, Attempt: 2, Result: testDigest(17), Value: Value{18}}},
		{"confirm/another key", 4, &Confirm{Round: 1, Attempt: 2, Result: testDigest(17), Value: Value{18}, Key: 2,
			For: []uint32{0, 2}}},
		{"abort", 5, &Abort{Class: 5, Reason: "too few members are there"}},
		{"mix round", 5, &MixRound{Round: 1, Attempt: 2, Public: bytes.Repeat([]byte{9}, 32)}},
		{"mix keys", 3, &MixKeys{Round: 1, Attempt: 2, Outer: bytes.Repeat([]byte{8}, 32),
			Inner: bytes.Repeat([]byte{7}, 32)}},
		{"onion", 1, &Onion{Round: 1, Attempt: 2, Entries: 9, Index: 1, Keys: testDigest(18),
			Sealed: []byte("onion")}},
		{"mix batch/first", 3, &MixBatch{Round: 1, Attempt: 2, Parties: []uint32{0, 2},
			Entries: []uint32{2, 1}, Digests: []MixDigest{{1}, {2}, {4}}, Content: testDigest(19)}},
		{"mix batch", 4, &MixBatch{Round: 1, Attempt: 2, Stage: 2, Before: testDigest(22),
			Failed: []uint32{0}, Repeated: []uint32{1, 5}, Digests: []MixDigest{{3}}, Content: testDigest(20)}},
		{"mix piece", 4, &MixPiece{Round: 1, Attempt: 2, Stage: 2, Index: 1, Entries: []byte("entries")}},
		{"mix go", 1, &MixGo{Round: 1, Attempt: 2, List: testDigest(21)}},
		{"mix agree", 4, &MixAgree{Round: 1, Attempt: 2, List: testDigest(21), Parties: []uint32{0, 2}}},
		{"mix complaint", 4, &MixComplaint{Round: 1, Attempt: 2, About: 3, Reason: "entries are missing",
			Piece: []byte("piece")}},
		{"mix result", 5, &MixResult{Round: 1, Attempt: 2, Outcome: OutcomeAccepted, List: testDigest(21),
			Opened: testDigest(22), Count: 2, Suspect: Everyone}},
		{"mix result/void", 5, &MixResult{Round: 1, Attempt: 2, Outcome: OutcomeVoid, Suspect: 3,
			Reason: "it has sent no keys"}},
	}
}

// body encodes a message.
func body(t testing.TB, m Message) []byte {
	t.Helper()
	b, err := marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// canonical checks that b does not decode or encodes to b again.
func canonical(
	t interface{ Fatalf(string, ...any) }, what string, b []byte, decode func([]byte) (fielder, error),
) bool {
	m, err := decode(b)
	if err != nil {
		return false
	}
	again, err := marshal(m)
	if err != nil {
		t.Fatalf("%s: decoded but does not encode: %v", what, err)
	}
	if !bytes.Equal(again, b) {
		t.Fatalf("%s: decodes from %x but encodes to %x", what, b, again)
	}
	return true
}

func decodeBody(k Kind) func([]byte) (fielder, error) {
	return func(b []byte) (fielder, error) {
		m := newMessage(k)
		if m == nil {
			return nil, fmt.Errorf("kind %d", k)
		}
		return m, unmarshal(k.String(), b, m)
	}
}
