package protocol

import (
	"choir/crypto/field"
	"choir/crypto/fixedpoint"
)

// What is shared, added and published under a plan are field elements and the integers that
// they stand for; what is clipped, noised and learnt from are coordinates. An element is a
// coordinate, or a pair of them where the plan's headroom has room for two: then half as
// much is expanded, sealed, hashed, committed to and sent.

// Elements is how many field elements an update under the plan has.
func (p *Plan) Elements() int {
	if p.Paired {
		return fixedpoint.Paired(int(p.Dim))
	}
	return int(p.Dim)
}

// PerElement is how many coordinates an element stands for, 1 or 2.
func (p *Plan) PerElement() int {
	if p.Paired {
		return 2
	}
	return 1
}

// Integers are the integers of coordinates' elements, which dst has room for: the coordinates
// themselves, or their pairs in dst. They may be the end of an update, or begin at an even
// coordinate and have an even number. A coordinate that doesn't fit is fixedpoint.ErrRange.
func (p *Plan) Integers(dst, coordinates []int64) ([]int64, error) {
	if !p.Paired {
		return coordinates, nil
	}
	dst = dst[:fixedpoint.Paired(len(coordinates))]
	return dst, fixedpoint.Pair(dst, coordinates)
}

// ToField sets dst to the elements of such coordinates, in one pass over them.
func (p *Plan) ToField(dst field.Vector, coordinates []int64) error {
	if p.Paired {
		return fixedpoint.PairToField(dst, coordinates)
	}
	return fixedpoint.ToField(dst, coordinates)
}

// OpenSum returns the coordinates of a sum of such integers: what the application folds. It
// refuses a coordinate beyond limit, which is MaxSum's, and a sum of pairs with
// something behind its last coordinate.
func (p *Plan) OpenSum(sum []int64, limit uint64) ([]int64, error) {
	coordinates := sum
	if p.Paired {
		coordinates = make([]int64, p.Dim)
		if err := fixedpoint.Unpair(coordinates, sum); err != nil {
			return nil, err
		}
	}
	return coordinates, CheckSum(coordinates, limit)
}
