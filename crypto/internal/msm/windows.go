package msm

import (
	"encoding/binary"

	"choir/crypto/internal/msm/lanes"
)

// The bucket method with eight windows of a scalar side by side: each lane has the buckets
// of its own window, so that adding a point to eight buckets, one in each lane, is one
// addition in lanes and no two of them ever meet. Windows are of 8 or of 4 bits; group g
// of them has windows 8g ... 8g+7, which lie side by side in the scalar's bytes.

// maxGroups is how many groups of windows of 4 bits there are.
const maxGroups = 256 / 4 / lanes.Width

// digits are a scalar's, signed: where |digit| is the bucket, and negative has a bit for
// each lane. Bucket 0 takes what isn't to be added anywhere.
type digits struct {
	bucket   [maxGroups][lanes.Width]uint8
	negative [maxGroups]uint8
	groups   int // those above are all 0
}

// set cuts a scalar of at most 2^255 into digits in [-(2^(size-1) - 1), 2^(size-1)] whose
// sum Σ digit·2^(size·w) is the scalar, or minus it. The top digit has no carry: its
// bits and the carry from below are 2^(size-1) at most.
func (d *digits) set(scalar *[32]byte, size int, negative bool) {
	*d = digits{}
	var sign uint8
	if negative {
		sign = 0xff
	}
	carry := uint64(0)
	for g := range 256 / size / lanes.Width {
		var word uint64 // the group's windows
		if size == 8 {
			word = binary.LittleEndian.Uint64(scalar[8*g:])
		} else {
			word = uint64(binary.LittleEndian.Uint32(scalar[4*g:]))
		}
		if word|carry == 0 {
			continue
		}
		d.groups = g + 1
		d.negative[g], carry = cut(&d.bucket[g], word, carry, uint(size))
		d.negative[g] ^= sign
	}
}

// cut cuts eight digits from a word and what is carried from below, and returns which
// are negative and what is carried from the last.
func cut(buckets *[lanes.Width]uint8, word, carry uint64, size uint) (negative uint8, out uint64) {
	half := uint64(1) << (size & 63) / 2
	for l := range buckets {
		x := word&(2*half-1) + carry
		word >>= size & 63
		carry = (x + half - 1) >> (size & 63) // 1 if x > 2^(size-1), and x - 2^size is taken
		buckets[l] = uint8((x ^ -carry) + carry + carry<<(size&63))
		negative |= uint8(carry) << l
	}
	return negative, carry
}

// sideBySide is what a sum of products in lanes works with.
type sideBySide struct {
	arithmetic
	v, running, total eight
	empty             lanes.Row
	buckets           []lanes.Row // bucket b of lane l is 8b + l
}

func newSideBySide(c *curve, size int) *sideBySide {
	s := &sideBySide{buckets: make([]lanes.Row, lanes.Width*(1<<(size-1)+1))}
	s.init(c)
	s.empty[lanes.Words], s.empty[2*lanes.Words] = 1, 1 // Y = Z = 1
	return s
}

// group sums one group of windows: lane l of s.total is Σ digit·point for window 8g+l.
func (s *sideBySide) group(terms []Term, all []digits, g int) {
	for b := range s.buckets {
		s.buckets[b] = s.empty
	}
	for i := range all {
		if d := &all[i]; g < d.groups {
			lanes.Load(&s.v.rows, s.buckets, &d.bucket[g])
			s.mixed(&s.v, terms[i].Point, d.negative[g])
			lanes.Store(s.buckets, &s.v.rows, &d.bucket[g])
		}
	}
	// Σ b·bucket b, as the sum of all the sums from the top down to b.
	s.running.identity()
	s.total.identity()
	for b := len(s.buckets)/lanes.Width - 1; b > 0; b-- {
		at := [lanes.Width]uint8{}
		for l := range at {
			at[l] = uint8(b)
		}
		lanes.Load(&s.v.rows, s.buckets, &at)
		s.sum(&s.running, &s.v)
		s.sum(&s.total, &s.running)
	}
}

// cutAll cuts all scalars and returns how many groups there are and how many additions of
// a point they take.
func cutAll(terms []Term, size int) (all []digits, groups, additions int) {
	all = make([]digits, len(terms))
	for i := range terms {
		all[i].set(&terms[i].Scalar, size, terms[i].Negative)
		groups, additions = max(groups, all[i].groups), additions+all[i].groups
	}
	return all, groups, additions
}

// sumEight is Σ ±scalar·point side by side, with windows of 8 bits or of 4. Windows of 4
// bits take twice as many groups and additions of a point, but a group's buckets, 8
// for 128, two additions each.
func (c *curve) sumEight(terms []Term) extended {
	all, groups, additions := cutAll(terms, 8)
	if additions < groups*2*(128-2*8) {
		all, groups, _ = cutAll(terms, 4)
		return c.sumGroups(terms, all, groups, 4)
	}
	return c.sumGroups(terms, all, groups, 8)
}

// sumGroups is the sum for scalars that have been cut.
func (c *curve) sumGroups(terms []Term, all []digits, groups, size int) (total extended) {
	s := newSideBySide(c, size)
	total.identity()
	for g := groups - 1; g >= 0; g-- {
		s.group(terms, all, g)
		for l := lanes.Width - 1; l >= 0; l-- {
			for range size {
				total.double()
			}
			window := s.total.lane(l)
			c.sum(&total, &window)
		}
	}
	return total
}
