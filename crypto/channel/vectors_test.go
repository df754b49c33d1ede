package channel

import (
	"bytes"
	"slices"
	"testing"

	"choir/internal/vectortest"
)

const vectorFile = "../../testdata/channel/vectors.json"

// channelVectors are vectors for the recipient, which is deterministic. The initiator draws enc at
// random, so that enc is an input in the file.
type channelVectors struct {
	Version int             `json:"version"`
	Cases   []channelVector `json:"cases"`
}

// channelVector holds byte strings, base64 in JSON. Inputs come first.
type channelVector struct {
	Suite   string       `json:"suite"`
	Seed    []byte       `json:"seed"` // what GenerateKey reads
	Enc     []byte       `json:"enc"`
	Info    []byte       `json:"info"`
	Purpose string       `json:"purpose"`
	Context []byte       `json:"context"`
	AD      []byte       `json:"ad"`
	Chunks  []sealedCase `json:"chunks"`

	Private []byte `json:"private"`
	Public  []byte `json:"public"`
	Secret  []byte `json:"secret"`
	Key     []byte `json:"key"`
}

type sealedCase struct {
	Index     uint32 `json:"index"`
	Last      bool   `json:"last"`
	Plaintext []byte `json:"plaintext"`
	Sealed    []byte `json:"sealed"`
}

// complete computes the outputs of a case from its inputs.
func (v *channelVector) complete(t *testing.T) {
	t.Helper()
	i := slices.IndexFunc(suites, func(s Suite) bool { return s.String() == v.Suite })
	if i < 0 {
		t.Fatalf("unknown suite %q", v.Suite)
	}
	suite := suites[i]
	key, err := GenerateKey(suite, bytes.NewReader(v.Seed))
	if err != nil {
		t.Fatal(err)
	}
	if v.Private, err = key.Bytes(); err != nil {
		t.Fatal(err)
	}
	v.Public = key.Public()
	secret, err := Accept(key, v.Enc, v.Info)
	if err != nil {
		t.Fatal(err)
	}
	v.Secret = secret.Bytes()
	derived := secret.Derive(v.Purpose, v.Context)
	v.Key = derived[:]
	box, err := NewBox(derived, v.AD)
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range v.Chunks {
		v.Chunks[i].Sealed = box.Seal(nil, c.Index, c.Last, c.Plaintext)
	}
}

// freshVectors makes inputs, with a new enc.
func freshVectors(t *testing.T) (v channelVectors) {
	t.Helper()
	v.Version = 2
	for i, suite := range suites {
		c := channelVector{
			Suite: suite.String(), Seed: bytes.Repeat([]byte{byte(i + 1)}, 32),
			Info: []byte("plan and members"), Purpose: "choir test contribution",
			Context: []byte("round 1, attempt 1"),
			AD:      []byte("full context"),
			Chunks: []sealedCase{
				{Index: 0, Plaintext: []byte("first chunk")},
				{Index: 1, Plaintext: []byte{}},
				{Index: 2, Last: true, Plaintext: []byte("last chunk")},
			},
		}
		key, err := GenerateKey(suite, bytes.NewReader(c.Seed))
		if err != nil {
			t.Fatal(err)
		}
		if c.Enc, _, err = Initiate(suite, key.Public(), c.Info); err != nil {
			t.Fatal(err)
		}
		v.Cases = append(v.Cases, c)
	}
	return v
}

func TestVectors(t *testing.T) {
	v := vectortest.Load(t, vectorFile, func() channelVectors { return freshVectors(t) })
	if len(v.Cases) != len(suites) {
		t.Fatalf("%d cases, want one for each of %d suites", len(v.Cases), len(suites))
	}
	for i := range v.Cases {
		if len(v.Cases[i].Chunks) != 3 {
			t.Fatalf("case %d has %d chunks, want 3", i, len(v.Cases[i].Chunks))
		}
		v.Cases[i].complete(t)
	}
	vectortest.Hold(t, vectorFile, v)
}
