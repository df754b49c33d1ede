package identity

import (
	"bytes"
	"encoding/json"
	"os"
	"slices"
	"testing"

	"choir/internal/vectortest"
)

const vectorDir = "../../testdata/identity/"

func readVectors(t *testing.T, name string, into any) {
	t.Helper()
	b, err := os.ReadFile(vectorDir + name)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, into); err != nil {
		t.Fatal(name, err)
	}
}

func TestRFC8032(t *testing.T) {
	var file struct {
		Cases []struct{ Name, Seed, Public, Message, Signature string }
	}
	readVectors(t, "rfc8032.json", &file)
	if len(file.Cases) != 4 {
		t.Fatalf("%d cases, want 4", len(file.Cases))
	}
	var items []Item
	for _, c := range file.Cases {
		key, msg := FromSeed([32]byte(vectortest.Unhex(t, c.Seed))), vectortest.Unhex(t, c.Message)
		if key.Public().String() != c.Public {
			t.Errorf("%s: public key %v, want %s", c.Name, key.Public(), c.Public)
		}
		if sig := key.Sign(msg); sig.String() != c.Signature {
			t.Errorf("%s: signature %v, want %s", c.Name, sig, c.Signature)
		}
		it := Item{key.Public(), msg, Signature(vectortest.Unhex(t, c.Signature))}
		if !Verify(it.Key, it.Msg, it.Sig) {
			t.Errorf("%s: rejected", c.Name)
		}
		items = append(items, it)
	}
	if bad := VerifyBatch(items, testRand(1)); bad != nil {
		t.Errorf("batch rejects %v", bad)
	}
}

func TestEdgeCases(t *testing.T) {
	var file struct {
		Cases []struct {
			Name, Public, Message, Signature string
			Accept                           bool
		}
	}
	readVectors(t, "edge-cases.json", &file)
	if len(file.Cases) != 10 {
		t.Fatalf("%d cases, want 10", len(file.Cases))
	}
	var items []Item
	var want []int
	for i, c := range file.Cases {
		it := Item{PublicKey(vectortest.Unhex(t, c.Public)), vectortest.Unhex(t, c.Message),
			Signature(vectortest.Unhex(t, c.Signature))}
		if got := Verify(it.Key, it.Msg, it.Sig); got != c.Accept {
			t.Errorf("%s: accepted %v, want %v", c.Name, got, c.Accept)
		}
		if !c.Accept {
			want = append(want, i)
		}
		items = append(items, it)
	}
	if got := VerifyBatch(items, testRand(1)); !slices.Equal(got, want) {
		t.Errorf("batch rejects %v, want %v", got, want)
	}
}

// ownVectors are vectors for the formats of this package: everything after Seed is computed from the
// fields before it.
type ownVectors struct {
	Version     int         `json:"version"`
	Seed        string      `json:"seed"`
	Public      string      `json:"public"`
	Fingerprint string      `json:"fingerprint"`
	Card        cardVector  `json:"card"`
	KeyFile     keyFileCase `json:"key_file"`
}

type cardVector struct {
	Name      string `json:"name"`
	NotBefore int64  `json:"not_before"`
	NotAfter  int64  `json:"not_after"`
	Signed    []byte `json:"signed_base64"`
	Text      string `json:"text"`
}

type keyFileCase struct {
	Name       string `json:"name"`
	Passphrase string `json:"passphrase"`
	Salt       []byte `json:"salt_base64"`
	Text       string `json:"text"`
}

func computeVectors(t *testing.T) ownVectors {
	t.Helper()
	v := ownVectors{Version: 1, Seed: "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"}
	key := FromSeed([32]byte(vectortest.Unhex(t, v.Seed)))
	v.Public, v.Fingerprint = key.Public().String(), key.Public().Fingerprint()
	card, err := NewCard(key, "north-hospital", 1767225600, 1798761600)
	if err != nil {
		t.Fatal(err)
	}
	signed, err := card.signed()
	if err != nil {
		t.Fatal(err)
	}
	text, err := card.MarshalText()
	if err != nil {
		t.Fatal(err)
	}
	v.Card = cardVector{card.Name, card.NotBefore, card.NotAfter, signed, string(text)}
	v.KeyFile = keyFileCase{Name: "north-hospital", Passphrase: "correct horse",
		Salt: bytes.Repeat([]byte{0xa5}, saltSize)}
	sealed, err := sealKey(key, v.KeyFile.Name, []byte(v.KeyFile.Passphrase), DefaultParams(),
		bytes.NewReader(v.KeyFile.Salt))
	if err != nil {
		t.Fatal(err)
	}
	if text, err = sealed.marshal(); err != nil {
		t.Fatal(err)
	}
	v.KeyFile.Text = string(text)
	return v
}

func TestVectors(t *testing.T) {
	vectortest.Hold(t, vectorDir+"vectors.json", computeVectors(t))
}

// TestReadVectorKeyFile opens the committed key file rather than a new one.
func TestReadVectorKeyFile(t *testing.T) {
	var v ownVectors
	readVectors(t, "vectors.json", &v)
	path := t.TempDir() + "/key"
	if err := os.WriteFile(path, []byte(v.KeyFile.Text), 0o600); err != nil {
		t.Fatal(err)
	}
	key, name, err := ReadKeyFile(path, []byte(v.KeyFile.Passphrase))
	if err != nil {
		t.Fatal(err)
	}
	if key.Public().String() != v.Public || name != v.KeyFile.Name {
		t.Errorf("read %v, %q", key.Public(), name)
	}
	var card Card
	if err := card.UnmarshalText([]byte(v.Card.Text)); err != nil {
		t.Fatal(err)
	}
	if err := card.Verify(v.Card.NotBefore); err != nil {
		t.Error(err)
	}
}
