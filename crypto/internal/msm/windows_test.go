package msm

import (
	"math/big"
	"math/rand/v2"
	"testing"

	"filippo.io/edwards25519"
	"pgregory.net/rapid"

	"choir/crypto/internal/msm/lanes"
)

// standsFor is Σ digit·2^(size·w) of digits in both sizes, whose buckets must be there.
func (d *digits) standsFor(t *testing.T, size int) *big.Int {
	t.Helper()
	sum := new(big.Int)
	for w := 256/size - 1; w >= 0; w-- {
		g, l := w/lanes.Width, w%lanes.Width
		digit := int64(d.bucket[g][l])
		if digit > 1<<(size-1) || digit > 0 && g >= d.groups {
			t.Fatalf("window %d of %d bits is %d, %d groups", w, size, digit, d.groups)
		}
		if d.negative[g]>>l&1 == 1 {
			digit = -digit
		}
		sum.Lsh(sum, uint(size)).Add(sum, big.NewInt(digit))
	}
	return sum
}

// TestDigitsSideBySide: they stand for the scalar, up to 2^255, with half the groups for
// scalars up to 2^127.
func TestDigitsSideBySide(t *testing.T) {
	r := rand.New(rand.NewChaCha8([32]byte{21}))
	power := func(n uint) *big.Int { return new(big.Int).Lsh(big.NewInt(1), n) }
	scalars := []*big.Int{new(big.Int), big.NewInt(1), power(255), power(127)}
	for n := range uint(256) {
		scalars = append(scalars, new(big.Int).Sub(power(n), big.NewInt(1)))
	}
	for i := range 400 {
		n := new(big.Int)
		for range 4 {
			n.Lsh(n, 64).Or(n, new(big.Int).SetUint64(r.Uint64()))
		}
		scalars = append(scalars, n.Rsh(n, uint(1+i%200)))
	}
	for _, n := range scalars {
		scalar := encoding(n)
		for _, size := range []int{4, 8} {
			for _, negative := range []bool{false, true} {
				var d digits
				d.set(&scalar, size, negative)
				want := new(big.Int).Set(n)
				if negative {
					want.Neg(want)
				}
				if got := d.standsFor(t, size); got.Cmp(want) != 0 {
					t.Fatalf("digits of %d bits stand for %x, want %x", size, got, want)
				}
				if n.Cmp(power(127)) <= 0 && d.groups > 128/size/lanes.Width {
					t.Fatalf("%x has %d groups of %d bits", n, d.groups, size)
				}
			}
		}
	}
}

// TestSumsOfExtremeScalars: 0, 1, 2^255 - 1, 2^127 and what is around them, with points
// of small order, against one product after the other.
func TestSumsOfExtremeScalars(t *testing.T) {
	r, c := rand.NewChaCha8([32]byte{22}), newCurve()
	var all []Term
	for n := range uint(256) {
		var p Point
		c.set(&p, point(t, r, int(n)))
		s := encoding(new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), n), big.NewInt(int64(n%2))))
		s[31] &= 0x7f
		all = append(all, Term{Point: &p, Scalar: s, Negative: n%3 == 0})
	}
	sameSums(t, all)
}

// sumSideBySide is sumEight with windows of a given size.
func (c *curve) sumSideBySide(terms []Term, size int) extended {
	all, groups, _ := cutAll(terms, size)
	return c.sumGroups(terms, all, groups, size)
}

// sameSums compares the sums that there are.
func sameSums(t interface {
	Helper()
	Fatalf(format string, args ...any)
}, all []Term) {
	t.Helper()
	c := newCurve()
	one := c.sumOneByOne(all)
	want, err := one.edwards()
	if err != nil {
		t.Fatalf("one by one: %v", err)
	}
	for _, size := range []int{4, 8} {
		total := c.sumSideBySide(all, size)
		if got, err := total.edwards(); err != nil || got.Equal(want) != 1 {
			t.Fatalf("%d terms, windows of %d bits side by side: another sum, %v", len(all), size, err)
		}
	}
}

func TestSumsRapid(t *testing.T) {
	r := rand.NewChaCha8([32]byte{23})
	points := make([]Point, 40)
	for i := range points {
		points[i].Set(point(t, r, i))
	}
	rapid.Check(t, func(t *rapid.T) {
		all := make([]Term, rapid.IntRange(0, 30).Draw(t, "n"))
		for i := range all {
			n := rapid.IntRange(0, 32).Draw(t, "bytes")
			all[i].Point = &points[rapid.IntRange(0, len(points)-1).Draw(t, "point")]
			copy(all[i].Scalar[:], rapid.SliceOfN(rapid.Byte(), n, n).Draw(t, "scalar"))
			all[i].Scalar[31] &= 0x7f
			all[i].Negative = rapid.Bool().Draw(t, "negative")
		}
		sameSums(t, all)
	})
}

// TestSideBySideIsTheLibrarys adds points lane by lane, twice the same, opposite ones and
// those of small order among them, and compares each lane with edwards25519.
func TestSideBySideIsTheLibrarys(t *testing.T) {
	r, c := rand.NewChaCha8([32]byte{24}), newCurve()
	s := newSideBySide(&c, 4)
	for turn := range 60 {
		var sums, others [lanes.Width]*edwards25519.Point
		var v, w eight
		v.identity()
		w.identity()
		for l := range sums {
			sums[l], others[l] = edwards25519.NewIdentityPoint(), edwards25519.NewIdentityPoint()
		}
		for step := range 6 {
			p := point(t, r, turn+step)
			if step%2 == 1 {
				p.Set(sums[turn%lanes.Width]) // doubles that lane, or empties it
			}
			var q Point
			c.set(&q, p)
			negative := uint8(r.Uint64())
			s.mixed(&v, &q, negative)
			for l := range sums {
				if negative>>l&1 == 1 {
					sums[l].Subtract(sums[l], p)
				} else {
					sums[l].Add(sums[l], p)
				}
			}
			lanesAre(t, &v, &sums)
			s.sum(&w, &v)
			for l := range sums {
				others[l].Add(others[l], sums[l])
			}
			lanesAre(t, &w, &others)
		}
	}
}

func lanesAre(t *testing.T, v *eight, want *[lanes.Width]*edwards25519.Point) {
	t.Helper()
	for l := range want {
		p := v.lane(l)
		if got, err := p.edwards(); err != nil || got.Equal(want[l]) != 1 {
			t.Fatalf("lane %d is another point, %v", l, err)
		}
	}
}
