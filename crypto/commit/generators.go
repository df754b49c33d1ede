package commit

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"filippo.io/edwards25519"

	"choir/crypto/internal/msm"
)

// ErrLength reports that the length of a vector is not the number of generators.
var ErrLength = errors.New("commit: the length of the vector is not the number of generators")

// MaxDimension is the greatest number of generators in one Generators.
const MaxDimension = 1 << 24

// generatorDST is the domain separation tag of all generators.
const generatorDST = "CHOIR-V01-PEDERSEN-edwards25519_XMD:SHA-512_ELL2_RO_"

// Config selects the generators to derive.
type Config struct {
	// First is the index of the first generator. A commitment to a vector can be computed in
	// blocks, each with the generators of its coordinates, and the commitments added.
	First uint64
	// Dimension is the number of coordinates, 1 to MaxDimension. A generator
	// takes 120 bytes of memory.
	Dimension int
	// Workers is the number of goroutines for deriving and committing. With 0 or 1
	// only the goroutine of the caller is used.
	Workers int
}

// validate returns an error if a value is out of the range documented at its field.
func (c Config) validate() error {
	switch {
	case c.Dimension < 1 || c.Dimension > MaxDimension:
		return fmt.Errorf("commit: dimension %d is not in [1, %d]", c.Dimension, MaxDimension)
	case c.First > math.MaxUint64-uint64(c.Dimension):
		return fmt.Errorf("commit: %d generators from index %d wrap around", c.Dimension, c.First)
	case c.Workers < 0:
		return fmt.Errorf("commit: %d workers", c.Workers)
	}
	return nil
}

// Generators are the bases H and G_First ... G_{First+Dimension-1}. They depend
// only on their indices, so that one set serves all plans. Deriving them is expensive, so callers
// should keep them. They may be used concurrently.
//
//	H   = hash_to_curve("blinding")
//	G_i = hash_to_curve("value" ‖ i as 8 bytes, big endian)
//
// with edwards25519_XMD:SHA-512_ELL2_RO_ of RFC 9380 and the tag
// "CHOIR-V01-PEDERSEN-edwards25519_XMD:SHA-512_ELL2_RO_".
type Generators struct {
	cfg      Config
	blinding *edwards25519.Point
	values   []msm.Point
}

// NewGenerators derives generators.
func NewGenerators(cfg Config) (*Generators, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	h, err := newCurveHash(generatorDST)
	if err != nil {
		return nil, err
	}
	g := &Generators{cfg: cfg, values: make([]msm.Point, cfg.Dimension)}
	if g.blinding, err = h.point([]byte("blinding")); err != nil {
		return nil, err
	}
	// In blocks, so that goroutines do not write to the same cache lines.
	const block = 256
	blocks := (cfg.Dimension + block - 1) / block
	errs := make([]error, blocks)
	parallel(blocks, cfg.Workers, func(b int) {
		lo, hi := b*block, min((b+1)*block, cfg.Dimension)
		errs[b] = h.valueGenerators(g.values[lo:hi], cfg.First+uint64(lo))
	})
	if err := errors.Join(errs...); err != nil {
		return nil, err
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
	sum, err := sumOfProducts(g.values, values, g.cfg.Workers)
	if err != nil {
		return nil, fmt.Errorf("commit: %w", err)
	}
	return sum.Add(sum, new(edwards25519.Point).ScalarMult(blinding.value(), g.blinding)), nil
}
