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

// VerifyBatch verifies many signatures together and returns the indices, in
// ascending order, of those that Verify refuses; nil means that all are good.
//
// It evaluates one random linear combination of all equations (Bernstein, Duif,
// Lange, Schwabe and Yang, "High-speed high-security signatures", section 5):
//
//	[8]( -(Σ zᵢsᵢ)·B + Σ zᵢ·Rᵢ + Σ zᵢkᵢ·Aᵢ ) = 0,  zᵢ uniform in [-2^127, 2^127)
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
	claims, index := k.claims(items)
	refused := make([]bool, len(items))
	for i := range refused {
		refused[i] = true
	}
	for _, i := range index {
		refused[i] = false
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

// claims makes all checks but the equation, decoding the keys and the points R of all
// signatures together, and returns the claims that pass with their places among the items.
func (k *Keys) claims(items []Item) (claims []claim, index []int) {
	claims, index = make([]claim, len(items)), make([]int, 0, len(items))
	n, d, keys := 0, newReader(), k.verifiers(items)
	for i, it := range items {
		if keys[i] != nil && d.read(&claims[n], keys[i], it.Key, it.Msg, it.Sig) {
			index = append(index, i)
			n++
		}
	}
	encodings, points := make([][32]byte, n), make([]msm.Point, n)
	for j := range encodings {
		encodings[j] = claims[j].encoding
	}
	kept := 0
	for j, ok := range msm.Decode(points, encodings) {
		if ok {
			claims[kept], index[kept] = claims[j], index[j]
			claims[kept].r = points[j]
			kept++
		}
	}
	return claims[:kept], index[:kept]
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
		if r, err := b.claims[j].r.Edwards(); err != nil || !b.claims[j].holds(r) {
			b.fail(j)
			b.patience--
			found = true
		}
	}
	return found
}

// bucketsFrom and fastFrom are how many signatures are worth package msm's method, the
// latter where that is fast; fewer are cheaper with a table for each point (measured:
// even at 64 to 96, and at 10 to 12).
const (
	bucketsFrom = 80
	fastFrom    = 12
)

// combination chooses between straus and buckets, for n signatures.
func combination(n int) func([]claim, []coefficient, *edwards25519.Scalar) (*edwards25519.Point, error) {
	if n >= bucketsFrom || n >= fastFrom && msm.Fast() {
		return buckets
	}
	return straus
}

// combined evaluates the random linear combination over claims[lo:hi].
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
	p, err := combination(hi-lo)(b.claims[lo:hi], z, &sum)
	return err == nil && isSmallOrder(p), err
}

// straus is base·B + Σ zᵢ·Rᵢ + zᵢkᵢ·Aᵢ with the library's interleaved tables.
func straus(claims []claim, z []coefficient, base *edwards25519.Scalar) (*edwards25519.Point, error) {
	n := len(claims)
	short, zk := make([]edwards25519.Scalar, n), make([]edwards25519.Scalar, n)
	scalars := make([]*edwards25519.Scalar, 0, 2*n+1)
	points := make([]*edwards25519.Point, 0, 2*n+1)
	for i := range claims {
		c := &claims[i]
		r, err := c.r.Edwards()
		if err != nil {
			return nil, err
		}
		if short[i] = z[i].value; z[i].negative {
			short[i].Negate(&short[i])
			r.Negate(r)
		}
		scalars = append(scalars, &short[i], zk[i].Multiply(&z[i].value, &c.k))
		points = append(points, r, c.a.point)
	}
	scalars, points = append(scalars, base), append(points, edwards25519.NewGeneratorPoint())
	return new(edwards25519.Point).VarTimeMultiScalarMult(scalars, points), nil
}

// buckets is the same by package msm.
func buckets(claims []claim, z []coefficient, base *edwards25519.Scalar) (*edwards25519.Point, error) {
	var zk edwards25519.Scalar
	terms := make([]msm.Term, 0, 2*len(claims)+1)
	for i := range claims {
		c := &claims[i]
		zk.Multiply(&z[i].value, &c.k)
		terms = append(terms,
			msm.Term{Point: &c.r, Scalar: z[i].magnitude, Negative: z[i].negative},
			msm.Term{Point: &c.a.prepared, Scalar: [32]byte(zk.Bytes())})
	}
	generator := new(msm.Point).Set(edwards25519.NewGeneratorPoint())
	return msm.Sum(append(terms, msm.Term{Point: generator, Scalar: [32]byte(base.Bytes())}))
}

// coefficient is an integer in [-2^127, 2^127): as short as 2^128 different ones can be
// with package msm's signed digits.
type coefficient struct {
	value     edwards25519.Scalar // modulo ℓ
	magnitude [32]byte            // the same as a magnitude, little endian, and a sign
	negative  bool
}

// coefficients draws n uniform ones.
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

// set reads two's complement, little endian.
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
