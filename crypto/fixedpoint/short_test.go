package fixedpoint

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"choir/crypto/field"
)

// The forms of each pass: what the machine at hand uses, its fallback, and none, so that
// coordinates are taken one by one.
var packers = map[int]map[string]packer{
	2: {"fast": packTwos, "portable": packTwosGo, "one by one": packNothing},
	3: {"fast": packThrees, "portable": packThreesGo, "one by one": packNothing},
}

func packNothing([]byte, []int64) (n int, squares, moved uint64) { return }

var adders = map[int]map[string]func(dst, samples []int64, words []byte) int{
	2: {"fast": addTwos, "portable": addTwosGo},
	3: {"fast": addThrees, "portable": addThreesGo},
}

// packed is what v packs to, by another way: whether all of it fits, the bytes, the squares.
func packed(v []int64, width int) (b []byte, squares uint64, fits bool) {
	limit := int64(1) << (8*width - 1)
	fits = true
	for _, x := range v {
		fits = fits && x >= -limit && x < limit
		_, lo := bits.Mul64(magnitude(x), magnitude(x))
		squares += lo
		var word [8]byte
		binary.LittleEndian.PutUint64(word[:], uint64(x))
		b = append(b, word[:width]...)
	}
	return b, squares, fits
}

// checkShort packs v in every form and adds it to samples again, from every place that
// misalign allows, with bytes and words around that must stay as they are.
func checkShort(t testing.TB, v []int64, width, misalign int) {
	t.Helper()
	const guard = 0x5a
	want, squares, fits := packed(v, width)
	for name, f := range packers[width] {
		room := bytes.Repeat([]byte{guard}, misalign+len(want)+8+16)
		got, ok := packWith(f, room[misalign:][:len(want)+8], v, width)
		if ok != fits {
			t.Fatalf("%s: %d coordinates of %d bytes fit: %t", name, len(v), width, ok)
		}
		if ok && (got != squares || !bytes.Equal(room[misalign:][:len(want)], want)) {
			t.Fatalf("%s: %d coordinates of %d bytes: squares %d, want %d, or other bytes", name, len(v), width, got, squares)
		}
		if !bytes.Equal(room[:misalign], bytes.Repeat([]byte{guard}, misalign)) || !bytes.Equal(room[misalign+len(want)+8:], bytes.Repeat([]byte{guard}, 16)) {
			t.Fatalf("%s: %d coordinates of %d bytes: writes beside them", name, len(v), width)
		}
	}
	if !fits {
		return
	}
	for name, f := range adders[width] {
		for _, behind := range []int{0, 4, 5, 8} { // what may stand behind the last coordinate
			words := slices.Concat(make([]byte, misalign), want, bytes.Repeat([]byte{0xff}, behind))[misalign:]
			samples, dst := make([]int64, len(v)), slices.Repeat([]int64{guard}, misalign+len(v)+1)[misalign:]
			for i := range samples {
				samples[i] = int64(i*i) - 1<<40
			}
			n := f(dst[:len(v)], samples, words)
			if name == "fast" && behind >= 4 && len(v)-n >= 16 {
				t.Fatalf("%s: %d of %d coordinates are taken", name, n, len(v))
			}
			for i, x := range dst {
				if want := int64(guard); i >= n && x != want {
					t.Fatalf("%s: place %d is written to", name, i)
				} else if i < n && x != samples[i]+v[i] {
					t.Fatalf("%s: coordinate %d of %d bytes: %d and %d are %d", name, i, width, samples[i], v[i], x)
				}
			}
			if again := f(samples, samples, words); again != n || !slices.Equal(samples[:n], dst[:n]) {
				t.Fatalf("%s: in place %d are taken, not %d, or others", name, again, n)
			}
		}
	}
}

