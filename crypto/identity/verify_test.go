package identity

import (
	"bytes"
	"crypto/ed25519"
	"math/rand/v2"
	"runtime"
	"testing"

	"filippo.io/edwards25519"

	"pgregory.net/rapid"

	"choir/internal/vectortest"
)

func testRand(n byte) *rand.ChaCha8 { return rand.NewChaCha8([32]byte{n}) }

func testKey(n byte) *PrivateKey { return FromSeed([32]byte{n}) }

// TestAgainstStandardLibrary signs here and verifies there, and the reverse.
func TestAgainstStandardLibrary(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seed := [32]byte(rapid.SliceOfN(rapid.Byte(), 32, 32).Draw(t, "seed"))
		msg := rapid.SliceOf(rapid.Byte()).Draw(t, "msg")
		ours, theirs := FromSeed(seed), ed25519.NewKeyFromSeed(seed[:])
		pub := ours.Public()
		if !bytes.Equal(pub[:], theirs.Public().(ed25519.PublicKey)) {
			t.Fatal("different public keys")
		}
		sig := ours.Sign(msg)
		if !ed25519.Verify(pub[:], msg, sig[:]) {
			t.Fatal("crypto/ed25519 rejects our signature")
		}
		if !Verify(pub, msg, Signature(ed25519.Sign(theirs, msg))) {
			t.Fatal("we reject the signature of crypto/ed25519")
		}
		if Verify(pub, append(msg, 0), sig) {
			t.Fatal("a signature holds for another message")
		}
	})
}

// TestTableChangesNoVerdict verifies every kind of signature, valid, invalid, and with components of
// small order, with keys that have tables.
func TestTableChangesNoVerdict(t *testing.T) {
	points, keys := torsion(t), new(Keys)
	for kind := -8; kind <= 2; kind++ {
		for n := 0; n < 64; n += 5 {
			it := adversarial(t, points, kind, byte(n))
			for again := range manyAlone + 2 {
				if got := keys.Verify(it.Key, it.Msg, it.Sig); got != (kind >= 0) {
					t.Errorf("kind %d, %d, time %d: accepted %v", kind, n, again, got)
				}
			}
		}
	}
	if keys.tables == 0 || keys.tables > maxTables {
		t.Errorf("%d of %d keys have a table", keys.tables, len(keys.known))
	}
	key, msg := testKey(1), []byte("message")
	sig := key.Sign(msg)
	for bit := range 8 * SignatureSize {
		bad := sig
		bad[bit/8] ^= 1 << (bit % 8)
		if keys.Verify(key.Public(), msg, bad) || !keys.Verify(key.Public(), msg, sig) {
			t.Errorf("signature bit %d does not matter, or nothing does", bit)
		}
	}
}

// TestTablesAreShared: members of one process share the table of a key, and unused tables are freed.
// (Package session tests concurrent members with the race detector.)
func TestTablesAreShared(t *testing.T) {
	key, msg := testKey(77), []byte("message")
	sig, all := key.Sign(msg), make([]*Keys, 8)
	for i := range all {
		all[i] = new(Keys)
		for range manyAlone + 2 {
			if !all[i].Verify(key.Public(), msg, sig) {
				t.Fatal("rejected")
			}
		}
	}
	for _, k := range all {
		if table := k.known[key.Public()].table; table == nil || table != all[0].known[key.Public()].table {
			t.Fatal("a member has no table, or one of its own")
		}
	}
	runtime.KeepAlive(all)
	all = nil
	runtime.GC()
	other := testKey(78)
	tableOf(other.Public(), new(edwards25519.Point).ScalarBaseMult(edwards25519.NewScalar()))
	tables.mu.Lock()
	defer tables.mu.Unlock()
	if _, there := tables.of[key.Public()]; there {
		t.Error("a table that nobody has is kept")
	}
}

