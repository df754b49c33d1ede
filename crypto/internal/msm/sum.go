package msm

import (
	"encoding/binary"
	"fmt"
	"math/bits"

	"filippo.io/edwards25519"

	"choir/crypto/internal/msm/lanes"
)

// Term is one product. Scalar is an integer of at most 2^255 - 1 in 32 bytes, little
// endian, as edwards25519.Scalar has it, and Negative says that it counts negatively.
type Term struct {
	Point    *Point
	Scalar   [32]byte
	Negative bool
}

// Sum returns Σ ±Scalar·Point; the sum of no terms is the identity.
func Sum(terms []Term) (*edwards25519.Point, error) {
	for i := range terms {
		if terms[i].Scalar[31] > 0x7f {
			return nil, fmt.Errorf("msm: scalar %d has 256 bits, at most 255 are allowed", i)
		}
	}
	c := newCurve()
	var total extended
	if lanes.Fast() {
		total = c.sumEight(terms)
	} else {
		total = c.sumOneByOne(terms)
	}
	return total.edwards()
}

// Fast reports whether sums are computed eight windows side by side, by the processor's
// vector instructions: from very few terms on.
func Fast() bool { return lanes.Fast() }

// sumOneByOne is Σ ±scalar·point without lanes.
func (c *curve) sumOneByOne(terms []Term) extended {
	ts, width := make([]term, len(terms)), 0
	for i := range terms {
		t := &ts[i]
		t.point, t.negative = terms[i].Point.addend(), terms[i].Negative
		for w := range t.scalar {
			t.scalar[w] = binary.LittleEndian.Uint64(terms[i].Scalar[8*w:])
			if t.scalar[w] > 0 {
				t.bits = 64*w + bits.Len64(t.scalar[w])
			}
		}
		width = max(width, t.bits)
	}
	return c.sumOfProducts(ts, width, windowSize(ts, width))
}

// term is a product as it is summed up.
type term struct {
	point    addend
	scalar   [4]uint64 // little endian
	bits     int       // the scalar's length
	negative bool
}

// sumOfProducts is Σ ±scalar·point, window by window from the top.
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

// windows is how many digits of so many bits a scalar has; the last one has room for
// the carry of the one before.
func windows(width, size int) int { return width/size + 1 }

// windowSize returns the size for which adding the points to buckets and the buckets up
// costs least: 7 multiplications for each digit, 18 for each bucket of each window, less 6
// for the first point in it.
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

// digit returns digit w of the scalar in [-2^(size-1), 2^(size-1)] (Booth): it reads
// the bits of its window and the one below them, so that it needs no carry. The sum of
// digit·2^(size·w) over all windows is the scalar.
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

// bucket is the sum of the points with one digit, or minus it. Without any it stands for
// the identity.
type bucket struct {
	sum  extended
	some bool
}

func (b *bucket) add(p *addend) {
	if b.some {
		b.sum.add(p)
		return
	}
	b.sum.set(p)
	b.some = true
}

func (b *bucket) subtract(p *addend) {
	if b.some {
		b.sum.subtract(p)
		return
	}
	b.sum.setNegative(p)
	b.some = true
}

// addWindow adds Σ digit·point for one window to total.
func (c *curve) addWindow(total *extended, terms []term, w, size int, buckets []bucket) {
	for b := range buckets {
		buckets[b].some = false
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
			buckets[d-1].add(&t.point)
		case d < 0:
			buckets[-d-1].subtract(&t.point)
		}
	}
	// Σ (b+1)·buckets[b], as the sum of all the sums from the top down to b.
	var running, sum extended
	running.identity()
	sum.identity()
	for b := len(buckets) - 1; b >= 0; b-- {
		if buckets[b].some {
			c.sum(&running, &buckets[b].sum)
		}
		c.sum(&sum, &running)
	}
	c.sum(total, &sum)
}
