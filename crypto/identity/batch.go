package identity

import (
	"encoding/binary"
	"io"
	"math/bits"

	"filippo.io/edwards25519"

	"choir/crypto/internal/msm"
)

// Item is one signature to verify.
type Item struct {
	Key PublicKey
	Msg []byte
	Sig Signature
}

// VerifyBatch verifies many signatures together and returns the indices, in ascending
// order, of those that Verify rejects; nil if it rejects none.
//
// It evaluates one random linear combination of all equations (Bernstein, Duif, Lange, Schwabe and
// Yang, "High-speed high-security signatures", section 5):
//
//	[8]( -(Σ zᵢsᵢ)·B + Σ zᵢ·Rᵢ + Σ zᵢkᵢ·Aᵢ ) = 0,  zᵢ uniform in [-2^127, 2^127)
//
// If the equation fails, it halves the batch until it has found the invalid signatures; if there
// are many, it verifies the rest one by one. A valid signature is never rejected. An invalid one is
// accepted with probability at most 2^-128, provided that its author could not predict r. If r
// fails, or is nil, the signatures are verified one by one, with the same result.
func VerifyBatch(items []Item, r io.Reader) (bad []int) {
	return (*Keys)(nil).VerifyBatch(items, r)
}

// VerifyBatch is the function VerifyBatch with public keys that are decoded once.
func (k *Keys) VerifyBatch(items []Item, r io.Reader) (bad []int) {
	claims, index := k.claims(items)
	rejected := make([]bool, len(items))
	for i := range rejected {
		rejected[i] = true
	}
	for _, i := range index {
		rejected[i] = false
	}
	if len(items) < tablesBelow {
		claims, index = withoutTables(claims, index, rejected)
	}
	b := bisector{
		rand: r, claims: claims, patience: len(claims) / 16,
		fail: func(j int) { rejected[index[j]] = true },
	}
	b.search(0, len(claims), false)
	for i, no := range rejected {
		if no {
			bad = append(bad, i)
		}
	}
	return bad
}

// claims makes all checks except the equation. It returns the claims that pass and their indices
// among the items.
func (k *Keys) claims(items []Item) (claims []claim, index []int) {
	claims = make([]claim, len(items))
	index = make([]int, 0, len(items))
	n, d := 0, newReader()
	for i, it := range items {
		key, err := k.verifier(it.Key)
		if err == nil && len(items) < tablesBelow {
			k.another(it.Key, key)
		}
		if err == nil && d.read(&claims[n], key, it.Key, it.Msg, it.Sig) {
			index = append(index, i)
			n++
		}
	}
	return claims[:n], index
}

// tablesBelow is the number of signatures below which one whose key has a table costs less by itself
// than its share of a batch.
const tablesBelow = 24

// withoutTables verifies the claims of keys with a table one by one, and returns the others.
func withoutTables(claims []claim, index []int, rejected []bool) ([]claim, []int) {
	n := 0
	for i := range claims {
		if claims[i].a.table != nil {
			rejected[index[i]] = !claims[i].holds()
			continue
		}
		claims[n], index[n] = claims[i], index[i]
		n++
	}
	return claims[:n], index[:n]
}

// singleBelow is the size of a range below which verification one by one costs less than a
// batch followed by a search.
const singleBelow = 4

// bisector finds the claims that do not hold.
type bisector struct {
	rand   io.Reader
	claims []claim
	fail   func(j int)

	// patience is the number of invalid signatures after which the rest is verified one by one.
	// A search among many of them costs more, and senders of invalid signatures should not be
	// able to multiply the work of those who verify.
	patience int
}

// search calls fail for each invalid claim in claims[lo:hi] and reports whether there is one.
// knownBad means that the combination of the range is known to fail.
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
	// If the left half is valid, an invalid claim is in the right half.
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

// bucketsFrom is the number of signatures from which package msm is faster than the interleaved
// tables of the library. The measured break-even lies between 64 and 96.
const bucketsFrom = 80

