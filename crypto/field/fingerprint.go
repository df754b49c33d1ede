package field

import "math/bits"

// Ext is an element a + b x of the field with p^2 elements, F_p[x] / (x^2 - 7). The number 7
// generates the multiplicative group of F_p, so it is not a square.
type Ext [2]Element

// AddExt returns a + b.
func AddExt(a, b Ext) Ext { return Ext{Add(a[0], b[0]), Add(a[1], b[1])} }

// mulExt returns a b.
func mulExt(a, b Ext) Ext {
	return Ext{
		Add(Mul(a[0], b[0]), Mul(7, Mul(a[1], b[1]))),
		Add(Mul(a[0], b[1]), Mul(a[1], b[0])),
	}
}

// fingerprintBlock is the number of elements that are multiplied by stored powers of the point.
const fingerprintBlock = 256

// Fingerprint evaluates, at one point, the polynomials whose coefficients are the elements of
// vectors: v[0] t + v[1] t^2 + ... It is linear in the vector. Two vectors of n elements that
// differ have the same fingerprint at no more than n of the p^2 points.
type Fingerprint struct {
	first, second [fingerprintBlock]Element // coordinates of t^0, t^1, ...
	step          Ext                       // t^fingerprintBlock
	next          Ext                       // the power of t for the next element
	sum           Ext
}

// NewFingerprint returns the fingerprint of no elements at a point.
func NewFingerprint(at Ext) *Fingerprint {
	f := &Fingerprint{next: at}
	power := Ext{1, 0}
	for i := range fingerprintBlock {
		f.first[i], f.second[i] = power[0], power[1]
		power = mulExt(power, at)
	}
	f.step = power
	return f
}

// Write adds the vector's next elements.
func (f *Fingerprint) Write(v Vector) {
	for len(v) > 0 {
		n := min(len(v), fingerprintBlock)
		block := v[:n]
		first, second := dots(block, f.first[:n], f.second[:n])
		f.sum = AddExt(f.sum, mulExt(f.next, Ext{first, second}))
		step := f.step
		if n < fingerprintBlock {
			step = Ext{f.first[n], f.second[n]}
		}
		f.next = mulExt(f.next, step)
		v = v[n:]
	}
}

// Sum returns the fingerprint of all elements written.
func (f *Fingerprint) Sum() Ext { return f.sum }

// dots returns the sums of the products of v with x and with y, for at most 2^64 elements. It
// reduces once.
func dots(v, x, y []Element) (a, b Element) {
	x, y = x[:len(v)], y[:len(v)]
	var p, q wide
	for i, e := range v {
		p = p.addProduct(uint64(e), uint64(x[i]))
		q = q.addProduct(uint64(e), uint64(y[i]))
	}
	return p.reduce(), q.reduce()
}

// wide is an integer below 2^192, from its lowest to its highest word.
type wide struct{ low, middle, high uint64 }

// addProduct returns w + a b.
func (w wide) addProduct(a, b uint64) wide {
	hi, lo := bits.Mul64(a, b)
	var carry uint64
	w.low, carry = bits.Add64(w.low, lo, 0)
	w.middle, carry = bits.Add64(w.middle, hi, carry)
	w.high, _ = bits.Add64(w.high, 0, carry)
	return w
}

// reduce returns w modulo p, where 2^64 = 2^32 - 1 and 2^128 = -2^32.
func (w wide) reduce() Element {
	s := Add(reduce(w.low), Mul(reduce(w.middle), epsilon))
	return Sub(s, Mul(reduce(w.high), 1<<32))
}
