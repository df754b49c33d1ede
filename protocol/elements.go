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

// ToField sets dst to the elements of such coordinates.
func (p *Plan) ToField(dst field.Vector, coordinates []int64) error {
	if p.Paired {
		return fixedpoint.PairToField(dst, coordinates)
	}
	return fixedpoint.ToField(dst, coordinates)
}

// OpenSum returns the coordinates of a sum of such integers, which the application folds. It
// rejects coordinates beyond limit (see MaxSum), and a sum of pairs with a second coordinate
// after the last one.
func (p *Plan) OpenSum(sum []int64, limit uint64) ([]int64, error) {
	coordinates := sum
	if p.Paired {
		coordinates = make([]int64, p.Dim)
		if err := fixedpoint.Unpair(coordinates, sum); err != nil {
			return nil, err
		}
	}
	return coordinates, checkSum(coordinates, limit)
}
