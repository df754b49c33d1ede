package noise

import (
	"math/big"
	"reflect"
	"testing"

	"pgregory.net/rapid"
)

// digits is the precision of the oracle's numbers, in bits.
const digits = 700

// oracleExp returns exp(-z) to about digits bits: the alternating series at z/2^n,
// below 2^-16, squared n times. The sampler sums exp(z) instead and divides.
func oracleExp(z *big.Rat) *big.Float {
	number := func() *big.Float { return new(big.Float).SetPrec(digits) }
	if z.Cmp(big.NewRat(1<<20, 1)) > 0 {
		// A small positive number that decreases with z suffices for all comparisons.
		whole := new(big.Int).Div(z.Num(), z.Denom())
		return number().SetMantExp(big.NewFloat(1), -20_000-100*whole.BitLen())
	}
	const n = 36
	small := number().SetRat(z)
	small.SetMantExp(small, -n)
	sum, term := number().SetInt64(1), number().SetInt64(1)
	for i := int64(1); i < 50; i++ { // (2^-16)^50 is below 2^-digits
		term.Mul(term, small)
		term.Quo(term.Neg(term), number().SetInt64(i))
		sum.Add(sum, term)
	}
	for range n {
		sum.Mul(sum, sum)
	}
	return sum
}

// oracleWeight returns C exp(-(kw)^2/2s^2), as a fraction with nearly digits bits.
func oracleWeight(e *envelope, v variance, k uint64) *big.Rat {
	x := new(big.Rat).SetInt(new(big.Int).Mul(new(big.Int).SetUint64(k), new(big.Int).SetUint64(e.width)))
	z := new(big.Rat).Quo(x.Mul(x, x), v.rat())
	weight := oracleExp(z.Mul(z, big.NewRat(1, 2)))
	weight.Mul(weight, new(big.Float).SetUint64(e.factor))
	exact, _ := weight.Rat(nil)
	return exact
}

// checkEnvelope checks all that the proof needs of an envelope.
func checkEnvelope(t interface{ Fatalf(string, ...any) }, e *envelope, v variance) {
	bins := uint64(len(e.cells))
	width := new(big.Rat).SetFrac(new(big.Int).SetUint64(16*e.width), big.NewInt(1))
	if width.Mul(width, width).Cmp(v.rat()) <= 0 || bins < 1 || bins > 178 {
		t.Fatalf("variance %v: width %d, %d bins", v, e.width, bins)
	}
	sum := e.rare
	for k, cells := range e.cells {
		sum += cells
		weight := oracleWeight(e, v, uint64(k))
		if whole := new(big.Int).Div(weight.Num(), weight.Denom()); !whole.IsUint64() || whole.Uint64() != cells {
			t.Fatalf("variance %v, bin %d: %d cells, want %v", v, k, cells, whole)
		}
	}
	if sum != 1<<63 || e.rare < bins+1 || e.rare > 1<<10 {
		t.Fatalf("variance %v: %d cells, %d of them rare, %d bins", v, sum, e.rare, bins)
	}
	last, next := oracleWeight(e, v, bins), oracleWeight(e, v, bins+1)
	if twice := new(big.Rat).Add(last, last); twice.Cmp(big.NewRat(1, 1)) > 0 ||
		new(big.Rat).Add(next, next).Cmp(last) > 0 {
		t.Fatalf("variance %v: the tail is not dominated", v)
	}
}

// checkColumns counts the cells that the columns give to each bin.
func checkColumns(t interface{ Fatalf(string, ...any) }, e *envelope) {
	var got [columns]uint64
	for i, c := range e.column {
		if c.threshold > 1<<heightBits || c.alias >= columns {
			t.Fatalf("column %d: %+v", i, c)
		}
		got[i] += c.threshold
		got[c.alias] += 1<<heightBits - c.threshold
	}
	for k, n := range got {
		want := uint64(0)
		if k < len(e.cells) {
			want = e.cells[k]
		} else if k == len(e.cells) {
			want = e.rare
		}
		if n != want {
			t.Fatalf("bin %d has %d cells in the columns, want %d", k, n, want)
		}
	}
}

