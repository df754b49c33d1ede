package protocol

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"flag"
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"choir/crypto/commit"
	"choir/crypto/field"
	"choir/crypto/xof"
)

var update = flag.Bool("update", false, "write the test vectors instead of replaying them")

const vectorsPath = "../testdata/protocol/v1.json"

// hexBytes is lower-case hexadecimal in the file.
type hexBytes []byte

func (h hexBytes) MarshalText() ([]byte, error) { return []byte(hex.EncodeToString(h)), nil }
func (h *hexBytes) UnmarshalText(b []byte) (err error) {
	*h, err = hex.DecodeString(string(b))
	return err
}

// vectorFile has all that a second implementation needs to check its encoding, signatures, digests
// and keys byte for byte.
type vectorFile struct {
	Version  int             `json:"version"`
	Seeds    []hexBytes      `json:"identity_seeds"` // by member index, RFC 8032
	Plan     hexBytes        `json:"plan"`
	PlanID   hexBytes        `json:"plan_id"`
	File     string          `json:"plan_file"` // signed by all
	Messages []messageVector `json:"messages"`
	Secret   hexBytes        `json:"channel_secret"` // of every use below
	Chunks   []chunkVector   `json:"chunks"`
	Confirm  hexBytes        `json:"confirmation"` // of "contribution" at member 3, in the first chunk's context
	Group    sealedVector    `json:"group"`        // for member 1
	Blinding sealedVector    `json:"blinding"`     // in the first chunk's context
	Mask     hexBytes        `json:"mask"`         // first three elements, in the first chunk's context
	Digests  []digestVector  `json:"digests"`
}

type messageVector struct {
	Name      string   `json:"name"`
	Kind      uint8    `json:"kind"`
	From      uint32   `json:"from"`
	Body      hexBytes `json:"body"`
	Signed    hexBytes `json:"signed"` // what the signature covers
	Signature hexBytes `json:"signature"`
	Message   hexBytes `json:"message"`
}

type chunkVector struct {
	From       uint32   `json:"from"`
	To         uint32   `json:"to"`
	Round      uint32   `json:"round"`
	Attempt    uint32   `json:"attempt"`
	Purpose    uint8    `json:"purpose"`
	Salt       hexBytes `json:"salt"`
	Plaintext  hexBytes `json:"plaintext"`
	Ciphertext hexBytes `json:"ciphertext"`
	Message    hexBytes `json:"message"`
}

type sealedVector struct {
	Plaintext hexBytes `json:"plaintext"`
	Sealed    hexBytes `json:"sealed"`
}

type digestVector struct {
	Name   string   `json:"name"`
	Digest hexBytes `json:"digest"`
}

func computedVectors(t *testing.T) *vectorFile {
	t.Helper()
	s, f := testSession(t), &vectorFile{Version: PlanVersion}
	for i := range s.Plan.Members {
		f.Seeds = append(f.Seeds, bytes.Repeat([]byte{byte(i + 1)}, 32))
	}
	var err error
	if f.Plan, err = s.Plan.Marshal(); err != nil {
		t.Fatal(err)
	}
	text, err := signedTestPlan(t).MarshalText()
	if err != nil {
		t.Fatal(err)
	}
	f.PlanID, f.File = s.ID[:], string(text)
	for _, sm := range samples() {
		f.Messages = append(f.Messages, messageVectorOf(t, s, sm))
	}
	f.Secret = testSecret(t, 0x42).Bytes()
	f.sealed(t, s)
	f.digests(t, s)
	return f
}

func messageVectorOf(t *testing.T, s BoundPlan, sm sample) messageVector {
	t.Helper()
	b, err := s.Sign(testKey(int(sm.from)), sm.from, sm.m)
	if err != nil {
		t.Fatal(err)
	}
	e, err := UnmarshalEnvelope(b)
	if err != nil {
		t.Fatal(err)
	}
	tbs, err := e.toBeSigned(uint8(s.Plan.Suite))
	if err != nil {
		t.Fatal(err)
	}
	return messageVector{sm.name, uint8(e.Kind), e.From, e.Body, tbs, e.Sig[:], b}
}

func (f *vectorFile) sealed(t *testing.T, s BoundPlan) {
	t.Helper()
	secret := testSecret(t, 0x42)
	result := samples()[slices.IndexFunc(samples(), func(m sample) bool { return m.name == "result" })]
	contexts := []Context{shareContext, s.PartialContext(3, 1, 1, testDigest(5)),
		s.ResultContext(secret, result.m.(*Result))}
	for _, c := range contexts {
		chunks := sealedVectorChunks(t, s, secret, c)
		b, err := chunks[0].Marshal()
		if err != nil {
			t.Fatal(err)
		}
		f.Chunks = append(f.Chunks, chunkVector{c.From, c.To, c.Round, c.Attempt, uint8(c.Purpose), c.Salt[:],
			encodedVector(s), chunks[0].Ciphertext, b})
	}
	manifest, err := samples()[5].m.(*Contribution).ManifestDigest(s, 1)
	if err != nil {
		t.Fatal(err)
	}
	tag := s.Confirm(secret, shareContext, manifest)
	group := bytes.Repeat([]byte{0x17}, 32)
	sealed, err := s.SealGroup(secret, 1, group)
	if err != nil {
		t.Fatal(err)
	}
	share, err := commit.ParseScalar(append(bytes.Repeat([]byte{3}, 31), 0))
	if err != nil {
		t.Fatal(err)
	}
	blinding, err := s.SealBlinding(secret, shareContext, share)
	if err != nil {
		t.Fatal(err)
	}
	mask, err := s.Mask(secret, shareContext)
	if err != nil {
		t.Fatal(err)
	}
	v := make(field.Vector, 3)
	mask.Fill(xof.Chunk(v, 0), 0)
	f.Confirm = tag[:]
	f.Group = sealedVector{group, sealed}
	f.Blinding = sealedVector{share.Bytes(), blinding[:]}
	f.Mask = field.AppendVector(nil, v)
}

