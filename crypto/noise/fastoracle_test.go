package noise

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// fastOracle is what Gaussian does, in arithmetic without limits: the same words in
// the same order, but every probability as a fraction that is spelled out word by
// word. The columns are taken as they are: TestEnvelopes counts their cells.
type fastOracle struct {
	*oracle
	v variance
	e *envelope
}

func newFastOracle(t interface{ Fatal(...any) }, g *Gaussian, r io.Reader) *fastOracle {
	return &fastOracle{oracle: newOracle(t, g.variance, r), v: g.variance, e: g.envelope}
}

func (o *fastOracle) sample() int64 {
	width := new(big.Int).SetUint64(o.e.width)
	for {
		w := o.next().Uint64()
		k, ok := o.bin(w)
		if !ok {
			continue
		}
		r := new(big.Int)
		if o.e.width > 1 {
			r = o.uniform(width)
		}
		from := new(big.Int).Mul(new(big.Int).SetUint64(k), width)
		x := new(big.Int).Add(from, r)
		if o.e.width > 1 && !o.exp(o.over(x, from)) {
			continue
		}
		if w&1 == 0 {
			return x.Int64()
		} else if x.Sign() != 0 {
			return -x.Int64()
		}
	}
}

// over returns (x^2 - y^2) / 2s^2.
func (o *fastOracle) over(x, y *big.Int) *big.Rat {
	d := new(big.Rat).SetInt(new(big.Int).Sub(new(big.Int).Mul(x, x), new(big.Int).Mul(y, y)))
	return d.Quo(d, new(big.Rat).Add(o.s2, o.s2))
}

// bin returns the bin of a cell, or false to start over.
func (o *fastOracle) bin(w uint64) (uint64, bool) {
	bins := uint64(len(o.e.cells))
	k, height := w>>56, w<<8>>9
	if c := o.e.column[k]; height >= c.threshold {
		k = c.alias
	}
	if k != bins {
		return k, true
	}
	k = o.uniform(new(big.Int).SetUint64(o.e.rare)).Uint64()
	switch {
	case k == 0 || k > bins:
		return 0, false
	case k < bins:
		p := oracleWeight(o.e, o.v, k)
		return k, o.bernoulli(p.Sub(p, new(big.Rat).SetInt(new(big.Int).SetUint64(o.e.cells[k]))))
	}
	scale := big.NewRat(2, 1)
	for bit := range o.bits() {
		if bit {
			break
		}
		k++
		scale.Add(scale, scale)
	}
	return k, o.bernoulli(scale.Mul(scale, oracleWeight(o.e, o.v, k)))
}

// bits yields words bit by bit, the top one first.
func (o *fastOracle) bits() func(yield func(bool) bool) {
	return func(yield func(bool) bool) {
		for {
			w := o.next().Uint64()
			for i := 63; i >= 0; i-- {
				if !yield(w>>i&1 == 1) {
					return
				}
			}
		}
	}
}

// TestSamplesAreTheOracles compares 300 samples of every variance.
func TestSamplesAreTheOracles(t *testing.T) {
	for i, v := range testVariances() {
		g, r := mustNew(t, v), seeded(byte(i))
		o := newFastOracle(t, g, seeded(byte(i)))
		for n := range 300 {
			got, err := g.Sample(r)
			if want := o.sample(); err != nil || got != want {
				t.Fatalf("variance %v, sample %d: %d, %v; the oracle has %d", v, n, got, err, want)
			}
		}
	}
}

