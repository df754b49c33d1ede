package field

import (
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"
)

var bigP = new(big.Int).SetUint64(Modulus)

// fromInt64 returns x mod p, and reports whether the signed representation includes x.
func fromInt64(x int64) (e Element, ok bool) {
	if x > MaxSigned || x < -MaxSigned {
		return 0, false
	}
	return Element(new(big.Int).Mod(big.NewInt(x), bigP).Uint64()), true
}

// interesting are the values at which reductions, carries and signs change.
var interesting = []uint64{
	0, 1, 2, epsilon - 1, epsilon, epsilon + 1, 1 << 32, 1<<32 + 1,
	1 << 62, 1<<63 - 1, 1 << 63, 1<<63 + 1,
	uint64(MaxSigned) - 1, uint64(MaxSigned), uint64(MaxSigned) + 1,
	Modulus - (1 << 32), Modulus - 2, Modulus - 1,
}

// elements draws interesting values half of the time.
func elements() *rapid.Generator[Element] {
	return rapid.Custom(func(t *rapid.T) Element {
		if rapid.Bool().Draw(t, "interesting") {
			return Element(rapid.SampledFrom(interesting).Draw(t, "value"))
		}
		return Element(rapid.Uint64Range(0, Modulus-1).Draw(t, "value"))
	})
}

func toBig(e Element) *big.Int { return new(big.Int).SetUint64(uint64(e)) }

// check compares an element with an integer modulo p, and checks that it is canonical.
func check(t interface{ Fatalf(string, ...any) }, what string, got Element, want *big.Int) {
	if uint64(got) >= Modulus {
		t.Fatalf("%s: %d is not canonical", what, got)
	}
	if w := new(big.Int).Mod(want, bigP); toBig(got).Cmp(w) != 0 {
		t.Fatalf("%s: got %d, want %v", what, got, w)
	}
}

func checkOperations(t interface{ Fatalf(string, ...any) }, a, b Element) {
	x, y := toBig(a), toBig(b)
	check(t, "Add", Add(a, b), new(big.Int).Add(x, y))
	check(t, "Sub", Sub(a, b), new(big.Int).Sub(x, y))
	check(t, "Mul", Mul(a, b), new(big.Int).Mul(x, y))
	check(t, "Neg", Neg(a), new(big.Int).Neg(x))
}

func TestModulusIsPrime(t *testing.T) {
	want := new(big.Int).Lsh(big.NewInt(1), 64)
	want.Sub(want, new(big.Int).Lsh(big.NewInt(1), 32)).Add(want, big.NewInt(1))
	if bigP.Cmp(want) != 0 {
		t.Fatalf("modulus is %v, want 2^64 - 2^32 + 1 = %v", bigP, want)
	}
	if !bigP.ProbablyPrime(0) { // no false answers below 2^64
		t.Fatal("modulus is not prime")
	}
}

func TestOperationsAtTheEdges(t *testing.T) {
	for _, a := range interesting {
		for _, b := range interesting {
			checkOperations(t, Element(a), Element(b))
		}
	}
}

func TestOperationsAgainstBig(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		many := rapid.SliceOfN(elements(), 50, 50)
		for i, a := range many.Draw(t, "a") {
			checkOperations(t, a, many.Draw(t, "b")[i])
		}
	})
}

func TestReduceAcceptsAnyWord(t *testing.T) {
	for _, x := range append(interesting, Modulus, Modulus+1, math.MaxUint64) {
		check(t, "reduce", reduce(x), new(big.Int).SetUint64(x))
	}
}

func TestNewRejectsNonCanonical(t *testing.T) {
	if e, ok := New(Modulus - 1); !ok || uint64(e) != Modulus-1 {
		t.Fatalf("New(p-1) = %d, %v", e, ok)
	}
	for _, x := range []uint64{Modulus, Modulus + 1, math.MaxUint64} {
		if e, ok := New(x); ok || e != 0 {
			t.Fatalf("New(%d) = %d, %v; want a rejection", x, e, ok)
		}
	}
}

func TestSignedRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.Int64Range(-MaxSigned, MaxSigned).Draw(t, "x")
		v := make(Vector, 1)
		if n := v.SetSigned([]int64{x}); n != 1 {
			t.Fatalf("%d is rejected", x)
		}
		e := v[0]
		check(t, "SetSigned", e, big.NewInt(x))
		if got := e.Int64(); got != x {
			t.Fatalf("%d became %d", x, got)
		}
	})
}

func TestEveryElementIsASignedInteger(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := elements().Draw(t, "e")
		x := e.Int64()
		if x > MaxSigned || x < -MaxSigned {
			t.Fatalf("%d decodes to %d, outside the range", e, x)
		}
		if back, ok := fromInt64(x); !ok || back != e {
			t.Fatalf("%d became %d, %v", e, back, ok)
		}
	})
}

func TestSignedRange(t *testing.T) {
	if MaxSigned != 1<<63-1<<31 {
		t.Fatalf("MaxSigned is %d, want 2^63 - 2^31", MaxSigned)
	}
	for _, x := range []int64{MaxSigned, -MaxSigned, 0, 1, -1} {
		v := make(Vector, 1)
		if n := v.SetSigned([]int64{x}); n != 1 || v[0].Int64() != x {
			t.Errorf("%d: got %d, %d converted", x, v[0].Int64(), n)
		}
	}
	for _, x := range []int64{MaxSigned + 1, -MaxSigned - 1, math.MaxInt64, math.MinInt64} {
		v := make(Vector, 1)
		if n := v.SetSigned([]int64{x}); n != 0 || v[0] != 0 {
			t.Errorf("%d: got %d, %d converted; want a rejection", x, v[0], n)
		}
	}
}
