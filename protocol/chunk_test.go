package protocol

import (
	"bytes"
	"errors"
	"testing"

	"choir/crypto/channel"
	"choir/crypto/commit"
	"choir/crypto/field"
	"choir/crypto/xof"
)

var shareContext = Context{From: 0, To: 3, Round: 1, Attempt: 2, Purpose: PurposeShare, Salt: Salt{9, 8}}

func encodedVector(s BoundPlan) []byte {
	v := make(field.Vector, s.Plan.Dim)
	for i := range v {
		v[i] = field.Element(i + 1)
	}
	return field.AppendVector(nil, v)
}

func sealedChunks(t testing.TB, s BoundPlan, secret *channel.Secret) []*Chunk {
	t.Helper()
	return sealedVectorChunks(t, s, secret, shareContext)
}

// sealedVectorChunks returns the chunks of encodedVector.
func sealedVectorChunks(t testing.TB, s BoundPlan, secret *channel.Secret, c Context) []*Chunk {
	t.Helper()
	sealer, err := s.Sealer(secret, c)
	if err != nil {
		t.Fatal(err)
	}
	encoded, chunks := encodedVector(s), make([]*Chunk, s.Chunks())
	for i := range chunks {
		message, _ := sealer.Seal(i, func(plain []byte) { encoded = encoded[copy(plain, encoded):] })
		if chunks[i], err = UnmarshalChunk(message); err != nil {
			t.Fatal(err)
		}
	}
	return chunks
}

// TestChunksCoverTheVector: chunks give the vector, for lengths around a chunk's.
func TestChunksCoverTheVector(t *testing.T) {
	for dim, want := range map[uint32]int{1: 1, xof.ChunkElements - 1: 1, xof.ChunkElements: 1,
		xof.ChunkElements + 1: 2, 2*xof.ChunkElements + 5: 3} {
		p := testPlan()
		p.Dim = dim
		s := Bind(p)
		chunks := sealedChunks(t, s, testSecret(t, 1))
		if len(chunks) != want || s.Chunks() != want {
			t.Fatalf("dim %d: %d chunks, not %d", dim, len(chunks), want)
		}
		var plain []byte
		for _, c := range chunks {
			b, err := c.Marshal()
			if err != nil {
				t.Fatal(err)
			}
			if len(b) > maxMessage {
				t.Errorf("dim %d: a chunk of %d bytes, more than %d", dim, len(b), maxMessage)
			}
			part, err := s.OpenChunk(testSecret(t, 1), c)
			if err != nil {
				t.Fatal(err)
			}
			plain = append(plain, part...)
		}
		if !bytes.Equal(plain, encodedVector(s)) {
			t.Errorf("dim %d: another vector", dim)
		}
	}
}

// TestChunkIsBoundToItsContext: a chunk opens in its context only.
func TestChunkIsBoundToItsContext(t *testing.T) {
	p := testPlan()
	p.Dim = xof.ChunkElements + 5
	s := Bind(p)
	secret := testSecret(t, 1)
	for name, alter := range map[string]func(c *Chunk){
		"plan":       func(c *Chunk) { c.Plan[0] ^= 1 },
		"from":       func(c *Chunk) { c.From++ },
		"to":         func(c *Chunk) { c.To++ },
		"round":      func(c *Chunk) { c.Round++ },
		"attempt":    func(c *Chunk) { c.Attempt++ },
		"purpose":    func(c *Chunk) { c.Purpose = PurposePartial },
		"salt":       func(c *Chunk) { c.Salt[0] ^= 1 },
		"index":      func(c *Chunk) { c.Index, c.Last = 1, true },
		"last":       func(c *Chunk) { c.Last = true },
		"beyond":     func(c *Chunk) { c.Index = 2 },
		"far beyond": func(c *Chunk) { c.Index = 1 << 31 },
		"ciphertext": func(c *Chunk) { c.Ciphertext[5] ^= 1 },
		"cut":        func(c *Chunk) { c.Ciphertext = c.Ciphertext[:len(c.Ciphertext)-1] },
		"empty":      func(c *Chunk) { c.Ciphertext = nil },
	} {
		t.Run(name, func(t *testing.T) {
			c := sealedChunks(t, s, secret)[0]
			if _, err := s.OpenChunk(secret, c); err != nil {
				t.Fatal(err)
			}
			alter(c)
			if _, err := s.OpenChunk(secret, c); err == nil {
				t.Error("it opens")
			}
		})
	}
	if _, err := s.OpenChunk(testSecret(t, 2), sealedChunks(t, s, secret)[0]); !errors.Is(err, ErrSealed) {
		t.Errorf("another secret: %v", err)
	}
}

