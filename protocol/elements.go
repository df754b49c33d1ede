package protocol

import (
	"choir/crypto/field"
	"choir/crypto/fixedpoint"
)

// Updates and models are vectors of coordinates, which are clipped, noised and learned from.
// What is shared, added and published are field elements and the integers that they encode. An
// element is one coordinate or, if the plan's headroom allows, a pair of them, which halves
// what is expanded, sealed, hashed, committed to and sent.

// Elements returns the number of field elements of an update under the plan.
func (p *Plan) Elements() int {
	if p.Paired {
		return fixedpoint.Paired(int(p.Dim))
	}
	return int(p.Dim)
}

// PerElement returns the number of coordinates of an element, 1 or 2.
func (p *Plan) PerElement() int {
	if p.Paired {
		return 2
	}
	return 1
}

// Integers returns the integers of the elements of some coordinates: the coordinates
// themselves, or their pairs in dst, which must be long enough. The coordinates begin at an
// even index, and their number is even unless they end the update. It returns
// fixedpoint.ErrRange for a coordinate that is too large for a pair.
func (p *Plan) Integers(dst, coordinates []int64) ([]int64, error) {
	if !p.Paired {
		return coordinates, nil
	}
	dst = dst[:fixedpoint.Paired(len(coordinates))]
	return dst, fixedpoint.Pair(dst, coordinates)
}

// ToField sets dst to the elements of such coordinates, of any value. A coordinate beyond
// the plan's headroom, which noise makes less often than once in 2^40 plans, is reduced modulo p.
// So the published sum is always a function of the sum of the coordinates: a contribution that
// were held back for its size would change the distribution that the privacy claim is about.
func (p *Plan) ToField(dst field.Vector, coordinates []int64) {
	if p.Paired {
		if fixedpoint.PairToField(dst, coordinates) == nil {
			return
		}
		for i := range dst[:fixedpoint.Paired(len(coordinates))] {
			dst[i] = reduced(coordinates[2*i])
			if 2*i+1 < len(coordinates) {
				dst[i] = field.Add(dst[i], field.Mul(1<<32, reduced(coordinates[2*i+1])))
			}
		}
		return
	}
	if fixedpoint.ToField(dst, coordinates) == nil {
		return
	}
	for i, x := range coordinates {
		dst[i] = reduced(x)
	}
}

// reduced returns x modulo p.
func reduced(x int64) field.Element {
	if x < 0 {
		return field.Neg(field.Element(-uint64(x)))
	}
	return field.Element(uint64(x))
}

// OpenSum returns the coordinates of a sum of such integers, which the application folds. It
// rejects a sum beyond limit (see MaxSum), and a sum of pairs with a second coordinate
// after the last one.
func (p *Plan) OpenSum(sum []int64, limit SumLimit) ([]int64, error) {
	coordinates := sum
	if p.Paired {
		coordinates = make([]int64, p.Dim)
		if err := fixedpoint.Unpair(coordinates, sum); err != nil {
			return nil, err
		}
	}
	return coordinates, checkSum(coordinates, limit)
}
