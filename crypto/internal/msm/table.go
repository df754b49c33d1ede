package msm

import (
	"encoding/binary"

	"filippo.io/edwards25519"
)

// Table are multiples of one point for sums in which it comes again and again: digit·2^(6w)
// times the point, for each digit of six bits with a sign and each of its 43 places (the
// fixed-base windows of Brickell, Gordon, McCurley and Wilson, "Fast exponentiation with
// precomputation", EUROCRYPT '92). A product is then at most one addition a digit, without a
// doubling. It takes 161 KiB and, to build, as long as some twenty signatures take to verify.
//
// One point after the other, though eight lanes would do them in a tenth less: vectors of eight
// words lower the clock for what a member does behind a signature, its keystreams above all
// (docs/decisions/0017).
type Table struct {
	multiples [tableWindows][1 << (tableDigit - 1)]addend // of window w: 1 to 32 times 2^(6w) times the point
}

// A digit has six bits: with five the table is three fifths as large, and a sum takes a fifth more.
const (
	tableDigit   = 6
	tableWindows = 256/tableDigit + 1
)

// NewTable makes the table of p.
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
		base.Add(last, last) // 64 times
	}
	points := make([]Point, len(all))
	SetAll(points, all)
	for i := range points {
		t.multiples[i/each][i%each] = points[i].addend()
	}
	return t
}

// Product is a product with a table's point; the fields are [Term]'s.
type Product struct {
	Table    *Table
	Scalar   [32]byte
	Negative bool
}

// SumProducts returns Σ ±Scalar·Point of tables' points: scalars are below 2^255, or the result
// is of no use.
func SumProducts(products ...Product) (*edwards25519.Point, error) {
	var total extended
	total.identity()
	for i := range products {
		total.addProduct(&products[i])
	}
	return total.edwards()
}

func (v *extended) addProduct(p *Product) {
	var t term
	for w := range t.scalar {
		t.scalar[w] = binary.LittleEndian.Uint64(p.Scalar[8*w:])
	}
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