// TestShortAtEveryLengthAndAlignment: all that a width holds, and its ends.
func TestShortAtEveryLengthAndAlignment(t *testing.T) {
	r := rand.New(rand.NewChaCha8([32]byte{5}))
	for _, width := range []int{2, 3} {
		most := int64(1)<<(8*width-1) - 1
		ends := []int64{most, -most - 1, 0, -1, 1, most - 1, -most, 255, 256, -256, -257}
		for length := range 5*16 + 2 {
			for misalign := range 8 {
				v := make([]int64, length)
				for i := range v {
					if v[i] = r.Int64N(2*most+2) - most - 1; r.IntN(3) == 0 {
						v[i] = ends[r.IntN(len(ends))]
					}
				}
				checkShort(t, v, width, misalign)
			}
		}
	}
}

// TestWideIsNotShort: one coordinate that takes more, at each place of several blocks, is
// found; whatever its lower bytes are.
func TestWideIsNotShort(t *testing.T) {
	for _, width := range []int{2, 3} {
		most := int64(1)<<(8*width-1) - 1
		for place := range 3*16 + 5 {
			for _, wide := range []int64{most + 1, -most - 2, 1 << (8 * width), 1 << 31, 1 << 32, -1 << 32, 1<<32 + 1, math.MaxInt64, math.MinInt64} {
				v := make([]int64, 3*16+5)
				v[place] = wide
				checkShort(t, v, width, place%3)
			}
		}
	}
	for _, width := range []int{-1, 0, 1, 4, 8} {
		if _, ok := PackShort(make([]byte, 100), make([]int64, 2), width); ok || AddShort(make([]int64, 2), make([]int64, 2), make([]byte, 100), width) != 0 {
			t.Errorf("a width of %d is short", width)
		}
	}
	if _, ok := PackShort(make([]byte, 2*40+7), make([]int64, 40), 2); ok {
		t.Error("packed without room behind the last coordinate")
	}
	if _, ok := PackShort(make([]byte, 3*mostShort+11), make([]int64, mostShort+1), 3); ok {
		t.Error("more squares than a word has room for")
	}
}

// TestBits: one coordinate of each magnitude at each place of several blocks among zeros,
// small ones and negative ones, at both ends of what so many bits hold.
func TestBits(t *testing.T) {
	for length := range 2*16 + 6 {
		if Bits(make([]int64, length)) != 0 {
			t.Fatalf("%d zeros take bits", length)
		}
		for place := range length {
			for n := 1; n <= 64; n++ {
				most := int64(uint64(1)<<(n-1) - 1)
				for _, x := range []int64{most, -most - 1} {
					v := make([]int64, length)
					if v[length-1-place] = -1; n > 1 {
						v[length/2] = 1
					}
					if v[place] = x; n == 1 && x == 0 && length-1-place == place {
						continue // nothing but zeros
					}
					k, turned := turnsGo(v)
					if got := Bits(v); got != n || k > length || bits.Len64(turned) > n {
						t.Fatalf("%d at %d of %d takes %d bits, want %d", x, place, length, got, n)
					}
				}
			}
		}
	}
}

// TestPairToFieldIsPairAndToField, and refuses what Pair refuses, at every length and place.
func TestPairToFieldIsPairAndToField(t *testing.T) {
	r := rand.New(rand.NewChaCha8([32]byte{6}))
	ends := []int64{0, 1, -1, smallHalf - 1, smallHalf, -smallHalf, -smallHalf - 1, MaxPaired, -MaxPaired}
	out := []int64{MaxPaired + 1, -MaxPaired - 1, 1 << 32, -1 << 32, math.MaxInt64, math.MinInt64}
	refused := 0
	for length := range 5*16 + 3 {
		for turn := range 40 {
			v := make([]int64, length)
			for i := range v {
				switch v[i] = r.Int64N(2*smallHalf) - smallHalf; {
				case turn%4 == 1:
					v[i] = r.Int64N(2*MaxPaired+1) - MaxPaired
				case turn%4 == 2 && r.IntN(2) == 0:
					v[i] = ends[r.IntN(len(ends))]
				}
			}
			if turn%4 == 3 && length > 0 {
				v[r.IntN(length)] = out[r.IntN(len(out))]
			}
			checkPairs(t, v)
			if turn%4 == 3 && length > 0 {
				refused++
			}
		}
	}
	if refused < 100 {
		t.Errorf("%d refusals", refused)
	}
	if err := PairToField(make(field.Vector, 2), make([]int64, 5)); err == nil {
		t.Error("five coordinates in two pairs")
	}
}

