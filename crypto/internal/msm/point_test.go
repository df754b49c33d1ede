package msm

import (
	"math/rand/v2"
	"testing"

	"filippo.io/edwards25519"
	"filippo.io/edwards25519/field"
)

// TestConstants computes 2d from d = -121665/121666.
func TestConstants(t *testing.T) {
	var one, d field.Element
	one.One()
	d.Mult32(&one, 121666)
	d.Invert(&d)
	d.Mult32(&d, 121665)
	d.Negate(&d)
	if c := newCurve(); c.twoD.Equal(d.Add(&d, &d)) != 1 {
		t.Error("2d is wrong")
	}
}

// TestSetAll compares SetAll with Set, and both with the library.
func TestSetAll(t *testing.T) {
	r := rand.NewChaCha8([32]byte{30})
	for n := range 12 {
		from, got := make([]*edwards25519.Point, n), make([]Point, n)
		for i := range from {
			from[i] = point(t, r, i)
		}
		SetAll(got, from)
		for i := range from {
			want := new(Point).Set(from[i])
			if !equal(&got[i], want) {
				t.Errorf("point %d of %d differs from Set", i, n)
			}
			var v extended
			v.set(&got[i])
			if back, err := v.edwards(); err != nil || back.Equal(from[i]) != 1 {
				t.Errorf("point %d of %d becomes another point: %v", i, n, err)
			}
		}
	}
}

func equal(p, q *Point) bool {
	return p.plus.Equal(&q.plus)&p.minus.Equal(&q.minus)&p.product.Equal(&q.product) == 1
}

// TestZeroPoint: the zero value is not a point.
func TestZeroPoint(t *testing.T) {
	if _, err := Sum([]Term{{Point: new(Point), Scalar: [32]byte{1}}}); err == nil {
		t.Error("a point that was never set is accepted")
	}
}

// TestSetIsThePoint: the extended coordinates of a point, and of its negation, are right, also
// for points of small order.
func TestSetIsThePoint(t *testing.T) {
	r := rand.NewChaCha8([32]byte{4})
	for i := range 100 {
		want := point(t, r, i)
		p := new(Point).Set(want)
		for _, negative := range []bool{false, true} {
			var v extended
			if v.set(p); negative {
				v.setNegative(p)
				want = new(edwards25519.Point).Negate(want)
			}
			got, err := v.edwards()
			if err != nil || got.Equal(want) != 1 {
				t.Errorf("point %d, negative: %t: another point, %v", i, negative, err)
			}
		}
	}
}

// TestAdditions compares additions, doublings and their negations with the library. Equal and
// opposite points and points of small order are among them.
func TestAdditions(t *testing.T) {
	r := rand.New(rand.NewChaCha8([32]byte{24}))
	source, c := rand.NewChaCha8([32]byte{25}), newCurve()
	for turn := range 60 {
		var v, w extended
		v.identity()
		w.identity()
		sum, other := edwards25519.NewIdentityPoint(), edwards25519.NewIdentityPoint()
		for step := range 6 {
			p := point(t, source, turn+step)
			if step%2 == 1 {
				p.Set(sum) // doubles the sum, or makes it the identity
			}
			if q := new(Point).Set(p); r.IntN(2) == 0 {
				v.subtract(q)
				sum.Subtract(sum, p)
			} else {
				v.add(q)
				sum.Add(sum, p)
			}
			checkPoint(t, &v, sum)
			c.sum(&w, &v)
			other.Add(other, sum)
			checkPoint(t, &w, other)
			w.double()
			other.Add(other, other)
			checkPoint(t, &w, other)
		}
	}
}

func checkPoint(t *testing.T, v *extended, want *edwards25519.Point) {
	t.Helper()
	if got, err := v.edwards(); err != nil || got.Equal(want) != 1 {
		t.Fatalf("another point, %v", err)
	}
}