// TestKeysDifferByUse: a channel secret gives a different key for each purpose.
func TestKeysDifferByUse(t *testing.T) {
	s := testSession(t)
	secret := testSecret(t, 1)
	ctx := shareContext.bytes(s.ID)
	seen := map[[32]byte]string{}
	for _, purpose := range []string{sealKey, maskKey, confirmKey, blindingKey, groupKey} {
		k := secret.Derive(purpose, ctx)
		if other, ok := seen[k]; ok {
			t.Errorf("%s and %s share a key", purpose, other)
		}
		seen[k] = purpose
	}
}

func TestConfirmCoversTheContribution(t *testing.T) {
	s := testSession(t)
	secret := testSecret(t, 1)
	base := func() *Contribution {
		return &Contribution{Round: 1, Attempt: 2, Model: testDigest(1), Vector: testDigest(2),
			Confirm: make([][16]byte, 2), Blinding: make([]SealedScalar, 2)}
	}
	tag := func(secret *channel.Secret, c Context, m *Contribution) [16]byte {
		digest, err := m.ManifestDigest(s, c.From)
		if err != nil {
			t.Fatal(err)
		}
		return s.Confirm(secret, c, digest)
	}
	want := tag(secret, shareContext, base())
	tags := base()
	tags.Confirm[0][3] = 9
	if tag(secret, shareContext, tags) != want {
		t.Error("the tags depend on each other")
	}
	for name, alter := range map[string]func(m *Contribution){
		"round":      func(m *Contribution) { m.Round++ },
		"attempt":    func(m *Contribution) { m.Attempt++ },
		"model":      func(m *Contribution) { m.Model[0]++ },
		"explicit":   func(m *Contribution) { m.Explicit++ },
		"vector":     func(m *Contribution) { m.Vector[0]++ },
		"commitment": func(m *Contribution) { m.Commitment[0]++ },
		"blinding":   func(m *Contribution) { m.Blinding[1][0]++ },
	} {
		t.Run(name, func(t *testing.T) {
			m := base()
			alter(m)
			if tag(secret, shareContext, m) == want {
				t.Error("not covered")
			}
		})
	}
	other := shareContext
	other.To++
	if tag(secret, other, base()) == want || tag(testSecret(t, 2), shareContext, base()) == want {
		t.Error("the context or the secret is not covered")
	}
}

func TestGroupKey(t *testing.T) {
	s := testSession(t)
	key := bytes.Repeat([]byte{7}, 32)
	sealed, err := s.SealGroup(testSecret(t, 1), 1, key)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := s.OpenGroup(testSecret(t, 1), 1, sealed); err != nil || !bytes.Equal(got, key) {
		t.Fatalf("%x, %v", got, err)
	}
	short, err := s.SealGroup(testSecret(t, 1), 1, key[:31])
	if err != nil {
		t.Fatal(err)
	}
	for name, open := range map[string]func() ([]byte, error){
		"another member": func() ([]byte, error) { return s.OpenGroup(testSecret(t, 1), 2, sealed) },
		"another secret": func() ([]byte, error) { return s.OpenGroup(testSecret(t, 2), 1, sealed) },
		"cut":            func() ([]byte, error) { return s.OpenGroup(testSecret(t, 1), 1, sealed[1:]) },
		"short key":      func() ([]byte, error) { return s.OpenGroup(testSecret(t, 1), 1, short) },
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := open(); !errors.Is(err, ErrSealed) {
				t.Errorf("%v", err)
			}
		})
	}
}

