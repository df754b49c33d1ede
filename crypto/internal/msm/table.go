package msm

import "filippo.io/edwards25519"

// Table holds multiples of a point that appears in many sums: digit·2^(6w) times the point, for each
// of the 43 positions w and each signed digit of six bits (the fixed-base windowing of Brickell,
// Gordon, McCurley and Wilson, "Fast exponentiation with precomputation", EUROCRYPT '92). A
// product then costs at most one addition a digit and no doubling. A table has 161 KiB, and
// computing it costs about as much as verifying twenty signatures.
type Table struct {
	multiples [tableWindows][1 << (tableDigit - 1)]Point // window w: 1 to 32 times 2^(6w) times the point
}

// Digits of five bits would need a table three fifths as large, and a sum a fifth more additions.
const (
	tableDigit   = 6
	tableWindows = 256/tableDigit + 1
)

// NewTable returns the table of p.
func NewTable(p *edwards25519.Point) *Table {
	t := new(Table)
	each := len(t.multiples[0])
	all := make([]*edwards25519.Point, 0, tableWindows*each)
	base := new(edwards25519.Point).Set(p)
	for range tableWindows {
		next := new(edwards25519.Point).Set(base)
		for range each {
			all = append(all, new(edwards25519.Point).Set(next))
			next.Add(next, base)
		}
		last := all[len(all)-1]
		base.Add(last, last) // 64 times the base
	}
	points := make([]Point, len(all))
	SetAll(points, all)
	for w := range t.multiples {
		copy(t.multiples[w][:], points[w*each:])
	}
	return t
}

// Product is the product of the point of a table and an integer below 2^255, as in [Term].
type Product struct {
	Table    *Table
	Scalar   [32]byte
	Negative bool
}

// SumProducts returns Σ ±Scalar·Point for the points of tables. The result is undefined if a scalar
// is 2^255 or more.
func SumProducts(products ...Product) (*edwards25519.Point, error) {
	var total extended
	total.identity()
	for i := range products {
		total.addProduct(&products[i])
	}
	return total.edwards()
}

func (v *extended) addProduct(p *Product) {
	t := newTerm(&Term{Scalar: p.Scalar})
	for w := range p.Table.multiples {
		d := t.digit(w, tableDigit)
		if p.Negative {
			d = -d
		}
		switch {
		case d > 0:
			v.add(&p.Table.multiples[w][d-1])
		case d < 0:
			v.subtract(&p.Table.multiples[w][-d-1])
		}
	}
}
