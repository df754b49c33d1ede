package msm

import (
	"math/big"
	"math/rand/v2"
	"testing"

	"filippo.io/edwards25519"
	"filippo.io/edwards25519/field"
	"pgregory.net/rapid"
)

// TestConstants computes d = -121665/121666 and a root of -1.
func TestConstants(t *testing.T) {
	var one, d, root field.Element
	one.One()
	d.Mult32(&one, 121666)
	d.Invert(&d)
	d.Mult32(&d, 121665)
	d.Negate(&d)
	c := newCurve()
	if c.d.Equal(&d) != 1 || c.twoD.Equal(d.Add(&d, &d)) != 1 {
		t.Error("d is another constant")
	}
	if root.Square(&c.sqrtM1); root.Equal(new(field.Element).Negate(&one)) != 1 || c.sqrtM1.IsNegative() != 0 {
		t.Error("the root of -1 is none, or the other")
	}
}

// decodesLikeTheLibrary compares Decode with SetBytes for encodings in one call, so that
// they stand in all lanes, and reports how many are points.
func decodesLikeTheLibrary(t interface {
	Helper()
	Fatalf(format string, args ...any)
}, encodings [][32]byte) (points int) {
	t.Helper()
	got := make([]Point, len(encodings))
	ok := Decode(got, encodings)
	c := newCurve()
	for i, b := range encodings {
		want, err := new(edwards25519.Point).SetBytes(b[:])
		if ok[i] != (err == nil) {
			t.Fatalf("%x: decodes: %t, the library says %v", b, ok[i], err)
		}
		if err != nil {
			continue
		}
		points++
		var p Point
		c.set(&p, want)
		is, should := got[i].addend(), p.addend()
		if is.plus.Equal(&should.plus)&is.minus.Equal(&should.minus)&is.product.Equal(&should.product) != 1 {
			t.Fatalf("%x: another point", b)
		}
		if n := got[i].negated.Element(); n.Equal(new(field.Element).Negate(&should.product)) != 1 {
			t.Fatalf("%x: 2dxy is negated to something else", b)
		}
		if back, err := got[i].Edwards(); err != nil || back.Equal(want) != 1 {
			t.Fatalf("%x: another point afterwards, %v", b, err)
		}
	}
	return points
}

// TestDecodeIsTheLibrarys: points, no points, those of small order, y around 0, 1, p and
// 2^255 with both signs, in batches of each length.
func TestDecodeIsTheLibrarys(t *testing.T) {
	r := rand.NewChaCha8([32]byte{20})
	var all [][32]byte
	for sign := range uint(2) {
		for y := int64(-25); y <= 25; y++ {
			for _, around := range []*big.Int{big.NewInt(25), prime(), new(big.Int).Lsh(big.NewInt(1), 254)} {
				n := new(big.Int).Add(around, big.NewInt(y))
				n.SetBit(n, 255, sign) // what reaches 2^255 loses nothing but its sign
				all = append(all, encoding(n))
			}
		}
	}
	for i := range 14 {
		all = append(all, [32]byte(point(t, r, i).Bytes()))
	}
	r2 := rand.New(r)
	for range 600 {
		var b [32]byte
		r.Read(b[:])
		all = append(all, b)
	}
	r2.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	if n := decodesLikeTheLibrary(t, all); n < len(all)/3 || n > 2*len(all)/3 {
		t.Errorf("%d of %d are points", n, len(all))
	}
	for n := range 40 {
		decodesLikeTheLibrary(t, all[7*n:8*n])
	}
}

func prime() *big.Int {
	return new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 255), big.NewInt(19))
}

// encoding is n modulo 2^256, little endian.
func encoding(n *big.Int) (b [32]byte) {
	for i := range b {
		b[i] = byte(new(big.Int).Rsh(n, uint(8*i)).Uint64())
	}
	return b
}

func TestDecodeRapid(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		encodings := make([][32]byte, rapid.IntRange(1, 2*decodeFrom).Draw(t, "n"))
		for i := range encodings {
			encodings[i] = [32]byte(rapid.SliceOfN(rapid.Byte(), 32, 32).Draw(t, "encoding"))
		}
		decodesLikeTheLibrary(t, encodings)
	})
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte{1}, uint8(3))
	b := encoding(prime())
	f.Add(b[:], uint8(8))
	f.Add(edwards25519.NewGeneratorPoint().Bytes(), uint8(0))
	f.Fuzz(func(t *testing.T, data []byte, lane uint8) {
		// Others stand beside it: a point, no point, and the next y.
		encodings := make([][32]byte, decodeFrom)
		for i := range encodings {
			encodings[i] = [32]byte{byte(i)}
		}
		copy(encodings[lane%decodeFrom][:], data)
		decodesLikeTheLibrary(t, encodings)
	})
}
