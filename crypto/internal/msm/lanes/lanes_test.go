package lanes

import (
	"encoding/binary"
	"math/big"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

// A kind says how long limbs may be: times as long as tight ones.
const (
	tight = 1
	twice = 2
	loose = 3
	wide  = 4
)

// longest returns the largest limb k of a kind.
func longest(k, kind int) uint64 {
	if k%2 == 0 {
		return uint64(kind)<<26 - 1
	}
	return uint64(kind) * (1<<25 + 1<<12)
}

// draw makes eight elements of a kind: each limb 0, 1, the largest of a tight element or
// of the kind, one less or one more than a power of two, or any.
func draw(r *rand.Rand, kind int) *Elements {
	e := new(Elements)
	for i := range e {
		for l := range Width {
			e[i][l] = drawLimb(r, 2*i, kind) | drawLimb(r, 2*i+1, kind)<<32
		}
	}
	return e
}

func drawLimb(r *rand.Rand, k, kind int) uint64 {
	top := longest(k, kind)
	switch r.IntN(8) {
	case 0:
		return 0
	case 1:
		return r.Uint64N(2)
	case 2, 3:
		return top - r.Uint64N(2)
	case 4:
		return longest(k, tight)
	case 5:
		return min(top, 1<<r.IntN(29)+r.Uint64N(3)-1)
	}
	return r.Uint64N(top + 1)
}

// special are elements at which a reduction turns, as 255 bits.
func special() (all []*big.Int) {
	p := prime()
	for d := int64(-3); d <= 19; d++ {
		all = append(all, new(big.Int).Mod(new(big.Int).Add(p, big.NewInt(d)), new(big.Int).Lsh(big.NewInt(1), 255)))
	}
	for k := range uint(255) {
		all = append(all, new(big.Int).Lsh(big.NewInt(1), k), new(big.Int).Sub(p, new(big.Int).Lsh(big.NewInt(1), k)))
	}
	return all
}

func prime() *big.Int {
	return new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 255), big.NewInt(19))
}

// value is the integer that the limbs of one lane stand for, by the contract.
func value(e *Elements, l int) *big.Int {
	sum := new(big.Int)
	for i := range e {
		even, odd := new(big.Int).SetUint64(e[i][l]&(1<<32-1)), new(big.Int).SetUint64(e[i][l]>>32)
		sum.Add(sum, even.Lsh(even, uint(51*i)))
		sum.Add(sum, odd.Lsh(odd, uint(51*i+26)))
	}
	return sum
}

func isTight(e *Elements) bool { return within(e, tight) }

// within reports whether all limbs are those of a kind.
func within(e *Elements, kind int) bool {
	for i := range e {
		for l := range Width {
			if e[i][l]&(1<<32-1) > longest(2*i, kind) || e[i][l]>>32 > longest(2*i+1, kind) {
				return false
			}
		}
	}
	return true
}

// operation is one operation in the form under test, and in Go.
type operation struct {
	name         string
	f, g         int // the kinds it takes
	result       int // the kind it promises
	fast, inGo   func(out, f, g *Elements)
	mathematical func(f, g *big.Int) *big.Int
}

func operations() []operation {
	product := func(f, g *big.Int) *big.Int { return new(big.Int).Mul(f, g) }
	difference := func(f, g *big.Int) *big.Int { return new(big.Int).Sub(f, g) }
	power := func(n uint) func(f, _ *big.Int) *big.Int {
		return func(f, _ *big.Int) *big.Int {
			return new(big.Int).Exp(f, new(big.Int).Lsh(big.NewInt(1), n), prime())
		}
	}
	squares := func(n int) (fast, inGo func(out, f, _ *Elements)) {
		return func(out, f, _ *Elements) { Square(out, f, n) }, func(out, f, _ *Elements) { squareGo(out, f, n) }
	}
	s1, g1 := squares(1)
	s5, g5 := squares(5)
	return []operation{
		{"multiply", wide, loose, tight, Multiply, multiplyGo, product},
		{"square", loose, tight, tight, s1, g1, power(1)},
		{"square five times", loose, tight, tight, s5, g5, power(5)},
		{"add", tight, tight, twice, Add, addGo, func(f, g *big.Int) *big.Int { return new(big.Int).Add(f, g) }},
		{"subtract", tight, tight, loose, Subtract, subtractGo, difference},
		{"subtract from a sum", twice, tight, wide, Subtract, subtractGo, difference},
	}
}

// check runs one operation on eight pairs: the value of each lane modulo p by math/big,
// the kind that is promised, and the limbs that Go has.
func (o *operation) check(t fataler, f, g *Elements) {
	t.Helper()
	var got, want Elements
	o.fast(&got, f, g)
	o.inGo(&want, f, g)
	if got != want {
		t.Fatalf("%s: other limbs than in Go: %x, want %x, for %x and %x", o.name, got, want, *f, *g)
	}
	if !within(&got, o.result) {
		t.Fatalf("%s: limbs too long: %x for %x and %x", o.name, got, *f, *g)
	}
	p := prime()
	for l := range Width {
		want := o.mathematical(value(f, l), value(g, l))
		want.Mod(want, p)
		if is := value(&got, l); is.Mod(is, p).Cmp(want) != 0 {
			t.Fatalf("%s: lane %d is %x, want %x", o.name, l, is, want)
		}
	}
	f2, g2 := *f, *g // in place
	o.fast(&f2, &f2, g)
	o.fast(&g2, f, &g2)
	if f2 != got || g2 != got {
		t.Fatalf("%s: in place it gives something else", o.name)
	}
}

