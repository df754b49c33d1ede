package msm

import (
	"fmt"
	"slices"

	"filippo.io/edwards25519"
	"filippo.io/edwards25519/field"
)

// Point is a point in the form in which it is added: y + x, y - x and 2dxy. The zero value is
// not a point. It has 120 bytes.
type Point struct {
	plus, minus, product field.Element
}

// Set sets p to q and returns p.
func (p *Point) Set(q *edwards25519.Point) *Point {
	x, y, z, _ := q.ExtendedCoordinates()
	var one field.Element
	if z.Equal(one.One()) == 0 { // a decoded point is affine already
		z.Invert(z)
		x.Multiply(x, z)
		y.Multiply(y, z)
	}
	c := newCurve()
	c.setAffine(p, x, y)
	return p
}

// SetAll sets points[i] to from[i] with a single inversion (Montgomery, "Speeding the Pollard and
// elliptic curve methods of factorization", 1987, section 10.3.1). The slices have the same length.
func SetAll(points []Point, from []*edwards25519.Point) {
	// products[i] is the product of the Z coordinates of from[:i].
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

// extended is a point in extended coordinates, in which sums are computed: x = X/Z, y = Y/Z,
// xy = T/Z.
type extended struct {
	x, y, z, t field.Element
}

// curve holds the constant 2d of the addition formulas.
type curve struct{ twoD field.Element }

// newCurve computes 2d from d = -121665/121666 (RFC 8032, section 5.1).
func newCurve() (c curve) {
	// SetBytes fails only for lengths other than 32. A test computes d.
	_, _ = c.twoD.SetBytes([]byte("\xa3\x78\x59\x13\xca\x4d\xeb\x75\xab\xd8\x41\x41\x4d\x0a\x70\x00" +
		"\x98\xe8\x79\x77\x79\x40\xc7\x8c\x73\xfe\x6f\x2b\xee\x6c\x03\x52"))
	c.twoD.Add(&c.twoD, &c.twoD)
	return c
}

// setAffine sets p to (x, y).
func (c *curve) setAffine(p *Point, x, y *field.Element) {
	p.plus.Add(y, x)
	p.minus.Subtract(y, x)
	p.product.Multiply(x, y)
	p.product.Multiply(&p.product, &c.twoD)
}

// edwards converts v and checks that it is on the curve.
func (v *extended) edwards() (*edwards25519.Point, error) {
	p, err := new(edwards25519.Point).SetExtendedCoordinates(&v.x, &v.y, &v.z, &v.t)
	if err != nil { // a point was not set, or the hardware is faulty
		return nil, fmt.Errorf("msm: not a point of the curve: %w", err)
	}
	return p, nil
}

func (v *extended) identity() {
	v.x.Zero()
	v.y.One()
	v.z.One()
	v.t.Zero()
}

// set sets v to p, and setNegative sets it to -p, with one multiplication: the difference and the
// sum of the coordinates of p are 2x and 2y, and (4x : 4y : 4 : 4xy) is the same point.
func (v *extended) set(p *Point) { v.fromHalves(&p.plus, &p.minus) }

func (v *extended) setNegative(p *Point) { v.fromHalves(&p.minus, &p.plus) }

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

// add adds p; subtract adds -p, in which x, and therefore the product, is negated.
func (v *extended) add(p *Point) { v.mixed(&p.plus, &p.minus, &p.product, false) }

func (v *extended) subtract(p *Point) { v.mixed(&p.minus, &p.plus, &p.product, true) }

// mixed takes 7 multiplications.
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

// sum adds w to v with 9 multiplications.
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

// finish is the second half of both additions. C is negated if negative is set.
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

// double doubles v with 4 squarings and 4 multiplications.
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
