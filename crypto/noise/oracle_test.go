package noise

import (
	"encoding/binary"
	"io"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// oracle is the paper's Algorithms 1 to 3 in arithmetic without limits, as dumb as
// can be. It reads the same words in the same order as the sampler, so that both must
// return the same samples from the same bytes.
type oracle struct {
	t    interface{ Fatal(...any) }
	r    io.Reader
	s2   *big.Rat
	t2   *big.Int // t, floor(sqrt(s2)) + 1
	word int      // words read
}

func newOracle(t interface{ Fatal(...any) }, v variance, r io.Reader) *oracle {
	s2 := v.rat()
	scale := new(big.Int).Div(s2.Num(), s2.Denom())
	scale.Sqrt(scale)
	return &oracle{t: t, r: r, s2: s2, t2: scale.Add(scale, big.NewInt(1))}
}

// rat returns s^2.
func (v variance) rat() *big.Rat {
	return new(big.Rat).SetFrac(new(big.Int).SetUint64(v.num), new(big.Int).SetUint64(v.den))
}

func (o *oracle) next() *big.Int {
	var raw [8]byte
	if _, err := io.ReadFull(o.r, raw[:]); err != nil {
		o.t.Fatal("oracle ran out of bytes: ", err)
	}
	o.word++
	return new(big.Int).SetUint64(binary.LittleEndian.Uint64(raw[:]))
}

// bernoulli returns true with probability p, 0 <= p <= 1, which it spells out in
// words until a random word differs.
func (o *oracle) bernoulli(p *big.Rat) bool {
	if p.Cmp(big.NewRat(1, 1)) == 0 {
		return true
	}
	for {
		shifted := new(big.Int).Lsh(p.Num(), 64)
		digit, rest := new(big.Int).DivMod(shifted, p.Denom(), new(big.Int))
		if w := o.next(); w.Cmp(digit) != 0 {
			return w.Cmp(digit) < 0
		}
		if rest.Sign() == 0 {
			return false
		}
		p = new(big.Rat).SetFrac(rest, p.Denom())
	}
}

// exp is Algorithm 1 for any gamma: once for each whole one in it, then for the rest.
func (o *oracle) exp(gamma *big.Rat) bool {
	one := big.NewRat(1, 1)
	for gamma.Cmp(one) >= 0 {
		if !o.expUpToOne(one) {
			return false
		}
		gamma = new(big.Rat).Sub(gamma, one)
	}
	return o.expUpToOne(gamma)
}

// expUpToOne is Algorithm 1 for gamma in [0, 1].
func (o *oracle) expUpToOne(gamma *big.Rat) bool {
	k := int64(1)
	for o.bernoulli(new(big.Rat).Quo(gamma, big.NewRat(k, 1))) {
		k++
	}
	return k%2 == 1
}

func (o *oracle) uniform(n *big.Int) *big.Int {
	two64 := new(big.Int).Lsh(big.NewInt(1), 64)
	for {
		product := new(big.Int).Mul(o.next(), n)
		hi, lo := new(big.Int).DivMod(product, two64, new(big.Int))
		if lo.Cmp(new(big.Int).Mod(two64, n)) >= 0 {
			return hi
		}
	}
}

// laplace is Algorithm 2.
func (o *oracle) laplace() *big.Int {
	for {
		u := o.uniform(o.t2)
		if !o.exp(new(big.Rat).SetFrac(u, o.t2)) {
			continue
		}
		v := int64(0)
		for o.expUpToOne(big.NewRat(1, 1)) {
			v++
		}
		y := new(big.Int).Mul(big.NewInt(v), o.t2)
		y.Add(y, u)
		if negative := o.next().Bit(0) == 1; !negative {
			return y
		} else if y.Sign() != 0 {
			return y.Neg(y)
		}
	}
}

// sample is Algorithm 3.
func (o *oracle) sample() int64 {
	for {
		y := o.laplace()
		off := new(big.Rat).SetInt(new(big.Int).Abs(y))
		off.Sub(off, new(big.Rat).Quo(o.s2, new(big.Rat).SetInt(o.t2)))
		off.Mul(off, off)
		off.Quo(off, new(big.Rat).Add(o.s2, o.s2))
		if o.exp(off) {
			return y.Int64()
		}
	}
}

// integerVariances are small ones, large ones, and neighbours of squares, where t changes.
var integerVariances = []uint64{1, 2, 3, 4, 5, 8, 9, 100, 1 << 20, 1<<20 - 1, 1<<32 - 1, 1<<40 + 12345,
	1 << 46, 1<<60 + 7, maxVariance - 1, maxVariance}

func seeded(seed byte) *rand.ChaCha8 { return rand.NewChaCha8([32]byte{seed}) }

// rationalVariances are small ones, neighbours of squares, and the extremes.
var rationalVariances = []variance{
	{9, 100}, {1, 4}, {49, 100}, {9, 4}, {1, 1 << minShift}, {1 << 30, maxVariance - 1},
	{maxVariance - 1, maxVariance}, {maxVariance, maxVariance - 1}, {maxVariance, 3},
	{1<<61 + 1, 1 << 31}, {1<<40 + 1, 1 << 20},
}

// testVariances are all of them.
func testVariances() []variance {
	var all []variance
	for _, v := range integerVariances {
		all = append(all, integer(v))
	}
	return append(all, rationalVariances...)
}

func integer(v uint64) variance { return variance{num: v, den: 1} }

// anyVariance draws one of those, or any.
func anyVariance(t *rapid.T) variance {
	switch rapid.IntRange(0, 2).Draw(t, "kind") {
	case 0:
		return rapid.SampledFrom(testVariances()).Draw(t, "variance")
	case 1:
		return integer(rapid.Uint64Range(1, maxVariance).Draw(t, "variance"))
	}
	den := rapid.Uint64Range(1, maxVariance).Draw(t, "den")
	num := rapid.Uint64Range(den>>minShift+1, maxVariance).Draw(t, "num")
	v, err := newVariance(num, den)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func mustNewReference(t testing.TB, v variance) *Reference {
	t.Helper()
	g, err := NewReference(v.num, v.den)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func mustNew(t testing.TB, v variance) *Gaussian {
	t.Helper()
	g, err := newRational(v.num, v.den)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// TestReferenceSamplesAreTheOracles compares 200 samples of every variance.
func TestReferenceSamplesAreTheOracles(t *testing.T) {
	for i, variance := range testVariances() {
		g, o, r := mustNewReference(t, variance), newOracle(t, variance, seeded(byte(i))), seeded(byte(i))
		for n := range 200 {
			got, err := g.Sample(r)
			if want := o.sample(); err != nil || got != want {
				t.Fatalf("variance %v, sample %d: %d, %v; the oracle has %d", variance, n, got, err, want)
			}
		}
	}
}

// TestReferenceOnOddBytesGivesTheOraclesSamples uses very improbable words: many zeros, ones and other
// extreme values, followed by uniform words.
func TestReferenceOnOddBytesGivesTheOraclesSamples(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		variance := anyVariance(t)
		odd := rapid.SampledFrom([]uint64{0, 1, 1<<64 - 1, 1 << 63, 1<<64 - 1<<32, (1<<64 - 1) / 3})
		words := rapid.SliceOfN(rapid.OneOf(rapid.Uint64(), odd), 0, 30).Draw(t, "words")
		seed := rapid.Byte().Draw(t, "seed")
		g, err := NewReference(variance.num, variance.den)
		if err != nil {
			t.Fatal(err)
		}
		r := replay(words, seed)
		o := newOracle(t, variance, replay(words, seed))
		for range 5 {
			got, err := g.Sample(r)
			if want := o.sample(); err != nil || got != want {
				t.Fatalf("got %d, %v; the oracle has %d", got, err, want)
			}
		}
	})
}

// replay returns a reader of the given words, followed by uniform bytes.
func replay(words []uint64, seed byte) io.Reader {
	return io.MultiReader(newBytesReader(rawWords(words)), seeded(seed))
}

func rawWords(words []uint64) []byte {
	var raw []byte
	for _, w := range words {
		raw = binary.LittleEndian.AppendUint64(raw, w)
	}
	return raw
}

// newBytesReader returns a reader that gives one byte at a time, which a reader may.
func newBytesReader(raw []byte) io.Reader {
	return &slowReader{raw: slices.Clone(raw)}
}

type slowReader struct{ raw []byte }

func (r *slowReader) Read(p []byte) (int, error) {
	if len(r.raw) == 0 {
		return 0, io.EOF
	}
	if len(p) == 0 {
		return 0, nil
	}
	p[0], r.raw = r.raw[0], r.raw[1:]
	return 1, nil
}

// TestTiesAreDecidedExactly feeds Bernoulli(f/k) words that agree with its threshold
// once, twice or three times, and compares with the oracle, words read included.
func TestTiesAreDecidedExactly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f, p := drawFraction(t)
		k := rapid.Uint64Range(1, maxChain).Draw(t, "k")
		p.Quo(p, new(big.Rat).SetInt(new(big.Int).SetUint64(k)))
		words := expansion(p, rapid.IntRange(0, 3).Draw(t, "ties"))
		last := rapid.SampledFrom([]uint64{0, 1<<64 - 1, 1 << 63}).Draw(t, "last")
		words = append(words, last, 1<<63+1, 5)
		s := newSource(replay(words, 0), wordSize)
		o := newOracle(t, integer(1), replay(words, 0))
		got, want := bernoulli(s, &f, k), o.bernoulli(p)
		if s.err != nil || got != want || s.word() != o.next().Uint64() {
			t.Fatalf("got %v, %v; the oracle has %v after %d words", got, s.err, want, o.word-1)
		}
	})
}

