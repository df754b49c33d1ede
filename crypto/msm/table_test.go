package msm

import (
	"math/rand/v2"
	"testing"

	"filippo.io/edwards25519"
)

// TestTables holds sums of tables' products to the curve's library: points with and without a
// component of small order, random scalars and those at which a digit, a carry or a group turns.
func TestTables(t *testing.T) {
	r := rand.NewChaCha8([32]byte{21})
	special := [][32]byte{{}, {1}, {8}, {9}, {15}, {16}, {0x88}, {0x98}, {31: 0x08}, {31: 0x10}}
	var sevens, eights, all [32]byte
	for i := range sevens {
		sevens[i], eights[i], all[i] = 0x77, 0x88, 0xff
	}
	sevens[31], eights[31], all[31] = 0x07, 0x08, 0x0f
	special = append(special, sevens, eights, all)
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