// TestOddBytesGiveTheOraclesSamples uses words with probability about 2^-50: rare cells of every kind,
// and extreme values, followed by uniform words.
func TestOddBytesGiveTheOraclesSamples(t *testing.T) {
	gaussians := map[variance]*Gaussian{}
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.SampledFrom(testVariances()).Draw(t, "variance")
		if gaussians[v] == nil {
			gaussians[v], _ = newRational(v.num, v.den)
		}
		g := gaussians[v]
		words := oddWords(t, g)
		seed := rapid.Byte().Draw(t, "seed")
		r, o := replay(words, seed), newFastOracle(t, g, replay(words, seed))
		filled := make([]int64, 4)
		fillErr := g.fill(filled, newSource(io.MultiReader(bytes.NewReader(rawWords(words)), seeded(seed)), 4096))
		if errors.Is(fillErr, ErrRandomness) && strings.Contains(fmt.Sprint(words), " 0 0 0") {
			return // beyond what a tail's bin is drawn from
		}
		for i := range filled {
			got, err := g.Sample(r)
			if want := o.sample(); err != nil || got != want || fillErr != nil || filled[i] != want {
				t.Fatalf("variance %v: got %d, %v, in a run %d, %v; the oracle has %d",
					v, got, err, filled[i], fillErr, want)
			}
		}
		var next [8]byte
		if _, err := io.ReadFull(r, next[:]); err != nil ||
			binary.LittleEndian.Uint64(next[:]) != o.next().Uint64() {
			t.Fatalf("variance %v: the oracle has read other words", v)
		}
	})
}

// oddWords draws some uniform words, with probability 1/2 a rare cell, and then extreme values.
func oddWords(t *rapid.T, g *Gaussian) []uint64 {
	words := rapid.SliceOfN(rapid.Uint64(), 0, 3).Draw(t, "ordinary")
	if rapid.Bool().Draw(t, "rare") {
		bins := uint64(len(g.envelope.cells))
		index := rapid.OneOf(rapid.Uint64Range(0, g.envelope.rare-1), rapid.Just(bins)).Draw(t, "index")
		words = append(words, rareWord(g)|rapid.Uint64Range(0, 1).Draw(t, "sign"), choosing(index, g.envelope.rare))
	}
	odd := rapid.SampledFrom([]uint64{0, 1, 1<<64 - 1, 1 << 63, 1<<64 - 1<<32, (1<<64 - 1) / 3})
	small := rapid.Custom(func(t *rapid.T) uint64 {
		return rapid.Uint64().Draw(t, "word") >> rapid.IntRange(0, 63).Draw(t, "shift")
	})
	return append(words, rapid.SliceOfN(rapid.OneOf(rapid.Uint64(), small, odd), 0, 12).Draw(t, "words")...)
}

// rareWord returns a word that chooses a rare cell: those start the column of their
// own.
func rareWord(g *Gaussian) uint64 { return uint64(len(g.envelope.cells)) << 56 }

// choosing returns a word for which uniform returns i of n.
func choosing(i, n uint64) uint64 { return i*(^uint64(0)/n) + i + 2 }

// TestEveryRareCell takes each rare cell of some variances once, accepting.
func TestEveryRareCell(t *testing.T) {
	for _, v := range []variance{{9, 100}, integer(1), integer(100), integer(1 << 20), integer(1 << 60)} {
		g := mustNew(t, v)
		bins := uint64(len(g.envelope.cells))
		for i := range g.envelope.rare {
			s := newSource(replay([]uint64{choosing(i, g.envelope.rare), 0, 0, 0, 1 << 63, 0}, 1), wordSize)
			k, ok := g.rare(s)
			if want := i > 0 && i < bins; ok != want || ok && k != i || i != bins && s.err != nil {
				t.Fatalf("variance %v, rare cell %d: bin %d, %v, %v", v, i, k, ok, s.err)
			}
		}
		s := newSource(replay([]uint64{choosing(bins, g.envelope.rare), 1 << 61, 0, 0}, 1), wordSize)
		if k, ok := g.rare(s); k != bins+2 || s.err != nil {
			t.Errorf("variance %v, tail: bin %d, %v, %v", v, k, ok, s.err)
		}
	}
}

