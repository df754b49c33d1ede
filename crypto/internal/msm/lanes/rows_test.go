package lanes

import (
	"math/big"
	"math/rand/v2"
	"testing"

	"filippo.io/edwards25519/field"
)

// TestElements: Pack and Lane are the library's Bytes and SetBytes, with limbs as long as
// words allow too.
func TestElements(t *testing.T) {
	r := rand.New(rand.NewChaCha8([32]byte{3}))
	p := prime()
	for i := range 5000 {
		var e Elements
		for w := range e {
			for l := range Width {
				e[w][l] = r.Uint64()
				switch i % 4 {
				case 1:
					e[w][l] = 1<<64 - 1 - r.Uint64N(2)
				case 2:
					e[w][l] = low26 | (1<<25-1)<<32 // 2^255 - 1, and some more than that
				}
			}
		}
		if i%4 == 2 {
			e[0][i%Width] += r.Uint64N(64)
		}
		for l := range Width {
			got := new(big.Int).SetBytes(reversed(laneBytes(&e, l)))
			want := value(&e, l)
			if got.Cmp(want.Mod(want, p)) != 0 {
				t.Fatalf("lane %d of %x is %x, want %x", l, e, got, want)
			}
			d := e.Digits(l)
			if digits := value51(&d); digits.Cmp(want) != 0 || d.Odd() != (want.Bit(0) == 1) {
				t.Fatalf("lane %d of %x has digits %x, want %x", l, e, d, want)
			}
		}
	}
	for _, n := range special() {
		b := [32]byte(reversed(n.FillBytes(make([]byte, 32))))
		packed := Pack(&b)
		var e Elements
		e.Broadcast(&packed)
		if !isTight(&e) || value(&e, 3).Cmp(n) != 0 {
			t.Errorf("packing %x: %x", n, packed)
		}
		v, err := new(field.Element).SetBytes(b[:])
		if err != nil {
			t.Fatal(err)
		}
		canonical := PackElement(v)
		if d := packed.Digits(); d != canonical.Digits() || value51(&d).Cmp(new(big.Int).Mod(n, p)) != 0 {
			t.Errorf("digits of %x: %x", n, d)
		}
		is, too := packed.Element(), canonical.Element()
		if v.Equal(&is) != 1 || v.Equal(&too) != 1 {
			t.Errorf("unpacking %x: another element", n)
		}
	}
}

func value51(d *Digits) *big.Int {
	sum := new(big.Int)
	for i := Words - 1; i >= 0; i-- {
		sum.Lsh(sum, 51).Add(sum, new(big.Int).SetUint64(d[i]))
	}
	return sum
}

func laneBytes(e *Elements, l int) []byte {
	v := e.Lane(l)
	return v.Bytes()
}

func reversed(b []byte) []byte {
	for i := range len(b) / 2 {
		b[i], b[len(b)-1-i] = b[len(b)-1-i], b[i]
	}
	return b
}

// TestChoose: every mask.
func TestChoose(t *testing.T) {
	r := rand.New(rand.NewChaCha8([32]byte{4}))
	for mask := range 256 {
		var p, q Packed
		for i := range p {
			p[i], q[i] = r.Uint64(), r.Uint64()
		}
		var got Elements
		Choose(&got, &p, &q, uint8(mask))
		for i := range got {
			for l := range Width {
				want := p[i]
				if mask>>l&1 == 1 {
					want = q[i]
				}
				if got[i][l] != want {
					t.Fatalf("mask %08b: lane %d, word %d is %x, want %x", mask, l, i, got[i][l], want)
				}
			}
		}
	}
}

// TestLoadAndStore: each word of each lane is where it belongs, and the other rows stay
// as they are.
func TestLoadAndStore(t *testing.T) {
	r := rand.New(rand.NewChaCha8([32]byte{5}))
	const places = 256
	table := make([]Row, places*Width)
	for i := range table {
		for w := range table[i] {
			table[i][w] = uint64(i)<<8 | uint64(w)
		}
	}
	for turn := range 600 {
		var at [Width]uint8
		for l := range at {
			at[l] = uint8(r.UintN(places))
		}
		if turn < places {
			at[turn%Width] = uint8(turn)
		}
		var got, in Rows
		Load(&got, table, &at)
		for w := range got {
			for l := range Width {
				if want := uint64(Width*int(at[l])+l)<<8 | uint64(w); got[w][l] != want {
					t.Fatalf("lane %d, word %d is %x, want %x", l, w, got[w][l], want)
				}
				in[w][l] = r.Uint64()
			}
		}
		Store(table, &in, &at)
		for i := range table {
			l := i % Width
			stored := int(at[l]) == i/Width
			for w := range table[i] {
				want := uint64(i)<<8 | uint64(w)
				if stored {
					want = in[w][l]
				}
				if table[i][w] != want {
					t.Fatalf("row %d, word %d is %x, want %x", i, w, table[i][w], want)
				}
			}
		}
		Store(table, &got, &at) // as it was
	}
}

// TestOutsideTheTable: a row that the table doesn't have stops the program, as an index
// does, before anything is read or written.
func TestOutsideTheTable(t *testing.T) {
	table := make([]Row, 5*Width)
	for l := range Width {
		for name, f := range map[string]func(r *Rows, at *[Width]uint8){
			"load":  func(r *Rows, at *[Width]uint8) { Load(r, table, at) },
			"store": func(r *Rows, at *[Width]uint8) { Store(table, r, at) },
		} {
			var at [Width]uint8
			at[l] = 4
			f(new(Rows), &at)
			at[l] = 5
			if !stops(func() { f(new(Rows), &at) }) {
				t.Errorf("%s: lane %d reaches beyond the table", name, l)
			}
		}
	}
}

func stops(f func()) (yes bool) {
	defer func() { yes = recover() != nil }()
	f()
	return false
}

func BenchmarkOperations(b *testing.B) {
	r := rand.New(rand.NewChaCha8([32]byte{6}))
	table, at := make([]Row, 129*Width), [Width]uint8{1, 2, 3, 4, 5, 6, 7, 128}
	rows := new(Rows)
	f, g, out := rows.Pick(0), rows.Pick(1), rows.Pick(2)
	*f, *g = *draw(r, loose), *draw(r, tight)
	p := Packed{}
	for _, o := range []struct {
		name string
		run  func()
	}{
		{"multiply", func() { Multiply(out, f, g) }},
		{"square100", func() { Square(out, f, 100) }},
		{"add", func() { Add(out, f, g) }},
		{"subtract", func() { Subtract(out, f, g) }},
		{"choose", func() { Choose(out, &p, &p, 3) }},
		{"load", func() { Load(rows, table, &at) }},
		{"store", func() { Store(table, rows, &at) }},
	} {
		b.Run(o.name, func(b *testing.B) {
			for b.Loop() {
				o.run()
			}
		})
	}
	b.Run("library-multiply", func(b *testing.B) {
		x, y := f.Lane(0), g.Lane(1)
		for b.Loop() {
			x.Multiply(&x, &y)
		}
	})
	b.Run("library-square", func(b *testing.B) {
		x := f.Lane(0)
		for b.Loop() {
			x.Square(&x)
		}
	})
}