// TestEverySignatureBit flips each bit of a signature and of a key.
func TestEverySignatureBit(t *testing.T) {
	key, msg := testKey(1), []byte("message")
	sig := key.Sign(msg)
	for bit := range 8 * SignatureSize {
		bad := sig
		bad[bit/8] ^= 1 << (bit % 8)
		if Verify(key.Public(), msg, bad) {
			t.Errorf("signature bit %d does not matter", bit)
		}
	}
	for bit := range 8 * publicKeySize {
		bad := key.Public()
		bad[bit/8] ^= 1 << (bit % 8)
		if Verify(bad, msg, sig) {
			t.Errorf("key bit %d does not matter", bit)
		}
	}
}

// torsion returns the eight points of small order, as multiples of one of
// order 8, which is what remains of a random point times the group order.
func torsion(t testing.TB) [8]*edwards25519.Point {
	t.Helper()
	minusOne := edwards25519.NewScalar().Subtract(edwards25519.NewScalar(), one(t))
	for n := byte(2); n < 100; n++ {
		p, err := new(edwards25519.Point).SetBytes(append([]byte{n}, make([]byte, 31)...))
		if err != nil {
			continue
		}
		// ℓ·p = (ℓ-1)·p + p, because scalars are reduced modulo ℓ.
		p.Add(new(edwards25519.Point).ScalarMult(minusOne, p), p)
		four := new(edwards25519.Point).Double(new(edwards25519.Point).Double(p))
		if four.Equal(edwards25519.NewIdentityPoint()) == 1 {
			continue
		}
		var points [8]*edwards25519.Point
		points[0] = edwards25519.NewIdentityPoint()
		for i := 1; i < 8; i++ {
			points[i] = new(edwards25519.Point).Add(points[i-1], p)
		}
		return points
	}
	t.Fatal("no point of order 8 found")
	return [8]*edwards25519.Point{}
}

