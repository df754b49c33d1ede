package msm

import (
	"fmt"
	"slices"

	"filippo.io/edwards25519"
	"filippo.io/edwards25519/field"

	"choir/crypto/internal/msm/lanes"
)

// Point is a point in the form in which it is added: y + x, y - x, 2dxy and -2dxy, all
// at most loose, packed for lanes. The zero value is no point. It takes 160 bytes.
type Point struct {
	plus, minus, product, negated lanes.Packed
}

// Set sets p to q, which edwards25519 has checked to be on the curve, and returns p.
func (p *Point) Set(q *edwards25519.Point) *Point {
	c := newCurve()
	c.set(p, q)
	return p
}

// SetAll sets points[i] to from[i], with one inversion for all of them (Montgomery,
// "Speeding the Pollard and elliptic curve methods of factorization", 1987, section
// 10.3.1). The slices have the same length.
func SetAll(points []Point, from []*edwards25519.Point) {
	// products[i] is the product of the Z below i.
	products := make([]field.Element, len(from))
	var all field.Element
	all.One()
	for i, q := range from {
		_, _, z, _ := q.ExtendedCoordinates()
		products[i] = all
		all.Multiply(&all, z)
	}
	all.Invert(&all) // no Z is 0
	c := newCurve()
	for i, q := range slices.Backward(from) {
		x, y, z, _ := q.ExtendedCoordinates()
		var inverse field.Element
		inverse.Multiply(&all, &products[i])
		all.Multiply(&all, z)
		c.setAffine(&points[i], x.Multiply(x, &inverse), y.Multiply(y, &inverse))
	}
}

// Edwards returns p as edwards25519 has it; it fails if p has not been set.
func (p *Point) Edwards() (*edwards25519.Point, error) {
	var v extended
	a := p.addend()
	v.set(&a)
	return v.edwards()
}

// addend is a Point for adding without lanes.
type addend struct{ plus, minus, product field.Element }

func (p *Point) addend() addend {
	return addend{p.plus.Element(), p.minus.Element(), p.product.Element()}
}

// extended is a point as it is summed up: x = X/Z, y = Y/Z, xy = T/Z.
type extended struct {
	x, y, z, t field.Element
}

// curve has the constants: d and 2d of the addition formulas, and a root of -1.
type curve struct{ d, twoD, sqrtM1 field.Element }

// newCurve reads d = -121665/121666 and √-1 = 2^((p-1)/4) (RFC 8032, section 5.1), which
// a test computes.
func newCurve() (c curve) {
	// SetBytes fails only for lengths other than 32.
	_, _ = c.d.SetBytes([]byte("\xa3\x78\x59\x13\xca\x4d\xeb\x75\xab\xd8\x41\x41\x4d\x0a\x70\x00" +
		"\x98\xe8\x79\x77\x79\x40\xc7\x8c\x73\xfe\x6f\x2b\xee\x6c\x03\x52"))
	_, _ = c.sqrtM1.SetBytes([]byte("\xb0\xa0\x0e\x4a\x27\x1b\xee\xc4\x78\xe4\x2f\xad\x06\x18\x43\x2f" +
		"\xa7\xd7\xfb\x3d\x99\x00\x4d\x2b\x0b\xdf\xc1\x4f\x80\x24\x83\x2b"))
	c.twoD.Add(&c.d, &c.d)
	return c
}

// set sets p to q.
func (c *curve) set(p *Point, q *edwards25519.Point) {
	qx, qy, qz, _ := q.ExtendedCoordinates()
	var one field.Element
	if qz.Equal(one.One()) == 0 { // a decoded point is affine already
		qz.Invert(qz)
		qx.Multiply(qx, qz)
		qy.Multiply(qy, qz)
	}
	c.setAffine(p, qx, qy)
}

// setAffine sets p to (x, y).
func (c *curve) setAffine(p *Point, x, y *field.Element) {
	var t field.Element
	p.plus = lanes.PackElement(t.Add(y, x))
	p.minus = lanes.PackElement(t.Subtract(y, x))
	t.Multiply(x, y)
	p.product = lanes.PackElement(t.Multiply(&t, &c.twoD))
	p.negated = lanes.PackElement(t.Negate(&t))
}

