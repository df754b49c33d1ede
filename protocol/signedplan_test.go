package protocol

import (
	"bytes"
	"encoding/pem"
	"errors"
	"strings"
	"testing"
	"time"
)

func TestSignedPlanFile(t *testing.T) {
	sp := signedTestPlan(t)
	text, err := sp.MarshalText()
	if err != nil {
		t.Fatal(err)
	}
	got, err := UnmarshalSignedPlan(text)
	if err != nil {
		t.Fatal(err)
	}
	if got.Plan.ID() != sp.Plan.ID() || len(got.Missing()) != 0 {
		t.Errorf("another plan, missing %v", got.Missing())
	}
	if err := got.Complete(time.Unix(sp.Plan.NotAfter, 0)); err != nil {
		t.Error(err)
	}
	if err := got.Complete(time.Unix(sp.Plan.NotAfter+1, 0)); !errors.Is(err, ErrExpired) ||
		ClassOf(err) != ClassIntegrity {
		t.Errorf("a second later: %v", err)
	}
}

// TestPlanFileEveryByte: a change of any byte of a plan file is rejected.
func TestPlanFileEveryByte(t *testing.T) {
	text, err := signedTestPlan(t).MarshalText()
	if err != nil {
		t.Fatal(err)
	}
	for i := range text {
		bad := bytes.Clone(text)
		bad[i] ^= 1
		if _, err := UnmarshalSignedPlan(bad); err == nil {
			t.Errorf("byte %d of %d", i, len(text))
		}
	}
}

func TestPlanFileRejections(t *testing.T) {
	good, err := signedTestPlan(t).MarshalText()
	if err != nil {
		t.Fatal(err)
	}
	foreign := signedTestPlan(t)
	foreign.Accepts[2].Plan[0] ^= 1
	wrong := signedTestPlan(t)
	wrong.Accepts[2].Sig[0] ^= 1
	kind := signedTestPlan(t)
	b, err := Bind(kind.Plan).Sign(testKey(5), 5, &Round{Round: 1, Attempt: 1})
	if err != nil {
		t.Fatal(err)
	}
	if kind.Accepts[5], err = UnmarshalEnvelope(b); err != nil {
		t.Fatal(err)
	}
	invalid := signedTestPlan(t)
	invalid.Plan.Dim = 0
	texts := map[string][]byte{
		"empty":         nil,
		"no armour":     []byte("hello"),
		"headers":       []byte(strings.Replace(string(good), "\n", "\nA: b\n\n", 1)),
		"another block": bytes.ReplaceAll(good, []byte("CHOIR PLAN"), []byte("CHOIR PLANS")),
		"before":        append([]byte("x\n"), good...),
		"after":         append(bytes.Clone(good), '\n'),
		"crlf":          bytes.ReplaceAll(good, []byte("\n"), []byte("\r\n")),
		"twice":         append(bytes.Clone(good), good...),
	}
	for name, sp := range map[string]*SignedPlan{
		"another plan's signature": foreign,
		"a wrong signature":        wrong,
		"a round among signatures": kind,
		"an invalid plan":          invalid,
	} {
		t.Run(name, func(t *testing.T) {
			b, err := marshal(sp)
			if err != nil {
				t.Fatal(err)
			}
			texts[name] = pem.EncodeToMemory(&pem.Block{Type: planBlock, Bytes: b})
		})
	}
	for name, text := range texts {
		t.Run(name, func(t *testing.T) {
			want := ClassIntegrity
			if name == "an invalid plan" {
				want = ClassInput
			}
			_, err := UnmarshalSignedPlan(text)
			if err == nil || ClassOf(err) != want {
				t.Error(err)
			}
			if name == "crlf" && !strings.Contains(err.Error(), "CR LF") {
				t.Errorf("the error does not name the cause: %v", err)
			}
		})
	}
}

func TestSignInAnyOrder(t *testing.T) {
	want, err := signedTestPlan(t).MarshalText()
	if err != nil {
		t.Fatal(err)
	}
	sp := &SignedPlan{Plan: testPlan()}
	for _, i := range []int{4, 0, 5, 5, 2, 1, 3, 0} {
		if err := sp.Sign(testKey(i)); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := sp.MarshalText(); err != nil || !bytes.Equal(got, want) {
		t.Errorf("another file, %v", err)
	}
	if err := sp.Sign(testKey(9)); !errors.Is(err, ErrUnknown) || ClassOf(err) != ClassIntegrity {
		t.Errorf("an unknown key signed: %v", err)
	}
}

func TestMergeAndMissing(t *testing.T) {
	a, b := &SignedPlan{Plan: testPlan()}, &SignedPlan{Plan: testPlan()}
	for i := range 6 {
		sp := []*SignedPlan{a, b}[i%2]
		if err := sp.Sign(testKey(i)); err != nil {
			t.Fatal(err)
		}
	}
	if got := strings.Join(a.Missing(), " "); got != "bob node-1 sum" {
		t.Errorf("missing %q", got)
	}
	if err := a.Complete(time.Unix(0, 0)); ClassOf(err) != ClassIntegrity || err == nil ||
		!strings.Contains(err.Error(), "bob") {
		t.Errorf("incomplete: %v", err)
	}
	if err := a.Merge(b); err != nil {
		t.Fatal(err)
	}
	if err := a.Complete(time.Unix(0, 0)); err != nil {
		t.Error(err)
	}
	b.Plan.Rounds++
	if err := a.Merge(b); !errors.Is(err, ErrWrongPlan) {
		t.Errorf("another plan merged: %v", err)
	}
}

func TestMemberOf(t *testing.T) {
	sp := signedTestPlan(t)
	if i, err := sp.Member(testKey(3).Public(), RoleCompute); err != nil || i != 3 {
		t.Error(i, err)
	}
	if _, err := sp.Member(testKey(3).Public(), RoleParty); !errors.Is(err, ErrUnknown) {
		t.Errorf("another role: %v", err)
	}
	if _, err := sp.Member(testKey(9).Public(), RoleParty); !errors.Is(err, ErrUnknown) {
		t.Errorf("an unknown key: %v", err)
	}
}