func checkPairs(t testing.TB, v []int64) {
	t.Helper()
	ints, want := make([]int64, Paired(len(v))), make(field.Vector, Paired(len(v)))
	should := Pair(ints, v)
	if should == nil {
		should = ToField(want, ints)
	}
	room := slices.Repeat(field.Vector{99}, len(want)+5)
	err := PairToField(room[:len(want)], v)
	if (err == nil) != (should == nil) || err != nil && err.Error() != should.Error() {
		t.Fatalf("%v: %v, want %v", v, err, should)
	}
	if !slices.Equal(room[:len(want)], want) || slices.ContainsFunc(room[len(want):], func(e field.Element) bool { return e != 99 }) {
		t.Fatalf("%v: %v, want %v", v, room, want)
	}
	got := make(field.Vector, len(want))
	for form, f := range map[string]func(field.Vector, []int64) (int, uint64){
		"fast":     pairs,
		"portable": pairsGo,
	} {
		n, moved := f(got, v)
		if narrow := !slices.ContainsFunc(v[:2*n], func(x int64) bool { return x < -smallHalf || x >= smallHalf }); narrow != (moved < 2*smallHalf) || narrow && err == nil && !slices.Equal(got[:n], want[:n]) {
			t.Fatalf("%s: %d pairs of %v are %v, small: %t", form, n, v, got, !narrow)
		}
	}
}

// TestRoundNearIsRoundSmall, with the squares of what it gives, in every form; and what is
// beyond 2^27, or no number, it leaves to others, wherever that stands.
func TestRoundNearIsRoundSmall(t *testing.T) {
	r := rand.New(rand.NewChaCha8([32]byte{7}))
	const most = 1<<small - 1
	inside := []float64{0, math.Copysign(0, -1), 0.5, 1.5, -0.5, -2.5, most, -most - 1, most + 0.49, -most - 1.5, math.SmallestNonzeroFloat64, math.Nextafter(0.5, 1), math.Nextafter(0.5, 0)}
	outside := []float64{most + 0.5, most + 1, -most - 2, 1 << 31, -1 << 31, 1 << 32, exact, -exact, exact - 1, 1 << 52, -1 << 53, 3 << 51, -3 << 51, 1 << 62, math.MaxFloat64, -math.MaxFloat64, math.Inf(1), math.Inf(-1), math.NaN()}
	for length := range 5*16 + 2 {
		for _, scale := range []float64{1, 1 << 16} {
			x := make([]float64, length)
			for i := range x {
				if x[i] = math.Ldexp(r.Float64()-0.5, r.IntN(27)); r.IntN(3) == 0 {
					x[i] = inside[r.IntN(len(inside))]
				}
				x[i] /= scale
			}
			checkNear(t, x, scale, true)
			if length > 0 {
				for _, bad := range outside {
					x[r.IntN(length)] = bad / scale
					checkNear(t, x, scale, false)
				}
			}
		}
	}
}

func checkNear(t testing.TB, x []float64, scale float64, near bool) {
	t.Helper()
	want := make([]int64, len(x))
	if near && !roundSmall(want, x, scale) {
		t.Fatal("roundSmall doesn't round it")
	}
	squares := normSquared(want)[0]
	room := slices.Repeat([]int64{99}, len(x)+5)
	got, ok := roundNear(room[:len(x)], x, scale)
	if ok != near || near && (got != squares || !slices.Equal(room[:len(x)], want)) {
		t.Fatalf("%v times %v is near: %t, squares %d, want %d, or others", x, scale, ok, got, squares)
	}
	if slices.ContainsFunc(room[len(x):], func(x int64) bool { return x != 99 }) {
		t.Fatal("writes beside the result")
	}
	n, some, moved := roundSquaresGo(room[:len(x)], x, scale)
	if near && (moved >= 2<<small || some != normSquared(want[:n])[0] || !slices.Equal(room[:n], want[:n])) {
		t.Fatalf("portable: %d of %v times %v: others", n, x, scale)
	}
}

