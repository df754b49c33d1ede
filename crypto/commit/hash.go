package commit

import (
	"crypto/sha512"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"filippo.io/edwards25519"
	"filippo.io/edwards25519/field"
)

// curveHash hashes byte strings to the prime-order subgroup of edwards25519, by
// the suite edwards25519_XMD:SHA-512_ELL2_RO_ of RFC 9380 (sections 5, 6.7 and
// 6.8). It is assumed to be a random oracle: no relation between outputs is known. It takes
// variable time and is for public inputs only. It may be used concurrently.
type curveHash struct {
	dst []byte

	j          *field.Element // 486662, the Montgomery coefficient of curve25519
	oneMinusI  *field.Element // 1 - √-1, a square root of -2√-1
	sqrtMinusA *field.Element // √-486664, the non-negative root (section 6.8)
}

// newCurveHash returns a hash with a domain separation tag of 16 to 255 bytes.
func newCurveHash(dst string) (*curveHash, error) {
	if len(dst) < 16 || len(dst) > 255 {
		return nil, fmt.Errorf("commit: domain separation tag of %d bytes, want 16 to 255", len(dst))
	}
	one := new(field.Element).One()
	minusOne := new(field.Element).Negate(one)
	i, ok1 := new(field.Element).SqrtRatio(minusOne, one)
	root, ok2 := new(field.Element).SqrtRatio(new(field.Element).Mult32(minusOne, 486664), one)
	if ok1&ok2 != 1 {
		return nil, errors.New("commit: no square roots of -1 and -486664")
	}
	return &curveHash{
		dst:        []byte(dst),
		j:          new(field.Element).Mult32(one, 486662),
		oneMinusI:  new(field.Element).Subtract(one, i),
		sqrtMinusA: root,
	}, nil
}

// point is hash_to_curve (RFC 9380, section 3).
func (h *curveHash) point(msg []byte) (*edwards25519.Point, error) {
	u, err := h.fieldElements(msg)
	if err != nil {
		return nil, err
	}
	q0, err := h.mapToCurve(u[0])
	if err != nil {
		return nil, err
	}
	q1, err := h.mapToCurve(u[1])
	if err != nil {
		return nil, err
	}
	q0.Add(q0, q1)
	return q0.MultByCofactor(q0), nil
}

// fieldElements is hash_to_field for two elements of 48 bytes each (section
// 5.2), big endian; the library reads 64 bytes little endian.
func (h *curveHash) fieldElements(msg []byte) (u [2]*field.Element, err error) {
	uniform := h.expand(msg, 2*48)
	for i := range u {
		wide := make([]byte, 64)
		copy(wide[16:], uniform[48*i:48*i+48])
		slices.Reverse(wide)
		if u[i], err = new(field.Element).SetWideBytes(wide); err != nil {
			return u, fmt.Errorf("commit: %w", err)
		}
	}
	return u, nil
}

// expand is expand_message_xmd with SHA-512 (section 5.3.1) for n of at most
// 255 blocks of 64 bytes.
func (h *curveHash) expand(msg []byte, n int) []byte {
	dstPrime := append(slices.Clone(h.dst), byte(len(h.dst)))
	b0 := sha512.Sum512(slices.Concat(
		make([]byte, sha512.BlockSize), msg,
		binary.BigEndian.AppendUint16(nil, uint16(n)), []byte{0}, dstPrime))
	var out, mixed [sha512.Size]byte
	uniform := make([]byte, 0, n+len(out))
	for i := byte(1); len(uniform) < n; i++ {
		// mixed is b_0 xor b_{i-1}, with b_0 alone in the first block.
		for k := range mixed {
			mixed[k] = b0[k] ^ out[k]
		}
		out = sha512.Sum512(slices.Concat(mixed[:], []byte{i}, dstPrime))
		uniform = append(uniform, out[:]...)
	}
	return uniform[:n]
}

// mapToCurve is Elligator 2 for curve25519 with Z = 2 (section 6.7.1), carried
// to edwards25519 by the rational map of section 6.8.2. It keeps the Montgomery
// x as a fraction n/d and takes one square root, as follows. With
//
//	x1 = -J / (1 + 2u²)  and  g(x) = x³ + Jx² + x,
//
// the other candidate is x2 = -x1 - J = 2u²·x1, and g(x2) = 2u²·g(x1). SqrtRatio
// returns √g(x1), or √(i·g(x1)) if the former is no square; from the latter,
// √g(x2) = u·√2·√g(x1) = ±u·(1 - i)·√(i·g(x1)), because (1 - i)² = 2/i.
func (h *curveHash) mapToCurve(u *field.Element) (*edwards25519.Point, error) {
	one := new(field.Element).One()
	twoUU := new(field.Element).Square(u)
	twoUU.Add(twoUU, twoUU)
	n := new(field.Element).Negate(h.j)
	d := new(field.Element).Add(one, twoUU)

	y, isSquare := new(field.Element).SqrtRatio(h.curveEquation(n, d))
	if isSquare == 1 {
		y.Negate(y) // sgn0(y) = 1
	} else {
		n.Multiply(n, twoUU)
		y.Multiply(y, u)
		y.Multiply(y, h.oneMinusI)
		y.Absolute(y) // sgn0(y) = 0
	}
	return h.toEdwards(n, d, y)
}

// curveEquation returns g(n/d) as a numerator, n(n² + Jnd + d²), and a
// denominator, d³.
func (h *curveHash) curveEquation(n, d *field.Element) (num, den *field.Element) {
	dd := new(field.Element).Square(d)
	num = new(field.Element).Multiply(h.j, d)
	num.Add(num, n)
	num.Multiply(num, n)
	num.Add(num, dd)
	num.Multiply(num, n)
	return num, dd.Multiply(dd, d)
}

// toEdwards maps the Montgomery point (n/d, y) to
//
//	(√-486664 · n/(d·y), (n - d)/(n + d))
//
// and the points where a denominator vanishes to the identity.
func (h *curveHash) toEdwards(n, d, y *field.Element) (*edwards25519.Point, error) {
	xn := new(field.Element).Multiply(h.sqrtMinusA, n)
	xd := new(field.Element).Multiply(d, y)
	yn := new(field.Element).Subtract(n, d)
	yd := new(field.Element).Add(n, d)

	z := new(field.Element).Multiply(xd, yd)
	if z.Equal(new(field.Element)) == 1 {
		return edwards25519.NewIdentityPoint(), nil
	}
	t := new(field.Element).Multiply(xn, yn)
	p, err := new(edwards25519.Point).SetExtendedCoordinates(xn.Multiply(xn, yd), yn.Multiply(yn, xd), z, t)
	if err != nil {
		return nil, fmt.Errorf("commit: mapping to the curve: %w", err)
	}
	return p, nil
}
