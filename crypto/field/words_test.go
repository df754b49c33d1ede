package field

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"pgregory.net/rapid"
)

// operation is one of the three operations in every form: fast is the form that this processor
// uses, portable the Go form. Both are compared with one, which element_test.go compares with
// math/big.
type operation struct {
	name           string
	public         func(v Vector, src []byte) int
	fast, portable blocks
	one            func(have, next Element) Element
}

var operations = []operation{
	{"set", Vector.SetWords, setBlocks, setFours, setOne},
	{"add", Vector.AddWords, addBlocks, addFours, Add},
	{"sub", Vector.SubWords, subBlocks, subFours, Sub},
}

// want returns the result of an operation on v and src.
func (o operation) want(v Vector, src []byte) (Vector, int) {
	v = slices.Clone(v)
	for n := range v {
		if len(src) < ElementSize {
			return v, n
		}
		e, ok := New(binary.LittleEndian.Uint64(src))
		if !ok {
			return v, n
		}
		v[n], src = o.one(v[n], e), src[ElementSize:]
	}
	return v, len(v)
}

// checkWords compares every form of every operation with the reference. It copies v and src
// into larger buffers, misalign words and bytes from the start, and checks that the words around
// v are unchanged.
func checkWords(t interface {
	Helper()
	Fatalf(string, ...any)
}, v Vector, src []byte, misalign int) {
	t.Helper()
	const guard = 0x5a5a5a5a5a5a5a5a
	buffer := slices.Concat(make([]byte, misalign), src, make([]byte, 64))
	words := buffer[misalign:][:len(src):len(src)]
	for _, o := range operations {
		want, n := o.want(v, src)
		forms := map[string]func(Vector, []byte) int{
			"public": o.public,
			"fast":   func(v Vector, src []byte) int { return combine(v, src, o.fast, o.one) },
			"portable": func(v Vector, src []byte) int {
				return combine(v, src, o.portable, o.one)
			},
			"without blocks": func(v Vector, src []byte) int {
				return combine(v, src, func(Vector, []byte) int { return 0 }, o.one)
			},
		}
		for form, f := range forms {
			room := slices.Concat(slices.Repeat(Vector{guard}, misalign), v, slices.Repeat(Vector{guard}, block))
			got := f(room[misalign:][:len(v):len(v)], words)
			if got != n || !room[misalign:][:len(v)].Equal(want) {
				t.Fatalf("%s, %s: %d of %d words combined, want %d\ngot  %x\nwant %x",
					o.name, form, got, len(src)/8, n, room[misalign:][:len(v)], want)
			}
			for i, e := range room {
				if (i < misalign || i >= misalign+len(v)) && e != guard {
					t.Fatalf("%s, %s: wrote to index %d of a vector of %d", o.name, form, i-misalign, len(v))
				}
			}
		}
	}
	whole := src[:len(src)/ElementSize*ElementSize]
	if got, want := canonical(whole), firstNonCanonical(whole) < 0; got != want {
		t.Fatalf("canonical is %v for %x", got, whole)
	}
}

// near draws words around every value at which a sum, a difference or the test for an element
// changes its branch.
func near(r *rand.Rand) uint64 {
	edges := []uint64{0, 1 << 31, epsilon, 1 << 63, uint64(MaxSigned), Modulus, 1 << 32}
	if r.IntN(4) == 0 {
		return r.Uint64()
	}
	return edges[r.IntN(len(edges))] + uint64(r.IntN(5)) - 2
}

// TestWordsAtEveryLengthAndAlignment uses elements only, so that every word is combined.
func TestWordsAtEveryLengthAndAlignment(t *testing.T) {
	r := rand.New(rand.NewChaCha8([32]byte{1}))
	element := func() uint64 {
		for {
			if w := near(r); w < Modulus {
				return w
			}
		}
	}
	for length := range 5*block + 2 {
		for misalign := range 8 {
			v, src := make(Vector, length), []byte{}
			for i := range v {
				v[i] = Element(element())
				src = binary.LittleEndian.AppendUint64(src, element())
			}
			checkWords(t, v, src, misalign)
			fewer := src[:max(0, len(src)-misalign)] // fewer words than elements, and a partial word
			checkWords(t, v, fewer, misalign)
			checkWords(t, v[:max(0, len(v)-misalign)], src, misalign)
		}
	}
}