type fataler interface {
	Helper()
	Fatalf(format string, args ...any)
}

// TestOperations draws limbs at and between their bounds.
func TestOperations(t *testing.T) {
	r := rand.New(rand.NewChaCha8([32]byte{1}))
	turns := 2500 // of eight lanes
	if testing.Short() {
		turns = 300
	}
	for _, o := range operations() {
		for range turns {
			o.check(t, draw(r, o.f), draw(r, o.g))
		}
	}
}

// TestLongestLimbs has every limb at its bound, all at once and each by itself: the sums
// that come nearest to an overflow.
func TestLongestLimbs(t *testing.T) {
	limb := func(k, kind int) (p Packed) {
		p[k/2] = longest(k, kind) << (32 * (k % 2))
		return p
	}
	all := func(kind int) (p Packed) {
		for k := range 10 {
			p[k/2] += limb(k, kind)[k/2]
		}
		return p
	}
	for _, o := range operations() {
		var f, g Elements
		af, ag := all(o.f), all(o.g)
		f.Broadcast(&af)
		g.Broadcast(&ag)
		o.check(t, &f, &g)
		for i := range 10 {
			for j := range 10 {
				pf, pg := limb(i, o.f), limb(j, o.g)
				f.SetLane((i+j)%Width, &pf)
				g.SetLane((i+j)%Width, &pg)
				o.check(t, &f, &g)
			}
		}
	}
}

// TestSpecialElements are 0, 1, p and what is around them, powers of two and their
// negatives, each with each other in the end.
func TestSpecialElements(t *testing.T) {
	all := special()
	pack := func(n *big.Int) Packed {
		var b [32]byte
		n.FillBytes(b[:])
		for i := range 16 {
			b[i], b[31-i] = b[31-i], b[i]
		}
		return Pack(&b)
	}
	step := 1
	if testing.Short() {
		step = 37
	}
	ops := operations()
	for i := range all {
		for j := i % step; j < len(all); j += step * Width {
			var f, g Elements
			pf := pack(all[i])
			f.Broadcast(&pf)
			for l := range Width {
				pg := pack(all[(j+l*step)%len(all)])
				g.SetLane(l, &pg)
			}
			ops[(i+j)%len(ops)].check(t, &f, &g)
		}
	}
}

// TestLanesAreAlone: what stands in one lane changes nothing in another.
func TestLanesAreAlone(t *testing.T) {
	r := rand.New(rand.NewChaCha8([32]byte{2}))
	for _, o := range operations() {
		for turn := range 100 {
			l := turn % Width
			f, g := draw(r, o.f), draw(r, o.g)
			f2, g2 := draw(r, o.f), draw(r, o.g)
			for i := range f {
				f2[i][l], g2[i][l] = f[i][l], g[i][l]
			}
			var a, b Elements
			o.fast(&a, f, g)
			o.fast(&b, f2, g2)
			for i := range a {
				if a[i][l] != b[i][l] {
					t.Fatalf("%s: lane %d depends on its neighbours", o.name, l)
				}
			}
		}
	}
}

// TestOperationsRapid is TestOperations with what rapid draws and shrinks.
func TestOperationsRapid(t *testing.T) {
	ops := operations()
	elements := func(t *rapid.T, kind int, label string) *Elements {
		e := new(Elements)
		for i := range e {
			for l := range Width {
				e[i][l] = rapid.Uint64Range(0, longest(2*i, kind)).Draw(t, label) |
					rapid.Uint64Range(0, longest(2*i+1, kind)).Draw(t, label)<<32
			}
		}
		return e
	}
	rapid.Check(t, func(t *rapid.T) {
		o := ops[rapid.IntRange(0, len(ops)-1).Draw(t, "operation")]
		o.check(t, elements(t, o.f, "f"), elements(t, o.g, "g"))
	})
}

// FuzzOperations reads limbs of the longest kind that an operation takes.
func FuzzOperations(f *testing.F) {
	f.Add(uint8(0), []byte{0xff, 0xff, 0xff, 0x0f, 0xff, 0xff, 0xff, 0x07})
	f.Add(uint8(1), []byte{0xff, 0xff, 0xff, 0x0b, 0xff, 0xff, 0xff, 0x05})
	f.Add(uint8(5), []byte{0xed, 0xff, 0xff, 0x03, 0xff, 0xff, 0xff, 0x01})
	f.Fuzz(func(t *testing.T, which uint8, data []byte) {
		ops := operations()
		o := ops[int(which)%len(ops)]
		read := func(kind int) *Elements {
			e := new(Elements)
			for i := range e {
				for l := range Width {
					for half := range 2 {
						var b [4]byte
						data = data[copy(b[:], data):]
						e[i][l] |= uint64(binary.LittleEndian.Uint32(b[:])) % (longest(2*i+half, kind) + 1) << (32 * half)
					}
				}
			}
			return e
		}
		o.check(t, read(o.f), read(o.g))
	})
}
