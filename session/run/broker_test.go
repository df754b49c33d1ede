package run_test

import (
	"slices"
	"testing"

	"choir/crypto/commit"
	"choir/protocol"
	"choir/session/internal/rig"
	"choir/session/run"
	"choir/session/terms"
	"choir/transport"
	"choir/transport/memory"
)

// observed runs a session and returns every message that crossed the bus, and the report.
func observed(t *testing.T, p *protocol.Plan, l *run.Local, vectors [][]int64) ([][]byte, *run.Report) {
	t.Helper()
	hub := memory.NewHub()
	l.Connect = func(i uint32) (transport.Bus, error) { return hub.Connect(l.Session.Name(i)), nil }
	rig.Sums(l, vectors)
	report, err := l.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	bus := hub.Connect("observer")
	defer bus.Close()
	sub, err := bus.Subscribe(t.Context(), []string{"choir.>"}, 0)
	if err != nil {
		t.Fatal(err)
	}
	var all [][]byte
	for {
		m, err := sub.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, m.Data)
		if _, body, err := l.Session.Receive(m.Data); err == nil {
			if _, ok := body.(*protocol.Result); ok { // the last signed message of one round
				return all, report
			}
		}
	}
}

// confirms reports whether some 32 bytes of a message are the digest of the vector under some 32
// bytes of a message as its key, or under zeros.
func confirms(all [][]byte, vector []int64, keys ...protocol.DigestKey) bool {
	public := map[[32]byte]bool{}
	for _, data := range all {
		if len(data) > 2000 {
			continue
		}
		for i := range max(0, len(data)-31) {
			public[[32]byte(data[i:])] = true
		}
	}
	for _, key := range keys {
		if public[protocol.IntDigest(key, vector)] {
			return true
		}
	}
	for key := range public {
		if public[protocol.IntDigest(key, vector)] {
			return true
		}
	}
	return false
}

// TestBrokerConfirmsNoGuess: a broker that guesses the exact sum of the README's deployment, three
// counts of three hospitals without noise, finds nothing in what crosses it that confirms the guess:
// no digest of the sum or the model, and in audit mode no opening of the commitments.
func TestBrokerConfirmsNoGuess(t *testing.T) {
	const bits = 16
	vectors, sum := [][]int64{{12, 7, 3}, {40, 0, 11}, {8, 21, 5}}, []int64{60, 28, 19}
	for _, v := range append(vectors, sum) {
		for i := range v {
			v[i] <<= bits
		}
	}
	for _, audit := range []bool{false, true} {
		list, keys := rig.Members(t, 3, 3)
		p, err := rig.Terms(list).Sum(terms.SumTerms{Dim: 3, FracBits: bits, PerParty: 10000 << bits})
		if err != nil {
			t.Fatal(err)
		}
		p.Audit = audit
		l := rig.Local(t, p, keys)
		all, report := observed(t, p, l, vectors)
		if !slices.Equal(report.Model, sum) {
			t.Fatalf("the sum is %d", report.Model)
		}
		if confirms(all, sum, protocol.DigestKey{}) {
			t.Errorf("audit %t: a message confirms the sum", audit)
		}
		secret, ok := protocol.ParseTranscriptSecret(report.Transcript[1])
		if !ok || !confirms(all, sum, secret.Key(1)) {
			t.Errorf("audit %t: the sum is not confirmed with the parties' key: the test can't fail", audit)
		}
		if audit {
			checkNoOpening(t, l.Session, all, report, sum)
		}
	}
}

// checkNoOpening tries all 32 bytes of the partial sums' messages as the nodes' blinding sums.
func checkNoOpening(t *testing.T, s protocol.BoundPlan, all [][]byte, report *run.Report, sum []int64) {
	t.Helper()
	g, err := s.Plan.Generators()
	if err != nil {
		t.Fatal(err)
	}
	var set []commit.Commitment
	partials := map[uint32][]byte{}
	for _, data := range all {
		e, m, err := s.Receive(data)
		if err != nil {
			continue
		}
		switch m := m.(type) {
		case *protocol.Contribution:
			if !slices.Contains(set, m.Commitment) {
				set = append(set, m.Commitment)
			}
		case *protocol.Partial:
			partials[e.From] = e.Body
		}
	}
	if len(set) != 3 || len(partials) != 3 {
		t.Fatalf("%d commitments, %d partial sums", len(set), len(partials))
	}
	for at := 0; at+32 <= len(partials[3]); at++ {
		var blindings [][32]byte
		for k := range uint32(3) {
			blindings = append(blindings, [32]byte(partials[3+k][at:]))
		}
		if protocol.CheckOpening(g, set, blindings, sum) == nil {
			t.Errorf("the 32 bytes at %d of the partial sums open the commitments", at)
		}
	}
	var blindings [][32]byte
	for _, entry := range report.Transcript {
		if _, o, ok := protocol.ParseTranscriptVector(entry, s.Plan.Elements()); ok {
			blindings = append(blindings, o.Blinding)
		}
	}
	if err := protocol.CheckOpening(g, set, blindings, sum); err != nil {
		t.Errorf("the transcript's blinding sums do not open the commitments: %v", err)
	}
}