// TestRareProbabilitiesAreDecidedExactly uses up to three words that equal those of the probability of
// a fraction, followed by one that differs.
func TestRareProbabilitiesAreDecidedExactly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		variances := []variance{{49, 100}, integer(3), integer(1 << 20), {1<<61 + 1, 1 << 31}}
		v := rapid.SampledFrom(variances).Draw(t, "variance")
		e := newEnvelope(v, envelopePrecision)
		k := rapid.Uint64Range(1, uint64(len(e.cells))-1).Draw(t, "bin")
		p := oracleWeight(e, v, k)
		p.Sub(p, new(big.Rat).SetInt(new(big.Int).SetUint64(e.cells[k])))
		words := expansion(p, rapid.IntRange(0, 2).Draw(t, "ties"))
		next := expansion(p, len(words)+1)[len(words)]
		words = append(words, next+rapid.SampledFrom([]uint64{1, 0, 1<<64 - 1}).Draw(t, "off"), 7)
		s := newSource(replay(words, 0), wordSize)
		o := newOracle(t, v, replay(words, 0))
		got, want := bernoulliReal(s, func(p uint) enclosure { return e.missing(k, p) }), o.bernoulli(p)
		if s.err != nil || got != want || s.word() != o.next().Uint64() {
			t.Fatalf("got %v, %v; the oracle has %v after %d words", got, s.err, want, o.word-1)
		}
	})
}

func TestEndlessRealTiesAreNoticed(t *testing.T) {
	v := integer(3)
	e := newEnvelope(v, envelopePrecision)
	p := oracleWeight(e, v, 1)
	p.Sub(p, new(big.Rat).SetInt(new(big.Int).SetUint64(e.cells[1])))
	s := newSource(replay(expansion(p, maxTies), 0), wordSize)
	if bernoulliReal(s, func(p uint) enclosure { return e.missing(1, p) }) || !errors.Is(s.err, ErrRandomness) {
		t.Errorf("got %v, want ErrRandomness", s.err)
	}
}

// TestGammaIsExact compares the exponent of the acceptance, and its largest value in a
// bin, with fractions.
func TestGammaIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := anyVariance(t)
		g, err := newRational(v.num, v.den)
		if err != nil {
			t.Fatal(err)
		}
		w := g.envelope.width
		k, r := rapid.Uint64Range(0, 400).Draw(t, "bin"), rapid.Uint64Range(0, w-1).Draw(t, "offset")
		checkGamma(t, g, k, r)
		whole, f := checkGamma(t, g, k%columns, w-1)
		if got := g.surely[k%columns]; whole == 0 && got != f || whole > 0 && got != 1<<64-1 {
			t.Fatalf("variance %v, bin %d: surely accepted above %d, want above %d + %d/2^64",
				v, k%columns, got, whole, f)
		}
	})
}

// checkGamma returns the whole part and the first word of the fraction.
func checkGamma(t *rapid.T, g *Gaussian, k, r uint64) (whole, word uint64) {
	o := &fastOracle{oracle: newOracle(t, g.variance, nil)}
	from := new(big.Int).Mul(new(big.Int).SetUint64(k), new(big.Int).SetUint64(g.envelope.width))
	want := o.over(new(big.Int).Add(from, new(big.Int).SetUint64(r)), from)
	whole, f := g.gamma(k, r)
	got := new(big.Rat).SetFrac(f.num.big(), f.den.big())
	got.Add(got, new(big.Rat).SetInt(new(big.Int).SetUint64(whole)))
	if got.Cmp(want) != 0 {
		t.Fatalf("variance %v, bin %d, offset %d: gamma is %v, want %v", g.variance, k, r, got, want)
	}
	rest := want.Sub(want, new(big.Rat).SetInt(new(big.Int).SetUint64(whole)))
	if first := expansion(rest, 1)[0]; f.word != first {
		t.Fatalf("variance %v, bin %d, offset %d: the first word is %d, want %d", g.variance, k, r, f.word, first)
	}
	return whole, f.word
}