func (f *vectorFile) digests(t *testing.T, s BoundPlan) {
	t.Helper()
	add := func(name string, d Digest) { f.Digests = append(f.Digests, digestVector{name, d[:]}) }
	hold := samples()[9].m.(*Hold)
	bundle, err := samples()[5].m.(*Contribution).BundleDigest(s, 1)
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := samples()[5].m.(*Contribution).ManifestDigest(s, 1)
	if err != nil {
		t.Fatal(err)
	}
	add("manifest of message contribution by member 1", manifest)
	add("bundle of message contribution by member 1", bundle)
	add("set of message hold in round 1, attempt 2", SetDigest(s, 1, 2, hold.Entries))
	add("empty set in round 1, attempt 2", SetDigest(s, 1, 2, nil))
	key := KeyDigest(s, 3, samples()[1].m.(*Key).Public)
	add("key of message key by member 3", key)
	add("channel info from member 1 to member 3 with that key", Digest(s.ChannelInfo(1, 3, key)))
	chunk := NewChunkHash().Digest(f.Chunks[0].Ciphertext)
	add("ciphertext of chunk 0", chunk)
	add("chunk list of that digest alone", ChunkList([]Digest{chunk}))
	third := Later(testSecret(t, 0x42), 2)
	add("channel secret of the file in round 3", Digest(third.Bytes()))
	group := testSecret(t, 0x17)
	key7 := s.DigestSecret(group).Key(7)
	opening := Opening{Salt: [32]byte{1}, Blinding: [32]byte{2}}
	add("key of round 7 under the group key of the file", Digest(key7))
	add("vector of field elements 1, 2, p-1 with salt 01 00.. and blinding sum 02 00..",
		VectorDigest(field.Vector{1, 2, field.Element(uint64(field.Modulus) - 1)}, opening))
	add("integers 1, -2, 2^62 in round 7", IntDigest(key7, []int64{1, -2, 1 << 62}))
	many := make([]int64, 5000)
	for i := range many {
		many[i] = int64(i)
	}
	add("integers 0 to 4999 in round 7", IntDigest(key7, many))
	receipt := samples()[8].m.(*Receipt)
	add("leaf of message receipt/of three", receipt.leaf())
	add("root of message receipt/of three", receipt.root())
}

func TestVectors(t *testing.T) {
	want := computedVectors(t)
	if *update {
		b, err := json.MarshalIndent(want, "", " ")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll("../testdata/protocol", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(vectorsPath, append(b, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	raw, err := os.ReadFile(vectorsPath)
	if err != nil {
		t.Fatal(err)
	}
	var got vectorFile
	if err := json.Unmarshal(raw, &got); err != nil {
		t.Fatal(err)
	}
	if len(got.Messages) != len(samples()) || len(got.Chunks) != 3 || len(got.Digests) != 15 ||
		len(got.Plan) == 0 {
		t.Fatalf("%d messages, %d chunks, %d digests", len(got.Messages), len(got.Chunks), len(got.Digests))
	}
	if d := cmp.Diff(want, &got, sameFields); d != "" {
		t.Errorf("the file differs from what the code generates:\n%s", d)
	}
}

// TestVectorsAreAccepted: the file's messages pass a receiver's checks.
func TestVectorsAreAccepted(t *testing.T) {
	raw, err := os.ReadFile(vectorsPath)
	if err != nil {
		t.Fatal(err)
	}
	var f vectorFile
	if err := json.Unmarshal(raw, &f); err != nil {
		t.Fatal(err)
	}
	sp, err := UnmarshalSignedPlan([]byte(f.File))
	if err != nil {
		t.Fatal(err)
	}
	s := Bind(sp.Plan)
	if len(sp.Missing()) != 0 || !bytes.Equal(s.ID[:], f.PlanID) {
		t.Fatal("the plan differs from the file's")
	}
	for _, m := range f.Messages {
		t.Run(m.Name, func(t *testing.T) {
			if _, _, err := s.Receive(m.Message); err != nil {
				t.Error(err)
			}
		})
	}
	for i, c := range f.Chunks {
		chunk, err := UnmarshalChunk(c.Message)
		if err != nil {
			t.Fatal(err)
		}
		if plain, err := s.OpenChunk(testSecret(t, 0x42), chunk); err != nil || !bytes.Equal(plain, c.Plaintext) {
			t.Errorf("chunk %d: %v", i, err)
		}
	}
	if len(f.Messages) == 0 || len(f.Chunks) == 0 {
		t.Error("nothing was accepted")
	}
}
