package msm

import (
	"encoding/binary"
	"fmt"
	"math/bits"

	"filippo.io/edwards25519"
)

// Term is the product of a point and an integer below 2^255, which is encoded in 32 bytes, little
// endian, as an edwards25519.Scalar is. If Negative is set, the product is subtracted.
type Term struct {
	Point    *Point
	Scalar   [32]byte
	Negative bool
}

// Sum returns Σ ±Scalar·Point; the sum of no terms is the identity. It returns an error if a scalar
// is 2^255 or more, or if a point has not been set.
func Sum(terms []Term) (*edwards25519.Point, error) {
	all, width := make([]term, len(terms)), 0
	for i := range terms {
		if terms[i].Scalar[31] > 0x7f {
			return nil, fmt.Errorf("msm: scalar %d has 256 bits, at most 255 are allowed", i)
		}
		all[i] = newTerm(&terms[i])
		width = max(width, all[i].bits)
	}
	c := newCurve()
	total := c.sumOfProducts(all, width, windowSize(all, width))
	return total.edwards()
}

// term is a [Term] prepared for summation.
type term struct {
	point    *Point
	scalar   [4]uint64 // little endian
	bits     int       // the length of the scalar
	negative bool
}

func newTerm(t *Term) term {
	prepared := term{point: t.Point, negative: t.Negative}
	for w := range prepared.scalar {
		prepared.scalar[w] = binary.LittleEndian.Uint64(t.Scalar[8*w:])
		if prepared.scalar[w] > 0 {
			prepared.bits = 64*w + bits.Len64(prepared.scalar[w])
		}
	}
	return prepared
}

// sumOfProducts returns Σ ±scalar·point, computed window by window from the top.
func (c *curve) sumOfProducts(terms []term, width, size int) (total extended) {
	buckets := make([]bucket, 1<<(size-1))
	total.identity()
	for w := windows(width, size) - 1; w >= 0; w-- {
		for range size {
			total.double()
		}
		c.addWindow(&total, terms, w, size, buckets)
	}
	return total
}

// windows returns the number of digits of size bits in a scalar of width bits. The last digit
// includes the carry of the one below it.
func windows(width, size int) int { return width/size + 1 }

// windowSize returns the window size with the least cost: 7 multiplications for each digit, and 18
// for each bucket of each window, less 6 for the first point in it.
func windowSize(terms []term, width int) int {
	cost := func(size int) (sum int) {
		for i := range terms {
			sum += 7 * windows(terms[i].bits, size)
		}
		return sum + windows(width, size)*12<<(size-1)
	}
	best, least := 1, cost(1)
	for size := 2; size <= 14; size++ {
		if now := cost(size); now < least {
			best, least = size, now
		}
	}
	return best
}

// digit returns digit w of the scalar in [-2^(size-1), 2^(size-1)] (Booth recoding). It reads the
// bits of its window and the bit below, so that it needs no carry. The sum of digit·2^(size·w)
// over all windows is the scalar.
func (t *term) digit(w, size int) int {
	var x uint64
	if w == 0 {
		x = t.scalar[0] << 1
	} else {
		low := uint(size*w - 1)
		word, off := low/64, low%64
		x = t.scalar[word] >> off
		if word < 3 {
			x |= t.scalar[word+1] << (64 - off) // a shift by 64 is 0
		}
	}
	x &= 1<<(size+1) - 1
	return int((x+1)>>1) - int(x>>size)<<size
}

// bucket is the sum of the points with one digit, and of the negated points with the opposite
// digit. An empty bucket represents the identity.
type bucket struct {
	sum  extended
	used bool
}

func (b *bucket) add(p *Point) {
	if b.used {
		b.sum.add(p)
		return
	}
	b.sum.set(p)
	b.used = true
}

func (b *bucket) subtract(p *Point) {
	if b.used {
		b.sum.subtract(p)
		return
	}
	b.sum.setNegative(p)
	b.used = true
}

// addWindow adds Σ digit·point for one window to total.
func (c *curve) addWindow(total *extended, terms []term, w, size int, buckets []bucket) {
	for b := range buckets {
		buckets[b].used = false
	}
	for i := range terms {
		t := &terms[i]
		if size*w > t.bits {
			continue
		}
		d := t.digit(w, size)
		if t.negative {
			d = -d
		}
		switch {
		case d > 0:
			buckets[d-1].add(t.point)
		case d < 0:
			buckets[-d-1].subtract(t.point)
		}
	}
	// Σ (b+1)·buckets[b] is the sum over b of the sums of the buckets from b to the top.
	var running, sum extended
	running.identity()
	sum.identity()
	for b := len(buckets) - 1; b >= 0; b-- {
		if buckets[b].used {
			c.sum(&running, &buckets[b].sum)
		}
		c.sum(&sum, &running)
	}
	c.sum(total, &sum)
}
