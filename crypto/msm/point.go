package msm

import (
	"filippo.io/edwards25519"
	"filippo.io/edwards25519/field"
)

// Point is a point in the form in which it is added: y + x, y - x and 2dxy. The zero
// value is no point.
type Point struct {
	plus, minus, product field.Element
}

// extended is a point as it is summed up: x = X/Z, y = Y/Z, xy = T/Z.
type extended struct {
	x, y, z, t field.Element
}

// curve is the constant 2d of the addition formulas.
type curve struct{ twoD field.Element }

func newCurve() (c curve) {
	// d = -121665/121666 (RFC 7748, section 4.1)
	var one, d field.Element
	one.One()
	d.Mult32(&one, 121666)
	d.Invert(&d)
	d.Mult32(&d, 121665)
	d.Negate(&d)
	c.twoD.Add(&d, &d)
	return c
}

// set sets p to q.
func (c *curve) set(p *Point, q *edwards25519.Point) {
	qx, qy, qz, qt := q.ExtendedCoordinates()
	var one field.Element
	if qz.Equal(one.One()) == 0 { // a decoded point is affine already
		qz.Invert(qz)
		qx.Multiply(qx, qz)
		qy.Multiply(qy, qz)
		qt.Multiply(qx, qy)
	}
	p.plus.Add(qy, qx)
	p.minus.Subtract(qy, qx)
	p.product.Multiply(qt, &c.twoD)
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

// add adds p; subtract adds -p, which has x and with it the product negated.
func (v *extended) add(p *Point) { v.mixed(&p.plus, &p.minus, &p.product, false) }

func (v *extended) subtract(p *Point) { v.mixed(&p.minus, &p.plus, &p.product, true) }

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