// combined reports whether the random linear combination of claims[lo:hi] holds.
func (b *bisector) combined(lo, hi int) (bool, error) {
	z, err := coefficients(b.rand, hi-lo)
	if err != nil {
		return false, err
	}
	var sum edwards25519.Scalar
	for i := range z {
		sum.MultiplyAdd(&z[i].value, &b.claims[lo+i].s, &sum)
	}
	sum.Negate(&sum)
	if hi-lo < bucketsFrom {
		return isSmallOrder(straus(b.claims[lo:hi], z, &sum)), nil
	}
	p, err := buckets(b.claims[lo:hi], z, &sum)
	return err == nil && isSmallOrder(p), err
}

// straus returns base·B + Σ zᵢ·Rᵢ + zᵢkᵢ·Aᵢ, computed with the tables of the library.
func straus(claims []claim, z []coefficient, base *edwards25519.Scalar) *edwards25519.Point {
	n := len(claims)
	short := make([]edwards25519.Scalar, n)
	signed := make([]edwards25519.Point, n) // ±R
	zk := make([]edwards25519.Scalar, n)
	scalars := make([]*edwards25519.Scalar, 0, 2*n+1)
	points := make([]*edwards25519.Point, 0, 2*n+1)
	for i := range claims {
		c := &claims[i]
		short[i] = z[i].value
		signed[i].Set(&c.r)
		if z[i].negative { // |z|·(-R), since ℓ - |z| is twice as long as |z|
			short[i].Negate(&short[i])
			signed[i].Negate(&signed[i])
		}
		scalars = append(scalars, &short[i], zk[i].Multiply(&z[i].value, &c.k))
		points = append(points, &signed[i], c.a.point)
	}
	scalars = append(scalars, base)
	points = append(points, edwards25519.NewGeneratorPoint())
	return new(edwards25519.Point).VarTimeMultiScalarMult(scalars, points)
}

// buckets returns the same sum, computed by package msm.
func buckets(claims []claim, z []coefficient, base *edwards25519.Scalar) (*edwards25519.Point, error) {
	var zk edwards25519.Scalar
	points := make([]msm.Point, len(claims)+1)
	terms := make([]msm.Term, 0, 2*len(claims)+1)
	for i := range claims {
		c := &claims[i]
		zk.Multiply(&z[i].value, &c.k)
		terms = append(terms,
			msm.Term{Point: points[i].Set(&c.r), Scalar: z[i].magnitude, Negative: z[i].negative},
			msm.Term{Point: &c.a.prepared, Scalar: [32]byte(zk.Bytes())})
	}
	generator := points[len(claims)].Set(edwards25519.NewGeneratorPoint())
	return msm.Sum(append(terms, msm.Term{Point: generator, Scalar: [32]byte(base.Bytes())}))
}

// coefficient is an integer in [-2^127, 2^127). Magnitudes of 127 bits save one window of signed
// digits over those of 128.
type coefficient struct {
	value     edwards25519.Scalar // modulo ℓ
	magnitude [32]byte            // the absolute value, little endian
	negative  bool
}

// coefficients draws n uniform coefficients.
func coefficients(r io.Reader, n int) ([]coefficient, error) {
	if r == nil {
		return nil, io.ErrUnexpectedEOF
	}
	buf := make([]byte, 16*n)
	if _, err := io.ReadFull(r, buf); err != nil {
		return nil, err
	}
	z := make([]coefficient, n)
	for i := range z {
		if err := z[i].set((*[16]byte)(buf[16*i:])); err != nil {
			return nil, err
		}
	}
	return z, nil
}

// set decodes two's complement, little endian.
func (z *coefficient) set(b *[16]byte) error {
	lo, hi := binary.LittleEndian.Uint64(b[:8]), binary.LittleEndian.Uint64(b[8:])
	if z.negative = hi>>63 == 1; z.negative {
		var borrow uint64
		lo, borrow = bits.Sub64(0, lo, 0)
		hi, _ = bits.Sub64(0, hi, borrow)
	}
	binary.LittleEndian.PutUint64(z.magnitude[0:], lo)
	binary.LittleEndian.PutUint64(z.magnitude[8:], hi)
	if _, err := z.value.SetCanonicalBytes(z.magnitude[:]); err != nil {
		return err
	}
	if z.negative {
		z.value.Negate(&z.value)
	}
	return nil
}
