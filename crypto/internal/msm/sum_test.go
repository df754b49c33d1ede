package msm

import (
	"encoding/binary"
	"fmt"
	"math/big"
	"math/rand/v2"
	"testing"

	"filippo.io/edwards25519"
)

// point makes a random point; every fourth has a component of small order, every
// seventh is of small order, and some aren't affine.
func point(t testing.TB, r *rand.ChaCha8, i int) *edwards25519.Point {
	t.Helper()
	p := new(edwards25519.Point).ScalarBaseMult(scalar(t, r))
	for i%4 == 3 || i%7 == 6 {
		var b [32]byte
		r.Read(b[:])
		q, err := new(edwards25519.Point).SetBytes(b[:])
		if err != nil {
			continue
		}
		if i%7 == 6 { // ℓ·q is its component of small order
			minusOne := edwards25519.NewScalar().Negate(one(t))
			q.Add(q, new(edwards25519.Point).ScalarMult(minusOne, q))
		}
		p = q
		break
	}
	if i%2 == 0 {
		if q, err := new(edwards25519.Point).SetBytes(p.Bytes()); err == nil {
			return q
		}
	}
	return p
}

func one(t testing.TB) *edwards25519.Scalar {
	t.Helper()
	s, err := edwards25519.NewScalar().SetCanonicalBytes(append([]byte{1}, make([]byte, 31)...))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func scalar(t testing.TB, r *rand.ChaCha8) *edwards25519.Scalar {
	t.Helper()
	var b [64]byte
	r.Read(b[:])
	s, err := edwards25519.NewScalar().SetUniformBytes(b[:])
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// terms makes n terms with full, half and special scalars, and their sum as the
// library multiplies one by one.
func terms(t testing.TB, r *rand.ChaCha8, n int) ([]Term, *edwards25519.Point) {
	t.Helper()
	all, want := make([]Term, n), edwards25519.NewIdentityPoint()
	for i := range all {
		s := scalar(t, r)
		switch i % 5 {
		case 1: // half as long
			b := s.Bytes()
			clear(b[16:])
			s, _ = edwards25519.NewScalar().SetCanonicalBytes(b)
		case 2:
			s = [...]*edwards25519.Scalar{edwards25519.NewScalar(), one(t), edwards25519.NewScalar().Negate(one(t))}[i/5%3]
		}
		p := point(t, r, i)
		all[i] = Term{Point: new(Point).Set(p), Scalar: [32]byte(s.Bytes()), Negative: i%3 == 1}
		product := new(edwards25519.Point).ScalarMult(s, p)
		if all[i].Negative { // which isn't ℓ - s times a point outside the subgroup
			product.Negate(product)
		}
		want.Add(want, product)
	}
	return all, want
}

func TestSumAgainstTheLibrary(t *testing.T) {
	r := rand.NewChaCha8([32]byte{1})
	for _, n := range []int{0, 1, 2, 3, 5, 8, 20, 64, 200, 700} {
		all, want := terms(t, r, n)
		got, err := Sum(all)
		if err != nil || got.Equal(want) != 1 {
			t.Errorf("%d terms: another sum, %v", n, err)
		}
	}
}

// TestWindows: every size of window gives the same sum, one by one and side by side; what
// is chosen visits few.
func TestWindows(t *testing.T) {
	r := rand.NewChaCha8([32]byte{2})
	all, want := terms(t, r, 30)
	c := newCurve()
	check := func(name string, size int, total extended) {
		if got, err := total.edwards(); err != nil || got.Equal(want) != 1 {
			t.Errorf("%s, windows of %d bits: another sum, %v", name, size, err)
		}
	}
	for size := 1; size <= 14; size++ {
		ts := make([]term, len(all))
		for i := range all {
			ts[i] = term{point: all[i].Point.addend(), bits: 253, negative: all[i].Negative}
			for w := range ts[i].scalar {
				ts[i].scalar[w] = binary.LittleEndian.Uint64(all[i].Scalar[8*w:])
			}
		}
		check("one by one", size, c.sumOfProducts(ts, 253, size))
	}
	check("one by one", 0, c.sumOneByOne(all))
	check("side by side", 4, c.sumSideBySide(all, 4))
	check("side by side", 8, c.sumSideBySide(all, 8))
}

// TestSetIsThePoint: what begins a bucket is the point, or minus it, with all four
// coordinates right, for points of small order too.
func TestSetIsThePoint(t *testing.T) {
	r, c := rand.NewChaCha8([32]byte{4}), newCurve()
	for i := range 100 {
		var set Point
		want := point(t, r, i)
		c.set(&set, want)
		p := set.addend()
		for _, negative := range []bool{false, true} {
			var v extended
			if v.set(&p); negative {
				v.setNegative(&p)
				want = new(edwards25519.Point).Negate(want)
			}
			got, err := new(edwards25519.Point).SetExtendedCoordinates(&v.x, &v.y, &v.z, &v.t)
			if err != nil || got.Equal(want) != 1 {
				t.Errorf("point %d, negative: %t: another point, %v", i, negative, err)
			}
		}
	}
}

// TestDigits: they stand for the scalar, up to 2^255 - 1, and are in their range.
func TestDigits(t *testing.T) {
	r := rand.New(rand.NewChaCha8([32]byte{3}))
	for i := range 300 {
		tm := term{scalar: [4]uint64{r.Uint64(), r.Uint64(), r.Uint64(), r.Uint64() >> 1}}
		switch i {
		case 0:
			tm.scalar = [4]uint64{1<<64 - 1, 1<<64 - 1, 1<<64 - 1, 1<<63 - 1}
		case 1:
			tm.scalar = [4]uint64{}
		}
		want := new(big.Int)
		for w := 3; w >= 0; w-- {
			want.Lsh(want, 64).Or(want, new(big.Int).SetUint64(tm.scalar[w]))
		}
		for size := 1; size <= 14; size++ {
			sum := new(big.Int)
			for w := windows(255, size) - 1; w >= 0; w-- {
				d := tm.digit(w, size)
				if d > 1<<(size-1) || -d > 1<<(size-1) {
					t.Fatalf("digit %d of %d bits", d, size)
				}
				sum.Lsh(sum, uint(size)).Add(sum, big.NewInt(int64(d)))
			}
			if sum.Cmp(want) != 0 {
				t.Fatalf("digits of %d bits stand for %v, want %v", size, sum, want)
			}
		}
	}
}

func TestSumRefusesLongScalars(t *testing.T) {
	if _, err := Sum([]Term{{Point: new(Point).Set(edwards25519.NewGeneratorPoint()), Scalar: [32]byte{31: 0x80}}}); err == nil {
		t.Error("a scalar of 256 bits is accepted")
	}
}

func BenchmarkSum(b *testing.B) {
	for _, n := range []int{64, 256, 1024, 4096} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			r := rand.NewChaCha8([32]byte{4})
			all, _ := terms(b, r, n)
			for i := range all { // as in a batch of signatures: half of the scalars short
				if r.Read(all[i].Scalar[:31]); i%2 == 1 {
					clear(all[i].Scalar[16:])
					all[i].Scalar[15] &= 0x7f
				}
			}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Sum(all); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/term")
		})
	}
}