// drawFraction returns a fraction as the sampler has them, of one word or of two.
func drawFraction(t *rapid.T) (fraction, *big.Rat) {
	if rapid.Bool().Draw(t, "one word") {
		den := rapid.Uint64Range(1, 1<<33).Draw(t, "den")
		num := rapid.Uint64Range(0, den-1).Draw(t, "num")
		return ratio(num, den), new(big.Rat).SetFrac(new(big.Int).SetUint64(num), new(big.Int).SetUint64(den))
	}
	den := uint128{hi: rapid.Uint64Range(1, 1<<62).Draw(t, "den.hi"), lo: rapid.Uint64().Draw(t, "den.lo")}
	num := uint128{hi: rapid.Uint64Range(0, den.hi-1).Draw(t, "num.hi"), lo: rapid.Uint64().Draw(t, "num.lo")}
	word, _ := divide(num.hi, num.lo, 0, den)
	return fraction{word: word, num: num, den: den}, new(big.Rat).SetFrac(num.big(), den.big())
}

// expansion returns the first n words of the binary expansion of p, 0 <= p < 1.
func expansion(p *big.Rat, n int) []uint64 {
	var words []uint64
	rest := new(big.Int).Set(p.Num())
	for range n {
		digit := new(big.Int)
		digit.DivMod(rest.Lsh(rest, 64), p.Denom(), rest)
		words = append(words, digit.Uint64())
	}
	return words
}
