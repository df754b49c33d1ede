package noise

import "math/big"

// interval encloses a real number x in [0, 1]: lo <= 2^p x <= lo + width <= 2^p, for a
// precision of p bits that callers pass along with it.
type interval struct {
	lo    *big.Int
	width uint64
}

// one is the number 1 with precision p.
func one(p uint) interval { return interval{lo: new(big.Int).Lsh(big.NewInt(1), p)} }

// hi returns the upper end.
func (a interval) hi() *big.Int {
	x := new(big.Int).SetUint64(a.width)
	return x.Add(x, a.lo)
}

// below reports whether the enclosure is below 2^-n.
func (a interval) below(n, p uint) bool {
	return a.lo.BitLen() <= int(p-n) && a.hi().BitLen() <= int(p-n)
}

// times returns the product. As no end is above 1, the products of the ends differ by
// at most the sum of the widths, and rounding down adds 1. (The numbers are 1, whose width is 0,
// or powers of a q below 1 - 2^-10, so far below 1 that the upper ends stay below 1.)
func (a interval) times(b interval, p uint) interval {
	lo := new(big.Int).Mul(a.lo, b.lo)
	return interval{lo: lo.Rsh(lo, p), width: a.width + b.width + 1}
}

// power returns a^n. Its width is below 2n (width + 1).
func (a interval) power(n uint64, p uint) interval {
	result := one(p)
	for ; n > 0; n >>= 1 {
		if n&1 == 1 {
			result = result.times(a, p)
		}
		a = a.times(a, p)
	}
	return result
}

// expMinus encloses exp(-num/den), for den > 0 and num >= 0, as the reciprocal of the series
// of exp(num/den).
func expMinus(num, den *big.Int, p uint) interval {
	z := new(big.Int).Div(num, den)
	if z.Cmp(big.NewInt(int64(p))) >= 0 {
		return interval{lo: new(big.Int), width: 1} // exp(-p) < 2^-p
	}
	low, high := expSeries(num, den, 2*z.Int64()+2, p)
	unit := new(big.Int).Lsh(big.NewInt(1), 2*p)
	lo, hi := new(big.Int).Div(unit, high), ceilDiv(new(big.Int).Set(unit), low)
	return interval{lo: lo, width: hi.Sub(hi, lo).Uint64()}
}

// expSeries encloses the sum of z^n/n! for z = num/den. It stops at the first n >= start >= 2z
// whose term is at most one unit. Each later term is at most half of the one before, so that
// their sum is at most that term.
func expSeries(num, den *big.Int, start int64, p uint) (low, high *big.Int) {
	lo, hi := new(big.Int).Lsh(big.NewInt(1), p), new(big.Int).Lsh(big.NewInt(1), p)
	low, high = new(big.Int).Set(lo), new(big.Int).Set(hi)
	for n := int64(1); n <= start || hi.Cmp(big.NewInt(1)) > 0; n++ {
		d := new(big.Int).Mul(den, big.NewInt(n))
		lo.Div(lo.Mul(lo, num), d)
		hi = ceilDiv(hi.Mul(hi, num), d)
		low.Add(low, lo)
		high.Add(high, hi)
	}
	return low, high.Add(high, hi)
}

// ceilDiv returns ceil(x/d) in x.
func ceilDiv(x, d *big.Int) *big.Int {
	_, rest := x.DivMod(x, d, new(big.Int))
	if rest.Sign() != 0 {
		x.Add(x, big.NewInt(1))
	}
	return x
}
