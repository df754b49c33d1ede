package identity

import (
	"crypto/sha512"
	"fmt"
	"hash"

	"filippo.io/edwards25519"

	"choir/crypto/internal/msm"
)

// Verify reports whether sig is pub's signature of msg, by the definition in
// the package comment.
func Verify(pub PublicKey, msg []byte, sig Signature) bool {
	return (*Keys)(nil).Verify(pub, msg, sig)
}

// claim is a signature that has passed every check but two: that R is a point, and the
// equation [8](S·B - R - k·A) = 0.
type claim struct {
	a        *verifier
	encoding [32]byte  // of R, canonical if there is such a point
	r        msm.Point // R, decoded later
	s, k     edwards25519.Scalar
}

// reader makes claims, and reuses what it needs for that.
type reader struct {
	hash hash.Hash
	head [SignatureSize/2 + PublicKeySize]byte // what is hashed before the message
	sum  [sha512.Size]byte
}

func newReader() *reader { return &reader{hash: sha512.New()} }

// read makes all the checks that need neither R nor arithmetic with the message, and
// says whether c has passed them; a is the key, which has passed its own. Verify and
// VerifyBatch both go through it.
func (d *reader) read(c *claim, a *verifier, pub PublicKey, msg []byte, sig Signature) bool {
	c.a = a
	if c.encoding = [32]byte(sig[:32]); !isCanonical(c.encoding) {
		return false
	}
	if _, err := c.s.SetCanonicalBytes(sig[32:]); err != nil {
		return false
	}
	d.challenge(&c.k, pub, msg, sig)
	return true
}

// challenge sets k to SHA-512(R ‖ A ‖ M) mod ℓ.
func (d *reader) challenge(k *edwards25519.Scalar, pub PublicKey, msg []byte, sig Signature) {
	copy(d.head[:], sig[:32])
	copy(d.head[32:], pub[:])
	d.hash.Reset()
	d.hash.Write(d.head[:])
	d.hash.Write(msg)
	// SetUniformBytes fails only for a length other than 64.
	_, _ = k.SetUniformBytes(d.hash.Sum(d.sum[:0]))
}

// verify decodes R and evaluates the equation for this signature alone.
func (c *claim) verify() bool {
	r, err := new(edwards25519.Point).SetBytes(c.encoding[:])
	return err == nil && c.holds(r)
}

// holds evaluates the cofactored equation with R decoded.
func (c *claim) holds(r *edwards25519.Point) bool {
	p := c.difference()
	p.Subtract(p, r)
	return isSmallOrder(p)
}

// difference is S·B - k·A.
func (c *claim) difference() *edwards25519.Point {
	if c.a.table != nil {
		p, err := msm.SumProducts(
			msm.Product{Table: basePoint(), Scalar: [32]byte(c.s.Bytes())},
			msm.Product{Table: c.a.table, Scalar: [32]byte(c.k.Bytes()), Negative: true})
		if err == nil { // else a fault of the machine: the other way says more
			return p
		}
	}
	minusA := new(edwards25519.Point).Negate(c.a.point)
	return new(edwards25519.Point).VarTimeDoubleScalarBaseMult(&c.k, minusA, &c.s)
}

// isSmallOrder reports whether [8]p = 0.
func isSmallOrder(p *edwards25519.Point) bool {
	q := new(edwards25519.Point).MultByCofactor(p)
	return q.Equal(edwards25519.NewIdentityPoint()) == 1
}

// point decodes and checks a public key.
func (k PublicKey) point() (*edwards25519.Point, error) {
	p, ok := decodePoint(k)
	if !ok {
		return nil, fmt.Errorf("%w: not the canonical encoding of a point", ErrPublicKey)
	}
	if isSmallOrder(p) {
		return nil, fmt.Errorf("%w: a point of small order", ErrPublicKey)
	}
	return p, nil
}

// decodePoint decodes canonical encodings only. The library follows the lenient
// reading of RFC 8032 and also takes y ≥ p and a sign bit on x = 0.
func decodePoint(b [32]byte) (*edwards25519.Point, bool) {
	if !isCanonical(b) {
		return nil, false
	}
	p, err := new(edwards25519.Point).SetBytes(b[:])
	return p, err == nil
}

// isCanonical reports whether b, if it encodes a point at all, is that point's
// only canonical encoding: y < p = 2^255 - 19, and no sign on x = 0, which is
// to say on y = 1 and y = p - 1.
func isCanonical(b [32]byte) bool {
	sign := b[31] >> 7
	b[31] &= 0x7f
	switch {
	case b[31] == 0x7f && allEqual(b[1:31], 0xff):
		return b[0] < 0xec || b[0] == 0xec && sign == 0 // 0xec is y = p - 1
	case b[31] == 0 && allEqual(b[1:31], 0):
		return b[0] != 1 || sign == 0
	}
	return true
}

func allEqual(b []byte, v byte) bool {
	for _, x := range b {
		if x != v {
			return false
		}
	}
	return true
}
