package msm

import (
	"math/rand/v2"
	"testing"

	"filippo.io/edwards25519"
)

// TestTables compares sums of products of tables with the library, for points with and without a
// component of small order, random scalars, and scalars at which a digit or a carry changes.
func TestTables(t *testing.T) {
	r := rand.NewChaCha8([32]byte{21})
	special := [][32]byte{{}, {1}, {31}, {32}, {33}, {63}, {64}, {0x20, 0x08}, {31: 0x08}, {31: 0x10},
		{31: 0x7f}}
	for _, digits := range [][3]byte{ // all digits 31, 32, 33 and 63
		{0xdf, 0xf7, 0x7d}, {0x20, 0x08, 0x82}, {0x61, 0x18, 0x86}, {0xff, 0xff, 0xff},
	} {
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
			k, b := (i+j)%len(points), special[(i+5*j)%len(special)]
			if i >= 60 {
				b = [32]byte(scalar(t, r).Bytes())
			}
			negative := (i>>j)&1 == 1
			products = append(products, Product{tables[k], b, negative})
			addProduct(want, b, points[k], negative)
		}
		got, err := SumProducts(products...)
		if err != nil || got.Equal(want) != 1 {
			t.Fatalf("sum %d of %d products: %v", i, len(products), err)
		}
	}
}

// product returns b·p for an integer below 2^256, by doubling and adding.
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
		first, second := Product{t, [32]byte(s.Bytes()), false}, Product{t, [32]byte(k.Bytes()), true}
		for b.Loop() {
			if _, err := SumProducts(first, second); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("library", func(b *testing.B) {
		for b.Loop() {
			new(edwards25519.Point).VarTimeDoubleScalarBaseMult(k, p, s)
		}
	})
}