// TestWordsStopAtTheFirstThatIsNoElement tries every position of several blocks.
func TestWordsStopAtTheFirstThatIsNoElement(t *testing.T) {
	r := rand.New(rand.NewChaCha8([32]byte{2}))
	for _, bad := range []uint64{Modulus, Modulus + 1, 1<<64 - 1, 1<<64 - epsilon/2} {
		for place := range 3*block + 3 {
			v, src := make(Vector, 3*block+3), []byte{}
			for i := range v {
				v[i] = Element(r.Uint64N(Modulus))
				w := r.Uint64N(Modulus)
				if i == place || i > place && r.IntN(3) == 0 {
					w = bad
				}
				src = binary.LittleEndian.AppendUint64(src, w)
			}
			checkWords(t, v, src, place%3)
		}
	}
}

// FuzzWords combines arbitrary elements with arbitrary bytes.
func FuzzWords(f *testing.F) {
	f.Add([]byte{}, []byte{}, uint8(0))
	f.Add(make([]byte, 300), make([]byte, 297), uint8(1))
	largest := []byte{0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff} // p - 1
	one := []byte{1, 0, 0, 0, 0, 0, 0, 0}
	f.Add(slices.Repeat([]byte{0xff}, 256), slices.Repeat(largest, 33), uint8(3))
	f.Add(slices.Repeat(largest, 40), slices.Repeat(one, 40), uint8(7))
	f.Fuzz(func(t *testing.T, have, src []byte, misalign uint8) {
		if len(have) > 1<<13 || len(src) > 1<<13 {
			return
		}
		v := make(Vector, len(have)/ElementSize)
		for i := range v {
			v[i] = reduce(binary.LittleEndian.Uint64(have[i*ElementSize:]))
		}
		checkWords(t, v, src, int(misalign%16))
	})
}

// TestVectorOperationsAreTheElements tries lengths around whole blocks.
func TestVectorOperationsAreTheElements(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 4*block+1).Draw(t, "n")
		many := rapid.SliceOfN(elements(), n, n)
		a, b := Vector(many.Draw(t, "a")), Vector(many.Draw(t, "b"))
		sum, difference := slices.Clone(a), slices.Clone(a)
		sum.Add(b)
		difference.Sub(b)
		for i := range a {
			if sum[i] != Add(a[i], b[i]) || difference[i] != Sub(a[i], b[i]) {
				t.Fatalf("index %d of %d: %d and %d give %d and %d",
					i, n, a[i], b[i], sum[i], difference[i])
			}
		}
		twice := slices.Clone(a)
		twice.Add(twice)
		for i := range a {
			if twice[i] != Add(a[i], a[i]) {
				t.Fatal("a vector added to itself")
			}
		}
		encoded := make([]byte, n*ElementSize)
		PutVector(encoded, a)
		for i := range a {
			if binary.LittleEndian.Uint64(encoded[i*ElementSize:]) != uint64(a[i]) {
				t.Fatal("not little endian")
			}
		}
	})
}

// TestFastFormCombinesWholeBlocks checks that the tests above exercised the vector instructions
// where the build has them.
func TestFastFormCombinesWholeBlocks(t *testing.T) {
	v, src := make(Vector, 2*block+5), make([]byte, (2*block+5)*ElementSize)
	if n := addBlocks(v, src); accelerated() != (n == 2*block) {
		t.Errorf("%d words combined, accelerated: %v", n, accelerated())
	}
	if unsafe.Sizeof(v[0]) != ElementSize {
		t.Error("an element is not a word")
	}
}

func BenchmarkWords(b *testing.B) {
	v, src := make(Vector, 512), make([]byte, 4096)
	for i := range src {
		src[i] = byte(i * 37)
	}
	for _, o := range operations {
		for form, f := range map[string]blocks{"fast": o.fast, "portable": o.portable} {
			b.Run(o.name+", "+form, func(b *testing.B) {
				b.SetBytes(int64(len(src)))
				for b.Loop() {
					if f(v, src) != len(v) {
						b.Fatal("not all words combined")
					}
				}
			})
		}
	}
}
