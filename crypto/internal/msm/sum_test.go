package msm

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"filippo.io/edwards25519"
	"pgregory.net/rapid"
)

// point returns a random point. Every fourth has a component of small order, every seventh is of
// small order, and some are not affine.
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

// terms returns n terms with full, half-length and special scalars, and their sum, for which the
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
			minusOne := edwards25519.NewScalar().Negate(one(t))
			s = [...]*edwards25519.Scalar{edwards25519.NewScalar(), one(t), minusOne}[i/5%3]
		}
		p := point(t, r, i)
		all[i] = Term{Point: new(Point).Set(p), Scalar: [32]byte(s.Bytes()), Negative: i%3 == 1}
		product := new(edwards25519.Point).ScalarMult(s, p)
		if all[i].Negative { // not ℓ - s times the point, which may lie outside the subgroup
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

// TestWindows: every size of window gives the same sum.
func TestWindows(t *testing.T) {
	r := rand.NewChaCha8([32]byte{2})
	all, want := terms(t, r, 30)
	checkWindows(t, all, want)
}

// checkWindows compares the sums for every window size with want.
func checkWindows(t fataler, all []Term, want *edwards25519.Point) {
	t.Helper()
	c := newCurve()
	prepared, width := make([]term, len(all)), 0
	for i := range all {
		prepared[i] = newTerm(&all[i])
		width = max(width, prepared[i].bits)
	}
	for size := 1; size <= 14; size++ {
		total := c.sumOfProducts(prepared, width, size)
		if got, err := total.edwards(); err != nil || got.Equal(want) != 1 {
			t.Fatalf("%d terms, windows of %d bits: another sum, %v", len(all), size, err)
		}
	}
	if got, err := Sum(all); err != nil || got.Equal(want) != 1 {
		t.Fatalf("%d terms: another sum, %v", len(all), err)
	}
}

// fataler is the common interface of *testing.T and *rapid.T.
type fataler interface {
	Helper()
	Fatalf(format string, args ...any)
}

// TestSumsOfExtremeScalars uses the scalars 2^n and 2^n - 1 up to 2^255 - 1, with points of small
// order among the points.
func TestSumsOfExtremeScalars(t *testing.T) {
	r := rand.NewChaCha8([32]byte{22})
	var all []Term
	want := edwards25519.NewIdentityPoint()
	for n := range uint(256) {
		p := point(t, r, int(n))
		integer := new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), n), big.NewInt(int64(n%2)))
		var s [32]byte
		slices.Reverse(integer.FillBytes(s[:]))
		s[31] &= 0x7f
		all = append(all, Term{Point: new(Point).Set(p), Scalar: s, Negative: n%3 == 0})
		addProduct(want, s, p, n%3 == 0)
	}
	checkWindows(t, all, want)
}

// addProduct adds ±b·p to sum by doubling and adding.
func addProduct(sum *edwards25519.Point, b [32]byte, p *edwards25519.Point, negative bool) {
	q := product(b, p)
	if negative {
		q.Negate(q)
	}
	sum.Add(sum, q)
}

func TestSumsRapid(t *testing.T) {
	r := rand.NewChaCha8([32]byte{23})
	points := make([]*edwards25519.Point, 40)
	for i := range points {
		points[i] = point(t, r, i)
	}
	rapid.Check(t, func(t *rapid.T) {
		all := make([]Term, rapid.IntRange(0, 12).Draw(t, "n"))
		want := edwards25519.NewIdentityPoint()
		for i := range all {
			n := rapid.IntRange(0, 32).Draw(t, "bytes")
			p := points[rapid.IntRange(0, len(points)-1).Draw(t, "point")]
			all[i].Point = new(Point).Set(p)
			copy(all[i].Scalar[:], rapid.SliceOfN(rapid.Byte(), n, n).Draw(t, "scalar"))
			all[i].Scalar[31] &= 0x7f
			all[i].Negative = rapid.Bool().Draw(t, "negative")
			addProduct(want, all[i].Scalar, p, all[i].Negative)
		}
		got, err := Sum(all)
		if err != nil || got.Equal(want) != 1 {
			t.Fatalf("%d terms: another sum, %v", len(all), err)
		}
	})
}

// TestDigits: the digits represent the scalar, up to 2^255 - 1, and are in range.
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
				t.Fatalf("digits of %d bits represent %v, want %v", size, sum, want)
			}
		}
	}
}

func TestSumRejectsLongScalars(t *testing.T) {
	g := new(Point).Set(edwards25519.NewGeneratorPoint())
	if _, err := Sum([]Term{{Point: g, Scalar: [32]byte{31: 0x80}}}); err == nil {
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
