package msm

import (
	"filippo.io/edwards25519"

	"choir/crypto/msm/lanes"
)

// Table are multiples of one point for sums in which it comes again and again: digit·16^w
// times the point, for each digit to the base 16 and each of its 64 places (the fixed-base
// windows of Brickell, Gordon, McCurley and Wilson, "Fast exponentiation with precomputation",
// EUROCRYPT '92). A product is then at most one addition a digit, eight side by side, without a
// doubling. It takes 108 KiB and, to build, as long as some six signatures take to verify.
type Table struct {
	// Row 8b+l of group g is b·16^(8g+l) times the point, in the form of Point; rows of b = 0
	// are the neutral element.
	groups [maxGroups][]lanes.Row
}

// multiples is how many digits there are without their sign, 0 to 8.
const multiples = 9

// NewTable makes the table of p.
func NewTable(p *edwards25519.Point) *Table {
	t := new(Table)
	each := multiples * lanes.Width
	all := make([]*edwards25519.Point, 0, maxGroups*each)
	base := new(edwards25519.Point).Set(p)
	for range maxGroups * lanes.Width {
		next := edwards25519.NewIdentityPoint()
		for range multiples {
			all = append(all, new(edwards25519.Point).Set(next))
			next.Add(next, base)
		}
		base.MultByCofactor(base) // 16 = 8 + 8
		base.Add(base, base)
	}
	points := make([]Point, len(all))
	SetAll(points, all)
	for g := range t.groups {
		t.groups[g] = make([]lanes.Row, each)
		for l := range lanes.Width {
			for b := range multiples {
				t.groups[g][lanes.Width*b+l] = points[(g*lanes.Width+l)*multiples+b].row()
			}
		}
	}
	return t
}

// row is p as lanes load it.
func (p *Point) row() (r lanes.Row) {
	for k, packed := range []*lanes.Packed{&p.plus, &p.minus, &p.product, &p.negated} {
		copy(r[k*lanes.Words:], packed[:])
	}
	return r
}

// Product is a product with a table's point; the fields are [Term]'s.
type Product struct {
	Table    *Table
	Scalar   [32]byte
	Negative bool
}

// SumProducts returns Σ ±Scalar·Point of tables' points: scalars are below 2^255, or the result
// is of no use. It is fast where [Fast] says so.
func SumProducts(products ...Product) (*edwards25519.Point, error) {
	c := newCurve()
	var s struct {
		arithmetic
		v     eight
		entry lanes.Rows
	}
	s.init(&c)
	s.v.identity()
	for i := range products {
		var d digits
		d.set(&products[i].Scalar, 4, products[i].Negative)
		for g := range d.groups {
			lanes.Load(&s.entry, products[i].Table.groups[g], &d.bucket[g])
			s.addRows(&s.v, &s.entry, d.negative[g])
		}
	}
	var total extended
	total.identity()
	for l := range lanes.Width {
		one := s.v.lane(l)
		c.sum(&total, &one)
	}
	return total.edwards()
}

// addRows adds in each lane the point that a table's row has, or its negative if that lane's
// bit is set: mixed with eight points.
func (m *arithmetic) addRows(v *eight, rows *lanes.Rows, negative uint8) {
	plus, minus, product, negated := rows.Pick(0), rows.Pick(1), rows.Pick(2), rows.Pick(3)
	for l := range lanes.Width {
		if negative>>l&1 == 0 {
			continue
		}
		for w := range lanes.Words {
			plus[w][l], minus[w][l] = minus[w][l], plus[w][l]
			product[w][l] = negated[w][l]
		}
	}
	lanes.Subtract(&m.a, v.y(), v.x())
	lanes.Multiply(&m.a, &m.a, minus)
	lanes.Add(&m.b, v.y(), v.x())
	lanes.Multiply(&m.b, &m.b, plus)
	lanes.Multiply(&m.c, v.t(), product)
	lanes.Add(&m.d, v.z(), v.z())
	m.finish(v)
}
