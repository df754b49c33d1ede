package field

import (
	"math/big"
	"math/rand/v2"
	"testing"
)

// bigExt multiplies in F_p[x] / (x^2 - 7) with math/big.
func bigExt(a, b [2]*big.Int) [2]*big.Int {
	p := new(big.Int).SetUint64(Modulus)
	product := func(x, y *big.Int) *big.Int { return new(big.Int).Mul(x, y) }
	first := new(big.Int).Add(product(a[0], b[0]), product(big.NewInt(7), product(a[1], b[1])))
	second := new(big.Int).Add(product(a[0], b[1]), product(a[1], b[0]))
	return [2]*big.Int{first.Mod(first, p), second.Mod(second, p)}
}

func extToBig(e Ext) [2]*big.Int {
	return [2]*big.Int{new(big.Int).SetUint64(uint64(e[0])), new(big.Int).SetUint64(uint64(e[1]))}
}

// TestFingerprint compares fingerprints with math/big, for elements at the edges of the field and
// for vectors that are written in several pieces.
func TestFingerprint(t *testing.T) {
	rng := rand.New(rand.NewChaCha8([32]byte{3}))
	p := new(big.Int).SetUint64(Modulus)
	for _, n := range []int{0, 1, 2, 255, 256, 257, 1000} {
		for _, largest := range []bool{false, true} {
			at := Ext{Element(rng.Uint64N(Modulus)), Element(rng.Uint64N(Modulus))}
			v := make(Vector, n)
			for i := range v {
				if v[i] = Element(rng.Uint64N(Modulus)); largest {
					v[i] = Element(Modulus - 1)
				}
			}
			f := NewFingerprint(at)
			cut := n / 3
			f.Write(v[:cut])
			f.Write(v[cut:])
			power, want := extToBig(at), extToBig(Ext{})
			for _, e := range v {
				for c := range want {
					term := new(big.Int).Mul(power[c], new(big.Int).SetUint64(uint64(e)))
					want[c].Mod(term.Add(term, want[c]), p)
				}
				power = bigExt(power, extToBig(at))
			}
			got := extToBig(f.Sum())
			if got[0].Cmp(want[0]) != 0 || got[1].Cmp(want[1]) != 0 {
				t.Errorf("%d elements: %v, want %v", n, got, want)
			}
		}
	}
}

// TestSevenIsNoSquare checks that x^2 - 7 has no root, so that Ext is a field.
func TestSevenIsNoSquare(t *testing.T) {
	p := new(big.Int).SetUint64(Modulus)
	if big.Jacobi(big.NewInt(7), p) != -1 {
		t.Error("7 is a square modulo p")
	}
}

func BenchmarkFingerprint(b *testing.B) {
	v := make(Vector, 1<<16)
	for i := range v {
		v[i] = Element(uint64(i) * 0x9e3779b97f4a7c15 % Modulus)
	}
	b.SetBytes(int64(len(v) * ElementSize))
	for b.Loop() {
		NewFingerprint(Ext{3, 5}).Write(v)
	}
}
