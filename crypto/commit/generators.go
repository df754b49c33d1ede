package commit

import (
	"encoding/binary"
	"errors"
	"fmt"

	"filippo.io/edwards25519"

	"choir/crypto/internal/msm"
)

// ErrLength reports that the length of a vector is not the number of generators.
var ErrLength = errors.New("commit: the length of the vector is not the number of generators")

// MaxDimension is the greatest number of generators in one Generators.
const MaxDimension = 1 << 24

// generatorDST is the domain separation tag of all generators.
const generatorDST = "CHOIR-V01-PEDERSEN-edwards25519_XMD:SHA-512_ELL2_RO_"

// Generators are the bases H and G_0 ... G_{d-1} for vectors of d coordinates, 120 bytes of memory
// each. They depend only on their indices, so that one set serves all plans. Deriving them is
// expensive, so callers should keep them. They may be used concurrently.
//
//	H   = hash_to_curve("blinding")
//	G_i = hash_to_curve("value" ‖ i as 8 bytes, big endian)
//
// with edwards25519_XMD:SHA-512_ELL2_RO_ of RFC 9380 and the tag
// "CHOIR-V01-PEDERSEN-edwards25519_XMD:SHA-512_ELL2_RO_".
type Generators struct {
	blinding *edwards25519.Point
	values   []msm.Point
}

// NewGenerators derives the generators for vectors of dimension coordinates, 1 to MaxDimension.
// Another dimension is an error.
func NewGenerators(dimension int) (*Generators, error) {
	if dimension < 1 || dimension > MaxDimension {
		return nil, fmt.Errorf("commit: dimension %d is not in [1, %d]", dimension, MaxDimension)
	}
	h, err := newCurveHash(generatorDST)
	if err != nil {
		return nil, err
	}
	g := &Generators{values: make([]msm.Point, dimension)}
	if g.blinding, err = h.point([]byte("blinding")); err != nil {
		return nil, err
	}
	const block = 256 // decoded points in memory at a time
	for lo := 0; lo < dimension; lo += block {
		if err := h.valueGenerators(g.values[lo:min(lo+block, dimension)], uint64(lo)); err != nil {
			return nil, err
		}
	}
	return g, nil
}

// valueGenerators sets dst to G_first, G_{first+1}, ...
func (h *curveHash) valueGenerators(dst []msm.Point, first uint64) error {
	points := make([]*edwards25519.Point, len(dst))
	for i := range points {
		msg := binary.BigEndian.AppendUint64([]byte("value"), first+uint64(i))
		var err error
		if points[i], err = h.point(msg); err != nil {
			return err
		}
	}
	msm.SetAll(dst, points)
	return nil
}

// Commit returns a commitment to values with a blinding scalar, which must be a new scalar from
// RandomScalar and stay secret except for its shares. All int64 values are allowed. It returns
// ErrLength if the number of values is not the dimension.
func (g *Generators) Commit(values []int64, blinding *Scalar) (Commitment, error) {
	p, err := g.combine(values, blinding)
	if err != nil {
		return Commitment{}, err
	}
	return encode(p), nil
}

// Opens reports whether c is the commitment to values with this blinding scalar: of one party, or
// sums of all three over a set. It returns ErrLength if the number of values is not the dimension.
func (g *Generators) Opens(c Commitment, values []int64, blinding *Scalar) (bool, error) {
	p, err := g.combine(values, blinding)
	if err != nil {
		return false, err
	}
	return encode(p) == c, nil
}

func (g *Generators) combine(values []int64, blinding *Scalar) (*edwards25519.Point, error) {
	if len(values) != len(g.values) {
		return nil, fmt.Errorf("%w: %d, want %d", ErrLength, len(values), len(g.values))
	}
	sum, err := sumOfProducts(g.values, values)
	if err != nil {
		return nil, fmt.Errorf("commit: %w", err)
	}
	return sum.Add(sum, new(edwards25519.Point).ScalarMult(blinding.value(), g.blinding)), nil
}
