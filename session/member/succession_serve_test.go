package member_test

import (
	"context"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"testing"

	"choir/crypto/identity"
	"choir/protocol"
	"choir/session/app"
	"choir/session/member"
	"choir/session/terms"
)

// TestPolicySignsOneSuccessor: a policy compares a successor plan with the store, as people do, and
// approves no second one. A member that is new to the chain needs no store.
func TestPolicySignsOneSuccessor(t *testing.T) {
	c := newChain(t)
	members := []string{"party-a", "party-b", "node-a", "node-b", "agg"}
	c.run(c.first(ten, members...), 3, members...)
	s, err := member.SuccessionOf(c.path("plan1.choir.out"), "")
	if err != nil {
		t.Fatal(err)
	}
	members = append(members, "party-c")
	share := t.TempDir()
	propose := func(name string) (folder string) {
		p, err := terms.NewSuccessor(c.terms(name, "", members), c.now, s.After)
		if err != nil {
			t.Fatal(err)
		}
		folder = filepath.Join(share, name)
		if err := os.MkdirAll(folder, 0o700); err != nil {
			t.Fatal(err)
		}
		c.write(filepath.Join(folder, "plan.choir"), &protocol.SignedPlan{Plan: p})
		return folder
	}
	policy := &member.Policy{Applications: []string{app.NamePVI}, Epsilon: math.Inf(1), Delta: 1e-5}
	serve := func(name, wantLog string) {
		t.Helper()
		log := new(lockedText)
		ctx, stop := context.WithCancel(t.Context())
		m := &member.Service{Config: &member.Config{KeyFile: c.path(name + ".key"), PassphraseFile: c.pass,
			StoreFile: c.path(name + ".db"), DataFile: c.data[name], Bus: c.bus},
			Folder: share, Policy: policy, Log: slog.New(slog.NewTextHandler(log, nil))}
		done := make(chan error, 1)
		go func() { done <- m.Run(ctx) }()
		until(t, name+": "+wantLog, func() bool { return log.has(wantLog) })
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	one := propose("one")
	for _, name := range members {
		policy.Keys = append(policy.Keys, c.key(name).Public())
	}
	signed := func(folder string, own identity.PublicKey) bool { return terms.Consortium(folder).Signed(own) }
	for _, name := range []string{"party-a", "node-a", "party-c"} {
		serve(name, "is approved by the policy")
		if !signed(one, c.key(name).Public()) {
			t.Errorf("%s has not signed", name)
		}
	}
	other := propose("other")
	for _, name := range []string{"party-a", "node-a"} {
		serve(name, "and with no other one")
		if signed(other, c.key(name).Public()) {
			t.Errorf("%s has signed two successors", name)
		}
	}
}
