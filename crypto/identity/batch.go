package identity

import (
	"io"

	"filippo.io/edwards25519"

	"choir/crypto/msm"
)

// Item is one signature to verify.
type Item struct {
	Key PublicKey
	Msg []byte
	Sig Signature
}

// VerifyBatch verifies many signatures together and returns the indices, in
// ascending order, of those that Verify refuses; nil means that all are good.
//
// It evaluates one random linear combination of all equations (Bernstein, Duif,
// Lange, Schwabe and Yang, "High-speed high-security signatures", section 5):
//
//	[8]( -(Σ zᵢsᵢ)·B + Σ zᵢ·Rᵢ + Σ zᵢkᵢ·Aᵢ ) = 0,  zᵢ uniform in [0, 2^128)
//
// and halves the batch until it has found the culprits when that fails; when
// there are many, it goes on one by one. A good signature is never refused; a
// bad one passes with probability at most 2^-128, provided that whoever made it
// could not predict r. If r fails, or is nil, the signatures are verified one
// by one, so that the answer stays right.
func VerifyBatch(items []Item, r io.Reader) (bad []int) {
	return (*Keys)(nil).VerifyBatch(items, r)
}

// VerifyBatch is the function of that name, with keys that are decoded already.
func (k *Keys) VerifyBatch(items []Item, r io.Reader) (bad []int) {
	claims := make([]claim, 0, len(items))
	index := make([]int, 0, len(items))
	refused := make([]bool, len(items))
	d := newDecoder(k)
	for i, it := range items {
		n := len(claims)
		claims = claims[:n+1]
		if !d.decode(&claims[n], it.Key, it.Msg, it.Sig) {
			refused[i], claims = true, claims[:n]
			continue
		}
		index = append(index, i)
	}
	b := bisector{
		rand: r, claims: claims, patience: len(claims) / 16,
		fail: func(j int) { refused[index[j]] = true },
	}
	b.search(0, len(claims), false)
	for i, no := range refused {
		if no {
			bad = append(bad, i)
		}
	}
	return bad
}

// singleBelow is the size under which verifying one by one costs less than a
// batch followed by a search inside it.
const singleBelow = 4

// bisector finds the claims that do not hold.
type bisector struct {
	rand   io.Reader
	claims []claim
	fail   func(j int)

	// patience is the number of culprits after which the rest is verified one
	// by one: searching among many costs more, and whoever sends bad signatures
	// should not multiply the work of those who check them.
	patience int
}

// search reports whether claims[lo:hi] has a culprit, after naming each to
// fail. knownBad skips the test of a range that is already known to fail.
func (b *bisector) search(lo, hi int, knownBad bool) bool {
	if hi-lo < singleBelow || b.patience < 0 {
		return b.oneByOne(lo, hi)
	}
	if !knownBad {
		good, err := b.combined(lo, hi)
		if err != nil {
			return b.oneByOne(lo, hi)
		}
		if good {
			return false
		}
	}
	mid := lo + (hi-lo)/2
	left := b.search(lo, mid, false)
	// When the left half is clean, the fault is in the right one.
	right := b.search(mid, hi, !left)
	return left || right
}

func (b *bisector) oneByOne(lo, hi int) (found bool) {
	for j := lo; j < hi; j++ {
		if !b.claims[j].holds() {
			b.fail(j)
			b.patience--
			found = true
		}
	}
	return found
}

// bucketsFrom is how many signatures are worth the bucket method; fewer are cheaper
// with a table for each point (measured: even at 64 to 96).
const bucketsFrom = 80

// combined evaluates the random linear combination over claims[lo:hi].
func (b *bisector) combined(lo, hi int) (bool, error) {
	z, err := coefficients(b.rand, hi-lo)
	if err != nil {
		return false, err
	}
	var sum edwards25519.Scalar
	for i := range z {
		sum.MultiplyAdd(&z[i], &b.claims[lo+i].s, &sum)
	}
	sum.Negate(&sum)
	if hi-lo < bucketsFrom {
		return isSmallOrder(straus(b.claims[lo:hi], z, &sum)), nil
	}
	p, err := buckets(b.claims[lo:hi], z, &sum)
	return err == nil && isSmallOrder(p), err
}

// straus is base·B + Σ zᵢ·Rᵢ + zᵢkᵢ·Aᵢ with the library's interleaved tables.
func straus(claims []claim, z []edwards25519.Scalar, base *edwards25519.Scalar) *edwards25519.Point {
	n := len(claims)
	zk := make([]edwards25519.Scalar, n)
	scalars := make([]*edwards25519.Scalar, 0, 2*n+1)
	points := make([]*edwards25519.Point, 0, 2*n+1)
	for i := range claims {
		c := &claims[i]
		scalars = append(scalars, &z[i], zk[i].Multiply(&z[i], &c.k))
		points = append(points, &c.r, c.a)
	}
	scalars, points = append(scalars, base), append(points, edwards25519.NewGeneratorPoint())
	return new(edwards25519.Point).VarTimeMultiScalarMult(scalars, points)
}

// buckets is the same by the bucket method.
func buckets(claims []claim, z []edwards25519.Scalar, base *edwards25519.Scalar) (*edwards25519.Point, error) {
	var zk edwards25519.Scalar
	terms := make([]msm.Term, 0, 2*len(claims)+1)
	for i := range claims {
		c := &claims[i]
		zk.Multiply(&z[i], &c.k)
		terms = append(terms, msm.Term{Point: &c.r, Scalar: [32]byte(z[i].Bytes())}, msm.Term{Point: c.a, Scalar: [32]byte(zk.Bytes())})
	}
	return msm.Sum(append(terms, msm.Term{Point: edwards25519.NewGeneratorPoint(), Scalar: [32]byte(base.Bytes())}))
}

// coefficients draws n uniform 128-bit scalars.
func coefficients(r io.Reader, n int) ([]edwards25519.Scalar, error) {
	if r == nil {
		return nil, io.ErrUnexpectedEOF
	}
	buf := make([]byte, 16*n)
	if _, err := io.ReadFull(r, buf); err != nil {
		return nil, err
	}
	z := make([]edwards25519.Scalar, n)
	for i := range z {
		var wide [32]byte
		copy(wide[:], buf[16*i:16*i+16])
		if _, err := z[i].SetCanonicalBytes(wide[:]); err != nil {
			return nil, err
		}
	}
	return z, nil
}