func one(t testing.TB) *edwards25519.Scalar {
	t.Helper()
	s, err := edwards25519.NewScalar().SetCanonicalBytes(append([]byte{1}, make([]byte, 31)...))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// mixed makes a key and a signature whose points carry components of small
// order: A = a·B + ta, R = r·B + tr, S = r + k·a.
func mixed(a, r *edwards25519.Scalar, ta, tr *edwards25519.Point, msg []byte) Item {
	point := func(s *edwards25519.Scalar, t *edwards25519.Point) []byte {
		p := new(edwards25519.Point).ScalarBaseMult(s)
		return p.Add(p, t).Bytes()
	}
	it := Item{Key: PublicKey(point(a, ta)), Msg: msg}
	copy(it.Sig[:32], point(r, tr))
	k := edwards25519.NewScalar()
	newReader().challenge(k, it.Key, msg, it.Sig)
	s := edwards25519.NewScalar().MultiplyAdd(k, a, r)
	copy(it.Sig[32:], s.Bytes())
	return it
}

func scalar(t testing.TB, n byte) *edwards25519.Scalar {
	t.Helper()
	s, err := edwards25519.NewScalar().SetUniformBytes(append([]byte{n}, bytes.Repeat([]byte{n + 1}, 63)...))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestSmallOrderComponents goes through all pairs of components of small order
// in A and R: the definition accepts each of them while A keeps a component of
// prime order, alone and in a batch. The cofactorless equation of
// crypto/ed25519 rejects most, so that the test also shows that these cases matter.
func TestSmallOrderComponents(t *testing.T) {
	points, zero := torsion(t), edwards25519.NewScalar()
	disagree, checked := 0, 0
	for i, ta := range points {
		for j, tr := range points {
			it := mixed(scalar(t, 3), scalar(t, 5), ta, tr, []byte{byte(i), byte(j)})
			if !Verify(it.Key, it.Msg, it.Sig) {
				t.Errorf("components %d, %d: rejected", i, j)
			}
			if !ed25519.Verify(it.Key[:], it.Msg, it.Sig[:]) {
				disagree++
			}
			// R of small order only: allowed.
			it = mixed(scalar(t, 3), zero, ta, tr, []byte{byte(i), byte(j)})
			if !Verify(it.Key, it.Msg, it.Sig) {
				t.Errorf("components %d, %d with small R: rejected", i, j)
			}
			// A of small order: rejected for every R.
			for _, r := range []*edwards25519.Scalar{scalar(t, 5), zero} {
				it = mixed(zero, r, ta, tr, []byte{byte(i), byte(j)})
				if Verify(it.Key, it.Msg, it.Sig) {
					t.Errorf("small A %d, R component %d: accepted", i, j)
				}
				checked++
			}
		}
	}
	if disagree < 32 || checked != 128 {
		t.Errorf("the cases have no effect: the cofactorless equation rejects %d of 64, %d with small A", disagree,
			checked)
	}
}

// nonCanonical lists every non-canonical encoding of a point: y ≥ p, of which
// there are 19 values and two signs, and the sign on x = 0.
func nonCanonical() (encodings [][32]byte) {
	for y := 0xed; y <= 0xff; y++ {
		for _, top := range []byte{0x7f, 0xff} {
			e := [32]byte(bytes.Repeat([]byte{0xff}, 32))
			e[0], e[31] = byte(y), top
			encodings = append(encodings, e)
		}
	}
	minusOne := [32]byte(bytes.Repeat([]byte{0xff}, 32))
	minusOne[0] = 0xec
	return append(encodings, [32]byte{0: 1, 31: 0x80}, minusOne)
}

func TestNonCanonicalEncodings(t *testing.T) {
	points := 0
	for _, e := range nonCanonical() {
		if _, ok := decodePoint(e); ok {
			t.Errorf("%x is accepted", e)
		}
		if p, err := new(edwards25519.Point).SetBytes(e[:]); err == nil {
			points++
			if bytes.Equal(p.Bytes(), e[:]) {
				t.Errorf("%x is canonical after all", e)
			}
		}
	}
	// 26 of the 40 decode in lenient implementations (Chalkias, Garillot and
	// Nikolaenko, "Taming the many EdDSAs", count them as 25 besides (0, 1)).
	if points == 0 {
		t.Error("no lenient decoding: the test checks nothing")
	}
	t.Logf("%d of %d are points to a lenient decoder", points, len(nonCanonical()))
	canonical := 0
	rapid.Check(t, func(t *rapid.T) {
		special := rapid.SampledFrom([]byte{0, 1, 0x7f, 0x80, 0xec, 0xed, 0xff, 9})
		e := [32]byte(rapid.SliceOfN(special, 32, 32).Draw(t, "e"))
		p, err := new(edwards25519.Point).SetBytes(e[:])
		_, ok := decodePoint(e)
		if ok != (err == nil && bytes.Equal(p.Bytes(), e[:])) {
			t.Fatalf("%x: accepted %v, library %v", e, ok, err)
		}
		if ok {
			canonical++
		}
	})
	if canonical == 0 {
		t.Error("no canonical encoding among the samples")
	}
}

// TestNonCanonicalS adds the group order to S, once and as often as fits.
func TestNonCanonicalS(t *testing.T) {
	order := vectortest.Unhex(t, "edd3f55c1a631258d69cf7a2def9de1400000000000000000000000000000010")
	key, msg := testKey(2), []byte("malleable")
	sig := key.Sign(msg)
	times := 0
	for {
		carry := 0
		for i, o := range order {
			carry += int(sig[32+i]) + int(o)
			sig[32+i] = byte(carry)
			carry >>= 8
		}
		if carry != 0 {
			break
		}
		times++
		if Verify(key.Public(), msg, sig) {
			t.Errorf("S + %d·ℓ is accepted", times)
		}
	}
	if times < 14 {
		t.Errorf("only %d multiples tried", times)
	}
}