func TestEnvelopes(t *testing.T) {
	for _, v := range append(testVariances(), integer(255), integer(256), integer(257), integer(1023),
		integer(1024)) {
		e := newEnvelope(v, envelopePrecision)
		checkEnvelope(t, e, v)
		checkColumns(t, e)
	}
	rapid.Check(t, func(t *rapid.T) {
		checkColumns(t, newEnvelope(anyVariance(t), envelopePrecision))
	})
}

// TestPrecisionIsRaised: too little of it is noticed, and an envelope that is built
// with little is as good as any.
func TestPrecisionIsRaised(t *testing.T) {
	for _, v := range []variance{{9, 100}, integer(1), integer(100), integer(1 << 40)} {
		rejected := 0
		for p := uint(66); p < 90; p++ {
			e := &envelope{width: v.root(256) + 1, unit: [2]uint64{v.num, v.den}}
			if e.build(p) {
				checkEnvelope(t, e, v)
			} else {
				rejected++
			}
		}
		if rejected == 0 {
			t.Errorf("variance %v: 66 bits pass for enough", v)
		}
		if !reflect.DeepEqual(newEnvelope(v, 66), newEnvelope(v, envelopePrecision)) {
			t.Errorf("variance %v: the envelope depends on the precision", v)
		}
	}
}

// TestExpIsEnclosed compares exp(-z), and its powers, with the oracle's.
func TestExpIsEnclosed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		num, den := rapid.Uint64Range(1, 1<<40).Draw(t, "num"), rapid.Uint64Range(1<<20, 1<<40).Draw(t, "den")
		n, p := rapid.Uint64Range(0, 200).Draw(t, "n"), rapid.SampledFrom([]uint{64, 100, 256, 640}).Draw(t, "p")
		z := new(big.Rat).SetFrac(new(big.Int).SetUint64(num), new(big.Int).SetUint64(den))
		z.Add(z, big.NewRat(1, 513))
		got := expMinus(z.Num(), z.Denom(), p).power(n, p)
		want := oracleExp(z.Mul(z, new(big.Rat).SetFrac(new(big.Int).SetUint64(n), big.NewInt(1))))
		want.SetMantExp(want, int(p))
		lo, hi := new(big.Float).SetInt(got.lo), new(big.Float).SetInt(got.hi())
		if lo.Cmp(want) > 0 || hi.Cmp(want) < 0 || got.width > 1<<20 {
			t.Fatalf("exp(-%v) is in [%v, %v] / 2^%d, width %d, not %v", z, lo, hi, p, got.width, want)
		}
	})
}

// TestRareProbabilitiesAreEnclosed, closely enough for the words that are compared.
func TestRareProbabilitiesAreEnclosed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.SampledFrom(testVariances()).Draw(t, "variance")
		if v.num < v.den>>10 {
			return // f(1) is below 2^-700 then, where the oracle has no digits
		}
		e := newEnvelope(v, envelopePrecision)
		bins, p := uint64(len(e.cells)), uint(64+realMargin)
		k, far := rapid.Uint64Range(0, bins-1).Draw(t, "bin"), rapid.Uint64Range(0, 191).Draw(t, "v")
		missing := oracleWeight(e, v, k)
		missing.Sub(missing, new(big.Rat).SetInt(new(big.Int).SetUint64(e.cells[k])))
		checkEnclosed(t, "missing", e.missing(k, p), missing, p)
		tail := oracleWeight(e, v, bins+far)
		tail.Mul(tail, new(big.Rat).SetInt(new(big.Int).Lsh(big.NewInt(2), uint(far))))
		checkEnclosed(t, "tail", e.tail(far, p), tail, p)
	})
}

func checkEnclosed(t *rapid.T, name string, got enclosure, want *big.Rat, p uint) {
	t.Helper()
	unit := new(big.Int).Lsh(big.NewInt(1), p)
	want = new(big.Rat).Mul(want, new(big.Rat).SetInt(unit))
	lo, hi := new(big.Rat).SetInt(got.lo), new(big.Rat).SetInt(got.hi)
	if lo.Cmp(want) > 0 || hi.Cmp(want) < 0 || hi.Sub(hi, lo).Cmp(new(big.Rat).SetInt(unit.Rsh(unit, 64))) > 0 {
		t.Fatalf("%s: %v is not in [%v, %v], or these are far apart", name, want, got.lo, got.hi)
	}
}
