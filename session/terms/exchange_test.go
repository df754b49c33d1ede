package terms

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"choir/crypto/channel"
	"choir/crypto/identity"
	"choir/protocol"
)

// TestExchangeForgets: of plans and signatures that anybody may publish an Exchange keeps some, and brings
// the plan that is approved into the folder all the same.
func TestExchangeForgets(t *testing.T) {
	x := &Exchange{Folder: Consortium(t.TempDir()), Own: identity.FromSeed([32]byte{1}).Public()}
	approved := ""
	for i := range 3 * maxPlans {
		signed := proposal(t, fmt.Sprint("plan ", i))
		text, err := (&protocol.SignedPlan{Plan: signed.Plan}).MarshalText()
		if err != nil {
			t.Fatal(err)
		}
		take(t, x, Document{DocumentPlan, text})
		accept, err := signed.Accepts[0].Marshal()
		if err != nil {
			t.Fatal(err)
		}
		take(t, x, Document{DocumentAccept, accept})
		if i == 0 {
			approved = Fingerprint(signed.Plan.ID())
			for range maxAccepts + 100 {
				x.accepts = append(x.accepts, &protocol.Envelope{Kind: protocol.KindAccept})
			}
		}
		if err := x.Settle(approved); err != nil {
			t.Fatal(err)
		}
	}
	if len(x.plans) != maxPlans || len(x.accepts) != maxAccepts {
		t.Errorf("%d plans and %d signatures are kept", len(x.plans), len(x.accepts))
	}
	if odd := strings.Join(x.Odd(), "\n"); !strings.Contains(odd, "more than 16384") {
		t.Errorf("left out: %s", odd)
	}
	have, _, err := x.Folder.Collect()
	if err != nil || Fingerprint(have.Plan.ID()) != approved || len(have.Accepts) != 1 {
		t.Errorf("the approved plan is not in the folder, with its signature: %v", err)
	}
}

func take(t *testing.T, x *Exchange, d Document) {
	t.Helper()
	if err := x.Take(d, time.Unix(1_700_000_001, 0)); err != nil {
		t.Fatal(err)
	}
}

// proposal is a plan that its first party has signed.
func proposal(t *testing.T, name string) *protocol.SignedPlan {
	t.Helper()
	p := &protocol.Plan{Name: name, Created: 1_700_000_000, NotAfter: 1_700_086_400, Suite: channel.SuiteX25519,
		Dim: 1, Rounds: 1, MinParties: 2, DeadlineMS: 1000, Clip: 100, PerParty: 100, Application: "sum"}
	for i, role := range []protocol.Role{protocol.RoleParty, protocol.RoleParty, protocol.RoleCompute,
		protocol.RoleCompute, protocol.RoleAggregator} {
		p.Members = append(p.Members, protocol.Member{Name: fmt.Sprint("m", i), Role: role,
			Key: identity.FromSeed([32]byte{byte(i + 1)}).Public(), NotAfter: p.NotAfter})
	}
	signed := &protocol.SignedPlan{Plan: p}
	if err := signed.Sign(identity.FromSeed([32]byte{1})); err != nil {
		t.Fatal(err)
	}
	return signed
}