// TestFastFormTakesWholeBlocks makes sure that the tests above saw the vector instructions
// where the build has them: those take 32 of 40 coordinates, their fallback all.
func TestFastFormTakesWholeBlocks(t *testing.T) {
	const n = 40
	v, x, b := make([]int64, n), make([]float64, n), make([]byte, 8*n)
	taken := map[string]int{"add 2": addTwos(v, v, b), "add 3": addThrees(v, v, b)}
	taken["bits"], _ = turns(v)
	taken["pack 2"], _, _ = packTwos(b, v)
	taken["pack 3"], _, _ = packThrees(b, v)
	taken["round"], _, _ = roundSquares(v, x, 1)
	two, _ := pairs(make(field.Vector, n/2), v)
	taken["pair"] = 2 * two
	for what, n := range taken {
		if accelerated() && n != 32 || !accelerated() && n != 40 {
			t.Errorf("%s: %d are taken, accelerated: %t", what, n, accelerated())
		}
	}
	if unsafe.Sizeof(field.Element(0)) != 8 {
		t.Error("an element isn't a word")
	}
}

// FuzzShort: any coordinates, of which most fit.
func FuzzShort(f *testing.F) {
	f.Add([]byte{}, uint8(0))
	f.Add(bytes.Repeat([]byte{0xff, 0x7f, 0, 0x80}, 50), uint8(1))
	f.Add(bytes.Repeat([]byte{0xff, 0xff, 0x7f, 0, 0, 0x80}, 70), uint8(6))
	f.Add(slices.Concat(make([]byte, 160), []byte{0, 0, 0, 0x80, 0xff}, make([]byte, 100)), uint8(3))
	f.Fuzz(func(t *testing.T, b []byte, misalign uint8) {
		if len(b) > 1<<12 {
			return
		}
		for _, width := range []int{2, 3, 4} { // four: what is too wide
			var v []int64
			for rest := b; len(rest) >= width; rest = rest[width:] {
				var word [8]byte
				copy(word[:], rest[:width])
				v = append(v, int64(binary.LittleEndian.Uint64(word[:]))<<(64-8*width)>>(64-8*width))
			}
			checkShort(t, v, min(width, 3), int(misalign%16))
			checkPairs(t, v)
		}
	})
}

func BenchmarkShort(b *testing.B) {
	v, samples, x := make([]int64, 512), make([]int64, 512), make([]float64, 512)
	r := rand.New(rand.NewChaCha8([32]byte{8}))
	for i := range v {
		v[i], x[i] = r.Int64N(1<<15), r.Float64()
	}
	room, pairs512 := make([]byte, 3*512+8), make(field.Vector, 256)
	run := func(name string, f func()) {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				f()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/512, "ns/coordinate")
		})
	}
	for form, f := range packers[2] {
		run("pack 2, "+form, func() { packWith(f, room, v, 2) })
	}
	for form, f := range packers[3] {
		run("pack 3, "+form, func() { packWith(f, room, v, 3) })
	}
	for width := range adders {
		for form, f := range adders[width] {
			run("add, "+form, func() { f(samples, samples, room) })
		}
	}
	run("pair, fast", func() { pairs(pairs512, v) })
	run("pair, portable", func() { pairsGo(pairs512, v) })
	run("round, fast", func() { roundSquares(v, x, 1024) })
	run("round, portable", func() { roundSquaresGo(v, x, 1024) })
}