// decode sets p to what 32 bytes encode and reports whether that is a point.
func (c *curve) decode(p *Point, encoding *[32]byte) bool {
	q, err := new(edwards25519.Point).SetBytes(encoding[:])
	if err == nil {
		c.set(p, q)
	}
	return err == nil
}

// edwards checks that v is on the curve.
func (v *extended) edwards() (*edwards25519.Point, error) {
	p, err := new(edwards25519.Point).SetExtendedCoordinates(&v.x, &v.y, &v.z, &v.t)
	if err != nil {
		return nil, fmt.Errorf("msm: not a point of the curve: %w", err) // not set, or a fault of the machine
	}
	return p, nil
}

func (v *extended) identity() {
	v.x.Zero()
	v.y.One()
	v.z.One()
	v.t.Zero()
}

// set makes v the point p, in place of what it was; setNegative makes it -p. One
// multiplication: p has 2x and 2y as a difference and a sum, and (4x : 4y : 4 : 4xy) is
// the same point.
func (v *extended) set(p *addend) { v.fromHalves(&p.plus, &p.minus) }

func (v *extended) setNegative(p *addend) { v.fromHalves(&p.minus, &p.plus) }

func (v *extended) fromHalves(plus, minus *field.Element) {
	v.x.Subtract(plus, minus)
	v.y.Add(plus, minus)
	v.t.Multiply(&v.x, &v.y)
	v.x.Add(&v.x, &v.x)
	v.y.Add(&v.y, &v.y)
	v.z.One()
	v.z.Add(&v.z, &v.z)
	v.z.Add(&v.z, &v.z)
}

// add adds p; subtract adds -p, which has x and with it the product negated.
func (v *extended) add(p *addend) { v.mixed(&p.plus, &p.minus, &p.product, false) }

func (v *extended) subtract(p *addend) { v.mixed(&p.minus, &p.plus, &p.product, true) }

// mixed is 7 multiplications.
func (v *extended) mixed(plus, minus, product *field.Element, negative bool) {
	var a, b, c, d field.Element
	a.Subtract(&v.y, &v.x)
	a.Multiply(&a, minus)
	b.Add(&v.y, &v.x)
	b.Multiply(&b, plus)
	c.Multiply(&v.t, product)
	d.Add(&v.z, &v.z)
	v.finish(&a, &b, &c, &d, negative)
}

// sum adds another sum: 9 multiplications.
func (c *curve) sum(v, w *extended) {
	var a, b, e, f, d field.Element
	a.Subtract(&v.y, &v.x)
	e.Subtract(&w.y, &w.x)
	a.Multiply(&a, &e)
	b.Add(&v.y, &v.x)
	f.Add(&w.y, &w.x)
	b.Multiply(&b, &f)
	e.Multiply(&v.t, &c.twoD)
	e.Multiply(&e, &w.t)
	d.Multiply(&v.z, &w.z)
	d.Add(&d, &d)
	v.finish(&a, &b, &e, &d, false)
}

// finish is the second half of both additions, with C negated for a difference.
func (v *extended) finish(a, b, c, d *field.Element, negative bool) {
	var e, f, g, h field.Element
	e.Subtract(b, a)
	h.Add(b, a)
	if negative {
		f.Add(d, c)
		g.Subtract(d, c)
	} else {
		f.Subtract(d, c)
		g.Add(d, c)
	}
	v.x.Multiply(&e, &f)
	v.y.Multiply(&g, &h)
	v.z.Multiply(&f, &g)
	v.t.Multiply(&e, &h)
}

// double is 4 squarings and 4 multiplications.
func (v *extended) double() {
	var a, b, c, e, f, g, h field.Element
	a.Square(&v.x)
	b.Square(&v.y)
	c.Square(&v.z)
	c.Add(&c, &c)
	h.Add(&a, &b)
	e.Add(&v.x, &v.y)
	e.Square(&e)
	e.Subtract(&h, &e)
	g.Subtract(&a, &b)
	f.Add(&c, &g)
	v.x.Multiply(&e, &f)
	v.y.Multiply(&g, &h)
	v.z.Multiply(&f, &g)
	v.t.Multiply(&e, &h)
}
