package msm

import "choir/crypto/internal/msm/lanes"

// Decode decodes points[i] from encodings[i] and reports for each whether it is a point's
// encoding. It accepts what edwards25519.Point.SetBytes accepts, encodings that aren't
// canonical among it, and gives the same points. The slices have the same length.
func Decode(points []Point, encodings [][32]byte) (ok []bool) {
	ok = make([]bool, len(points))
	c := newCurve()
	if !lanes.Fast() || len(points) < decodeFrom {
		for i := range points {
			ok[i] = c.decode(&points[i], &encodings[i])
		}
		return ok
	}
	d := newDecoder(&c)
	for i := 0; i < len(points); i += lanes.Width {
		n := min(len(points)-i, lanes.Width)
		d.decode(points[i:i+n], encodings[i:i+n], ok[i:i+n])
	}
	return ok
}

// decodeFrom is how many points are worth lanes: fewer take as long, as the processor
// lowers its clock for a while after long vectors.
const decodeFrom = 12

// decoder decodes eight points side by side.
type decoder struct {
	y, u, v, uv3, root, check, long, longer lanes.Elements
	plus, minus, product, negated           lanes.Elements

	zero, oneLanes, d, twoD lanes.Elements
	one, sqrtM1             lanes.Packed
}

func newDecoder(c *curve) *decoder {
	dec := &decoder{one: lanes.Packed{1}, sqrtM1: lanes.PackElement(&c.sqrtM1)}
	d, twoD := lanes.PackElement(&c.d), lanes.PackElement(&c.twoD)
	dec.oneLanes.Broadcast(&dec.one)
	dec.d.Broadcast(&d)
	dec.twoD.Broadcast(&twoD)
	return dec
}

// decode is RFC 8032, section 5.1.3: x is the root of u/v for u = y² - 1 and
// v = dy² + 1, which is, if there is one,
//
//	r = uv³·(uv⁷)^((p-5)/8)
//
// if vr² = u, and r·√-1 if vr² = -u; the other root is -x. Lanes without a point hold
// y = 0.
func (d *decoder) decode(points []Point, encodings [][32]byte, ok []bool) {
	d.y = lanes.Elements{}
	for l := range encodings {
		y := lanes.Pack(&encodings[l])
		d.y.SetLane(l, &y)
	}
	d.candidates()
	lanes.Add(&d.long, &d.check, &d.u) // vr² + u, whose limbs are wide
	var turned uint8
	for l := range encodings {
		if ok[l] = d.check.Digits(l) == d.u.Digits(l); !ok[l] {
			ok[l] = d.long.Digits(l) == lanes.Digits{}
			turned |= 1 << l
		}
	}
	lanes.Choose(&d.check, &d.one, &d.sqrtM1, turned)
	lanes.Multiply(&d.root, &d.root, &d.check)
	d.finish()
	for l := range encodings {
		if !ok[l] {
			continue
		}
		p := &points[l]
		p.plus, p.minus = d.plus.Packed(l), d.minus.Packed(l)
		p.product, p.negated = d.product.Packed(l), d.negated.Packed(l)
		if x := d.root.Digits(l); x.Odd() != (encodings[l][31]>>7 == 1) {
			p.plus, p.minus, p.product, p.negated = p.minus, p.plus, p.negated, p.product
		}
	}
}

// finish computes what a Point has, from x and y: both are tight.
func (d *decoder) finish() {
	lanes.Add(&d.plus, &d.y, &d.root)
	lanes.Subtract(&d.minus, &d.y, &d.root)
	lanes.Multiply(&d.product, &d.y, &d.root)
	lanes.Multiply(&d.product, &d.product, &d.twoD)
	lanes.Subtract(&d.negated, &d.zero, &d.product)
}

// candidates computes r, u and vr². The factors are tight but for u, which is loose, and
// v, which is twice as long as tight.
func (d *decoder) candidates() {
	lanes.Square(&d.u, &d.y, 1)
	lanes.Multiply(&d.v, &d.u, &d.d)
	lanes.Add(&d.v, &d.v, &d.oneLanes)
	lanes.Subtract(&d.u, &d.u, &d.oneLanes)
	lanes.Square(&d.check, &d.v, 1)           // v²
	lanes.Multiply(&d.uv3, &d.check, &d.v)    // v³
	lanes.Multiply(&d.uv3, &d.uv3, &d.u)      // uv³
	lanes.Square(&d.check, &d.check, 1)       // v⁴
	lanes.Multiply(&d.root, &d.uv3, &d.check) // uv⁷
	d.pow22523(&d.root)                       // (uv⁷)^((p-5)/8)
	lanes.Multiply(&d.root, &d.root, &d.uv3)  // r
	lanes.Square(&d.check, &d.root, 1)        // r²
	lanes.Multiply(&d.check, &d.check, &d.v)  // vr²
}

// pow22523 raises z to (p-5)/8 = 2^252 - 3. Beside each step stands the exponent.
func (d *decoder) pow22523(z *lanes.Elements) {
	t, x, w := &d.check, &d.long, &d.longer
	lanes.Square(t, z, 1)   // 2
	lanes.Square(x, t, 2)   // 8
	lanes.Multiply(x, x, z) // 9
	lanes.Multiply(t, t, x) // 11
	lanes.Square(t, t, 1)   // 22
	lanes.Multiply(x, x, t) // 31 = 2^5 - 1
	raise(t, x, 5, x)       // 2^10 - 1
	raise(x, t, 10, t)      // 2^20 - 1
	raise(w, x, 20, x)      // 2^40 - 1
	raise(t, w, 10, t)      // 2^50 - 1
	raise(x, t, 50, t)      // 2^100 - 1
	raise(w, x, 100, x)     // 2^200 - 1
	raise(w, w, 50, t)      // 2^250 - 1
	raise(z, w, 2, z)       // 2^252 - 3
}

// raise sets out to f^(2^n)·g.
func raise(out, f *lanes.Elements, n int, g *lanes.Elements) {
	var t lanes.Elements
	lanes.Square(&t, f, n)
	lanes.Multiply(out, &t, g)
}
