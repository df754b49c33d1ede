package noise

import "math/big"

const (
	// columnBits and heightBits select one of 2^63 cells; the remaining bit of a word is
	// the sign.
	columnBits = 8
	heightBits = 63 - columnBits
	columns    = 1 << columnBits

	// binsPerSigma is the least number of bins a standard deviation, where integers
	// permit it. There are fewer than 178 bins, so that columns suffice: see weights.
	binsPerSigma = 16

	// envelopePrecision suffices to round the cells: it leaves about 170 bits below
	// their unit. It is doubled if these bits do not decide.
	envelopePrecision = 256
)

// envelope distributes 2^63 cells over bins of magnitudes. Bin k begins at k*width and has
// floor(C f(k)) cells, where f(k) = exp(-(k width)^2 / 2s^2) is the weight of its first
// magnitude. The remaining cells, a few hundred, are the rare ones: see rare.go.
type envelope struct {
	width  uint64    // w, at least 1 and above s/16
	unit   [2]uint64 // numerator and denominator of s^2
	factor uint64    // C, at most 2^63
	cells  []uint64  // floor(C f(k)), for every bin k
	rare   uint64    // all other cells, at least len(cells) + 1
	column [columns]column
}

// column is one of the equally likely columns of an alias table: cells below the threshold
// belong to the bin of the column, the others to the alias.
type column struct{ threshold, alias uint64 }

// newEnvelope returns the envelope for variance v.
func newEnvelope(v variance, precision uint) *envelope {
	e := &envelope{width: v.root(binsPerSigma*binsPerSigma) + 1, unit: [2]uint64{v.num, v.den}}
	for !e.build(precision) {
		precision *= 2
	}
	e.alias()
	return e
}

// quotient encloses q = exp(-w^2/2s^2), for which f(k) = q^(k^2).
func (e *envelope) quotient(p uint) interval {
	num, den := new(big.Int).SetUint64(e.width), new(big.Int).SetUint64(e.unit[0])
	num.Mul(num, num).Mul(num, new(big.Int).SetUint64(e.unit[1]))
	return expMinus(num, den.Lsh(den, 1), p)
}

// build computes the weights and from them the cells. It reports false if the precision
// does not determine all of them.
func (e *envelope) build(p uint) bool {
	weights, ok := e.weights(p)
	if !ok {
		return false
	}
	sum, widths := new(big.Int), uint64(0)
	for _, f := range weights {
		sum.Add(sum, f.lo)
		widths += f.width
	}
	sum.Add(sum, new(big.Int).SetUint64(widths))
	c := new(big.Int).SetUint64(1<<63 - uint64(len(weights)) - 1)
	c.Div(c.Lsh(c, p), sum)
	e.factor = c.Uint64()
	e.cells = e.cells[:0]
	e.rare = 1 << 63
	for _, f := range weights {
		cells, ok := floor(f, c, p)
		if !ok {
			return false
		}
		e.cells = append(e.cells, cells)
		e.rare -= cells
	}
	return true
}

// floor returns floor(c x) for an enclosed x, or false if the enclosure does not determine it.
func floor(x interval, c *big.Int, p uint) (uint64, bool) {
	lo, hi := new(big.Int).Mul(c, x.lo), new(big.Int).SetUint64(x.width)
	hi.Add(hi.Mul(hi, c), lo)
	lo.Rsh(lo, p)
	return lo.Uint64(), lo.Cmp(hi.Rsh(hi, p)) == 0
}

// weights returns f(k) for all bins. They end before the first K > 0 for which 2^63 f(K)
// and every f(k+1)/f(k) = q^(2k+1) with k >= K are below 1/2, which the tail requires. As
// w > s/16 the latter holds from K = 177 on, and the former earlier.
func (e *envelope) weights(p uint) ([]interval, bool) {
	f, step := one(p), e.quotient(p)
	square := step.times(step, p)
	all := make([]interval, 0, columns)
	for len(all) < columns-1 {
		all = append(all, f)
		f, step = f.times(step, p), step.times(square, p)
		if f.below(64, p) && step.below(1, p) {
			return all, true
		}
	}
	return nil, false
}

// alias fills the columns, each with the rest of a bin that has less than a column and a part
// of a bin that has more (Walker 1977, Vose 1991), in whole cells. The rare cells form an
// additional bin after the last.
func (e *envelope) alias() {
	var rest [columns]uint64
	copy(rest[:], e.cells)
	rest[len(e.cells)] = e.rare
	const height = 1 << heightBits
	var low, high []uint64
	for i := range rest {
		e.column[i] = column{threshold: height}
		if rest[i] < height {
			low = append(low, uint64(i))
		} else {
			high = append(high, uint64(i))
		}
	}
	for len(low) > 0 {
		i, j := low[len(low)-1], high[len(high)-1]
		low = low[:len(low)-1]
		e.column[i] = column{threshold: rest[i], alias: j}
		rest[j] -= height - rest[i]
		if rest[j] < height {
			high, low = high[:len(high)-1], append(low, j)
		}
	}
}
