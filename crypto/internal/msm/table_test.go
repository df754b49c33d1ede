package msm

import (
	"math/rand/v2"
	"testing"

	"filippo.io/edwards25519"
)

// TestTables holds sums of tables' products to the curve's library: points with and without a
// component of small order, random scalars and those at which a digit or a carry turns.
func TestTables(t *testing.T) {
	r := rand.NewChaCha8([32]byte{21})
	special := [][32]byte{{}, {1}, {31}, {32}, {33}, {63}, {64}, {0x20, 0x08}, {31: 0x08}, {31: 0x10}, {31: 0x7f}}
	for _, digits := range [][3]byte{{0xdf, 0xf7, 0x7d}, {0x20, 0x08, 0x82}, {0x61, 0x18, 0x86}, {0xff, 0xff, 0xff}} { // all 31, 32, 33 and 63
		var all [32]byte
		for i := range all {
			all[i] = digits[i%3]
		}
		all[31] &= 0x7f
		special = append(special, all)
	}
	points := make([]*edwards25519.Point, 12)
	tables := make([]*Table, len(points))
	for i := range points {
		points[i] = point(t, r, i)
		tables[i] = NewTable(points[i])
	}
	for i := range 200 {
		want, products := edwards25519.NewIdentityPoint(), []Product{}
		for j := range i % 4 {
			b := special[(i+5*j)%len(special)]
			if i >= 60 {
				b = [32]byte(scalar(t, r).Bytes())
			}
			k, p := (i+j)%len(points), new(edwards25519.Point)
			p.Set(product(b, points[k]))
			if negative := (i>>j)&1 == 1; negative {
				products = append(products, Product{tables[k], b, true})
				want.Subtract(want, p)
			} else {
				products = append(products, Product{tables[k], b, false})
				want.Add(want, p)
			}
		}
		got, err := SumProducts(products...)
		if err != nil || got.Equal(want) != 1 {
			t.Fatalf("sum %d of %d products: %v", i, len(products), err)
		}
	}
}

// product is b·p for any integer below 2^256, by doubling and adding alone.
func product(b [32]byte, p *edwards25519.Point) *edwards25519.Point {
	q := edwards25519.NewIdentityPoint()
	for i := 255; i >= 0; i-- {
		q.Add(q, q)
		if b[i/8]>>(i%8)&1 == 1 {
			q.Add(q, p)
		}
	}
	return q
}

func BenchmarkTable(b *testing.B) {
	r := rand.NewChaCha8([32]byte{1})
	p := new(edwards25519.Point).ScalarBaseMult(scalar(b, r))
	t := NewTable(p)
	k, s := scalar(b, r), scalar(b, r)
	b.Run("build", func(b *testing.B) {
		for b.Loop() {
			NewTable(p)
		}
	})
	b.Run("two products", func(b *testing.B) {
		for b.Loop() {
			_, _ = SumProducts(Product{t, [32]byte(s.Bytes()), false}, Product{t, [32]byte(k.Bytes()), true})
		}
	})
	b.Run("the curve's library", func(b *testing.B) {
		for b.Loop() {
			new(edwards25519.Point).VarTimeDoubleScalarBaseMult(k, p, s)
		}
	})
}