func TestBlindingShares(t *testing.T) {
	s := testSession(t)
	secret := testSecret(t, 1)
	r, err := commit.RandomScalar(deterministic(1))
	if err != nil {
		t.Fatal(err)
	}
	sealed, err := s.SealBlinding(secret, shareContext, r)
	if err != nil {
		t.Fatal(err)
	}
	got, err := s.OpenBlinding(secret, shareContext, sealed)
	if err != nil || !bytes.Equal(got.Bytes(), r.Bytes()) {
		t.Fatalf("another scalar, %v", err)
	}
	other := shareContext
	other.Round++
	if _, err := s.OpenBlinding(secret, other, sealed); !errors.Is(err, ErrSealed) {
		t.Errorf("another round: %v", err)
	}
	sealed[0] ^= 1
	if _, err := s.OpenBlinding(secret, shareContext, sealed); !errors.Is(err, ErrSealed) {
		t.Errorf("altered: %v", err)
	}
	box, err := s.blindingBox(secret, shareContext)
	if err != nil {
		t.Fatal(err)
	}
	copy(sealed[:], box.Seal(nil, 0, true, bytes.Repeat([]byte{255}, 32)))
	if _, err := s.OpenBlinding(secret, shareContext, sealed); !errors.Is(err, ErrMalformed) {
		t.Errorf("a scalar above the group order: %v", err)
	}
}

// TestOpening: the commitments of three parties open to the sum and to nothing else.
func TestOpening(t *testing.T) {
	p := testPlan()
	p.Audit = true
	g, err := p.Generators()
	if err != nil {
		t.Fatal(err)
	}
	sum, set, parts := make([]int64, p.Dim), []commit.Commitment{}, make([][]*commit.Scalar, 2)
	for i := range 3 {
		v := []int64{int64(i), -5, 1 << 40}
		r, err := commit.RandomScalar(deterministic(byte(i)))
		if err != nil {
			t.Fatal(err)
		}
		c, err := g.Commit(v, r)
		if err != nil {
			t.Fatal(err)
		}
		shares, err := r.Split(2, deterministic(byte(100+i)))
		if err != nil {
			t.Fatal(err)
		}
		for k := range parts {
			parts[k] = append(parts[k], shares[k])
		}
		for j := range sum {
			sum[j] += v[j]
		}
		set = append(set, c)
	}
	blindings := [][32]byte{[32]byte(commit.SumScalars(parts[0]).Bytes()),
		[32]byte(commit.SumScalars(parts[1]).Bytes())}
	if err := CheckOpening(g, set, blindings, sum); err != nil {
		t.Fatal(err)
	}
	if err := CheckOpening(g, set[:2], blindings, sum); !errors.Is(err, ErrMismatch) {
		t.Errorf("a party less: %v", err)
	}
	if err := CheckOpening(g, set, blindings[:1], sum); !errors.Is(err, ErrMismatch) {
		t.Errorf("a node less: %v", err)
	}
	sum[1]++
	if err := CheckOpening(g, set, blindings, sum); !errors.Is(err, ErrMismatch) {
		t.Errorf("another sum: %v", err)
	}
	blindings[0] = [32]byte(bytes.Repeat([]byte{255}, 32))
	if err := CheckOpening(g, set, blindings, sum); !errors.Is(err, ErrMalformed) {
		t.Errorf("no scalar: %v", err)
	}
}

func TestCheckAudit(t *testing.T) {
	s := testSession(t)
	plain := &Contribution{}
	// The commitment that is encoded as 1 is the neutral point.
	full := &Contribution{Commitment: commit.Commitment{1}, Blinding: make([]SealedScalar, 2)}
	if err := s.CheckAudit(plain); err != nil {
		t.Error(err)
	}
	if err := s.CheckAudit(full); !errors.Is(err, ErrMismatch) {
		t.Errorf("without audit mode: %v", err)
	}
	s.Plan.Audit = true
	if err := s.CheckAudit(full); err != nil {
		t.Error(err)
	}
	if err := s.CheckAudit(plain); !errors.Is(err, ErrMismatch) {
		t.Errorf("missing: %v", err)
	}
	full.Commitment = commit.Commitment{}
	if err := s.CheckAudit(full); !errors.Is(err, ErrMalformed) {
		t.Errorf("the zero commitment: %v", err)
	}
}
