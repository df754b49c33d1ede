package msm

import "choir/crypto/internal/msm/lanes"

// eight are points side by side, one in each lane: X, Y, Z and T, all tight.
type eight struct{ rows lanes.Rows }

func (v *eight) x() *lanes.Elements { return v.rows.Pick(0) }
func (v *eight) y() *lanes.Elements { return v.rows.Pick(1) }
func (v *eight) z() *lanes.Elements { return v.rows.Pick(2) }
func (v *eight) t() *lanes.Elements { return v.rows.Pick(3) }

// identity sets all lanes to (0 : 1 : 1 : 0).
func (v *eight) identity() {
	one := lanes.Packed{1}
	*v = eight{}
	v.y().Broadcast(&one)
	v.z().Broadcast(&one)
}

// lane returns the point in one lane.
func (v *eight) lane(l int) extended {
	return extended{x: v.x().Lane(l), y: v.y().Lane(l), z: v.z().Lane(l), t: v.t().Lane(l)}
}

// arithmetic adds points side by side: constants, and memory for what is between.
type arithmetic struct {
	a, b, c, d, e, f, g, h, twoD lanes.Elements
}

func (m *arithmetic) init(c *curve) {
	twoD := lanes.PackElement(&c.twoD)
	m.twoD.Broadcast(&twoD)
}

// mixed adds p to all lanes, or -p in those whose bit in negative is set: extended.mixed
// with y - x, y + x and 2dxy of the point that is added, all of them at most loose.
//
//	A = (Y-X)·(y-x)   loose·loose        E = B-A   loose
//	B = (Y+X)·(y+x)   twice·loose        H = B+A   twice
//	C = T·2dxy        tight·loose        F = D-C   wide, D being twice as long
//	D = 2Z            twice as long      G = D+C   loose
func (m *arithmetic) mixed(v *eight, p *Point, negative uint8) {
	lanes.Choose(&m.e, &p.minus, &p.plus, negative)
	lanes.Choose(&m.f, &p.plus, &p.minus, negative)
	lanes.Choose(&m.g, &p.product, &p.negated, negative)
	lanes.Subtract(&m.a, v.y(), v.x())
	lanes.Multiply(&m.a, &m.a, &m.e)
	lanes.Add(&m.b, v.y(), v.x())
	lanes.Multiply(&m.b, &m.b, &m.f)
	lanes.Multiply(&m.c, v.t(), &m.g)
	lanes.Add(&m.d, v.z(), v.z())
	m.finish(v)
}

// sum adds w to v, lane by lane: extended.sum. The factors of A and B are loose or twice
// as long as tight ones, all others tight; D is twice as long again.
func (m *arithmetic) sum(v, w *eight) {
	lanes.Subtract(&m.a, v.y(), v.x())
	lanes.Subtract(&m.e, w.y(), w.x())
	lanes.Multiply(&m.a, &m.a, &m.e)
	lanes.Add(&m.b, v.y(), v.x())
	lanes.Add(&m.f, w.y(), w.x())
	lanes.Multiply(&m.b, &m.b, &m.f)
	lanes.Multiply(&m.c, v.t(), &m.twoD)
	lanes.Multiply(&m.c, &m.c, w.t())
	lanes.Multiply(&m.d, v.z(), w.z())
	lanes.Add(&m.d, &m.d, &m.d)
	m.finish(v)
}

// finish is the second half of both. F, the one that is wide, is always the first factor.
func (m *arithmetic) finish(v *eight) {
	lanes.Subtract(&m.e, &m.b, &m.a)
	lanes.Add(&m.h, &m.b, &m.a)
	lanes.Subtract(&m.f, &m.d, &m.c)
	lanes.Add(&m.g, &m.d, &m.c)
	lanes.Multiply(v.x(), &m.f, &m.e)
	lanes.Multiply(v.y(), &m.g, &m.h)
	lanes.Multiply(v.z(), &m.f, &m.g)
	lanes.Multiply(v.t(), &m.e, &m.h)
}
