package identity

import (
	"crypto/sha512"
	"fmt"
	"hash"

	"filippo.io/edwards25519"

	"choir/crypto/internal/msm"
)

// Verify reports whether sig is a signature of msg by pub, by the definition in the
// package comment.
func Verify(pub PublicKey, msg []byte, sig Signature) bool {
	return (*Keys)(nil).Verify(pub, msg, sig)
}

// claim is a signature that has passed every check except the equation [8](S·B - R - k·A) = 0.
type claim struct {
	a    *verifier
	r    edwards25519.Point
	s, k edwards25519.Scalar
}

// reader decodes signatures and reuses its buffers.
type reader struct {
	hash hash.Hash
	head [SignatureSize/2 + publicKeySize]byte // R ‖ A, which is hashed before the message
	sum  [sha512.Size]byte
}

func newReader() *reader { return &reader{hash: sha512.New()} }

// read sets c to a signature of the key a and reports whether it passes every check except the
// equation. Verify and VerifyBatch share it.
func (d *reader) read(c *claim, a *verifier, pub PublicKey, msg []byte, sig Signature) bool {
	c.a = a
	if !isCanonical([32]byte(sig[:32])) {
		return false
	}
	if _, err := c.s.SetCanonicalBytes(sig[32:]); err != nil {
		return false
	}
	if _, err := c.r.SetBytes(sig[:32]); err != nil {
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

// holds evaluates the equation for this signature alone.
func (c *claim) holds() bool {
	p := c.difference()
	return isSmallOrder(p.Subtract(p, &c.r))
}

// difference returns S·B - k·A.
func (c *claim) difference() *edwards25519.Point {
	if c.a.table != nil {
		p, err := msm.SumProducts(
			msm.Product{Table: basePoint(), Scalar: [32]byte(c.s.Bytes())},
			msm.Product{Table: c.a.table, Scalar: [32]byte(c.k.Bytes()), Negative: true})
		if err == nil { // an error means faulty hardware: use the library instead
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

// decodePoint decodes canonical encodings only. The library also accepts y ≥ p and a sign bit
// with x = 0.
func decodePoint(b [32]byte) (*edwards25519.Point, bool) {
	if !isCanonical(b) {
		return nil, false
	}
	p, err := new(edwards25519.Point).SetBytes(b[:])
	return p, err == nil
}

// isCanonical reports whether b, if it encodes a point, is the canonical encoding of that point:
// y < p = 2^255 - 19, and no sign bit with x = 0, that is, with y = 1 or y = p - 1.
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
