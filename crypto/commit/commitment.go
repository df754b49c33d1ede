package commit

import (
	"encoding/hex"
	"errors"
	"fmt"

	"filippo.io/edwards25519"
)

// size is the length of a commitment in bytes.
const size = 32

// ErrCommitment reports that bytes are not a commitment.
var ErrCommitment = errors.New("commit: not a valid commitment")

// Commitment is the canonical encoding of a point of the prime-order subgroup.
// It is public; values are comparable. The zero value is not a commitment.
type Commitment [size]byte

// ParseCommitment checks and copies an untrusted commitment. It returns ErrCommitment unless it is
// the canonical encoding of a point in the prime-order subgroup.
func ParseCommitment(b []byte) (Commitment, error) {
	if len(b) != size {
		return Commitment{}, fmt.Errorf("%w: %d bytes, want %d", ErrCommitment, len(b), size)
	}
	c := Commitment(b)
	p, err := c.point()
	if err != nil {
		return Commitment{}, err
	}
	if !inPrimeSubgroup(p) {
		return Commitment{}, fmt.Errorf("%w: outside the prime-order subgroup", ErrCommitment)
	}
	return c, nil
}

// String returns 64 lower-case hexadecimal digits.
func (c Commitment) String() string { return hex.EncodeToString(c[:]) }

// Sum adds commitments: the result is the commitment to the sum of the vectors
// with the sum of the blinding scalars. The sum of none is the commitment to zeros with a blinding
// scalar of zero. It returns ErrCommitment if one does not decode. Untrusted commitments must have
// been checked by ParseCommitment.
func Sum(commitments []Commitment) (Commitment, error) {
	total := edwards25519.NewIdentityPoint()
	for i, c := range commitments {
		p, err := c.point()
		if err != nil {
			return Commitment{}, fmt.Errorf("commitment %d: %w", i, err)
		}
		total.Add(total, p)
	}
	return encode(total), nil
}

func encode(p *edwards25519.Point) Commitment { return Commitment(p.Bytes()) }

// point decodes canonical encodings only. The library also accepts others.
func (c Commitment) point() (*edwards25519.Point, error) {
	p, err := new(edwards25519.Point).SetBytes(c[:])
	if err != nil || encode(p) != c {
		return nil, fmt.Errorf("%w: not the canonical encoding of a point", ErrCommitment)
	}
	return p, nil
}

// inPrimeSubgroup reports whether ℓ·p = 0, as (ℓ-1)·p = -p because scalars are
// reduced modulo ℓ.
func inPrimeSubgroup(p *edwards25519.Point) bool {
	zero := edwards25519.NewScalar()
	minusOne := edwards25519.NewScalar().Subtract(zero, scalarOne())
	q := new(edwards25519.Point).VarTimeDoubleScalarBaseMult(minusOne, p, zero)
	return q.Equal(new(edwards25519.Point).Negate(p)) == 1
}

func scalarOne() *edwards25519.Scalar {
	// SetCanonicalBytes fails only for 32 bytes that are not below ℓ.
	s, _ := edwards25519.NewScalar().SetCanonicalBytes(append([]byte{1}, make([]byte, 31)...))
	return s
}
