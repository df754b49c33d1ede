package protocol

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"choir/crypto/identity"
)

// seeded is an endless reader of hashes of a counter.
type seeded struct{ n uint64 }

func (s *seeded) Read(b []byte) (int, error) {
	h := sha256.Sum256(binary.BigEndian.AppendUint64([]byte("large plan"), s.n))
	s.n++
	return copy(b, h[:]), nil
}

// signedRoster returns a plan of n parties and three nodes, signed by all.
func signedRoster(t testing.TB, n int) (*SignedPlan, []byte) {
	t.Helper()
	p := roster(n, 3)
	keys, r := make([]Signer, len(p.Members)), new(seeded)
	for i := range keys {
		k, err := identity.Generate(r)
		if err != nil {
			t.Fatal(err)
		}
		keys[i], p.Members[i].Key = k, k.Public()
	}
	if err := p.Validate(); err != nil {
		t.Fatal(err)
	}
	sp := &SignedPlan{Plan: p}
	if err := sp.Sign(keys...); err != nil {
		t.Fatal(err)
	}
	text, err := sp.MarshalText()
	if err != nil {
		t.Fatal(err)
	}
	return sp, text
}

// TestLargePlan: tens of thousands of parties sign a plan, reading it checks every signature, and
// an invalid one is named.
func TestLargePlan(t *testing.T) {
	n := 12_000
	if testing.Short() {
		n = 2_000
	}
	sp, text := signedRoster(t, n)
	got, err := UnmarshalSignedPlan(text)
	if err != nil {
		t.Fatal(err)
	}
	if err := got.Complete(time.Unix(sp.Plan.Created, 0)); err != nil || got.Plan.ID() != sp.Plan.ID() ||
		got.Plan.Parties() != n {
		t.Fatalf("%d parties, %v", got.Plan.Parties(), err)
	}
	few := &SignedPlan{Plan: sp.Plan, Accepts: sp.Accepts[n-5:]}
	if err := few.Complete(time.Unix(sp.Plan.Created, 0)); err == nil || len(err.Error()) > 1000 ||
		!strings.Contains(err.Error(), fmt.Sprintf("and %d more", n-25)) {
		t.Errorf("missing signatures: %.1100v", err)
	}
	if err := few.Merge(&SignedPlan{Plan: sp.Plan, Accepts: sp.Accepts[:n]}); err != nil ||
		len(few.Missing()) != 0 {
		t.Errorf("%d are missing after merging all, %v", len(few.Missing()), err)
	}

	block, _ := pem.Decode(text)
	sig := sp.Accepts[777].Sig
	at := bytes.Index(block.Bytes, sig[:])
	if at < 0 {
		t.Fatal("the signature is not in the file")
	}
	block.Bytes[at+40] ^= 1
	_, err = UnmarshalSignedPlan(pem.EncodeToMemory(block))
	if !errors.Is(err, ErrSignature) || ClassOf(err) != ClassIntegrity ||
		!strings.Contains(err.Error(), sp.Plan.Members[777].Name) {
		t.Errorf("a changed signature: %v", err)
	}
}

// BenchmarkReadPlan reads and checks the plan of a hundred thousand parties.
func BenchmarkReadPlan(b *testing.B) {
	_, text := signedRoster(b, 100_000)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := UnmarshalSignedPlan(text); err != nil {
			b.Fatal(err)
		}
	}
}
