package commit

import (
	"errors"
	"fmt"
	"io"
	"log/slog"

	"filippo.io/edwards25519"
)

// ScalarSize is the length of an encoded scalar in bytes.
const ScalarSize = 32

// MaxShares is the greatest number of shares that Split returns.
const MaxShares = 1 << 10

var (
	// ErrScalar reports that bytes are not a canonical scalar.
	ErrScalar = errors.New("commit: not a valid scalar")
	// ErrSecret is returned by everything that would marshal a scalar as text.
	ErrSecret = errors.New("commit: blinding scalars are not marshalled")
)

// Scalar is an integer modulo the group order
// ℓ = 2^252 + 27742317777372353535851937790883648493: a blinding scalar, a
// share of one, or a sum. It prints and logs as a placeholder. The zero value is
// not a scalar. Scalars are immutable; arithmetic is constant time.
type Scalar struct {
	value func() *edwards25519.Scalar // a closure: see identity.PrivateKey
}

func newScalar(s *edwards25519.Scalar) *Scalar {
	return &Scalar{func() *edwards25519.Scalar { return s }}
}

// RandomScalar draws a scalar from 64 bytes of r, which must be crypto/rand.Reader except in tests.
// Its statistical distance from uniform is below 2^-256. It returns the reader's errors.
func RandomScalar(r io.Reader) (*Scalar, error) {
	var b [64]byte
	if _, err := io.ReadFull(r, b[:]); err != nil {
		return nil, fmt.Errorf("commit: reading randomness: %w", err)
	}
	s, err := edwards25519.NewScalar().SetUniformBytes(b[:])
	if err != nil {
		return nil, fmt.Errorf("commit: %w", err)
	}
	return newScalar(s), nil
}

// ParseScalar decodes 32 bytes, little endian. It returns ErrScalar unless they encode an integer
// below ℓ.
func ParseScalar(b []byte) (*Scalar, error) {
	if len(b) != ScalarSize {
		return nil, fmt.Errorf("%w: %d bytes, want %d", ErrScalar, len(b), ScalarSize)
	}
	s, err := edwards25519.NewScalar().SetCanonicalBytes(b)
	if err != nil {
		return nil, fmt.Errorf("%w: not below the group order", ErrScalar)
	}
	return newScalar(s), nil
}

// Bytes returns the canonical encoding, which ParseScalar decodes.
func (s Scalar) Bytes() []byte { return s.value().Bytes() }

// Split returns m shares, 1 to MaxShares, that add up to s modulo ℓ; any m-1 of
// them are uniform and independent of s. It reads 64 bytes of r for each share
// but the last.
func (s Scalar) Split(m int, r io.Reader) ([]*Scalar, error) {
	if m < 1 || m > MaxShares {
		return nil, fmt.Errorf("commit: %d shares, want 1 to %d", m, MaxShares)
	}
	shares := make([]*Scalar, m)
	last := edwards25519.NewScalar().Set(s.value())
	for i := range m - 1 {
		share, err := RandomScalar(r)
		if err != nil {
			return nil, err
		}
		shares[i] = share
		last.Subtract(last, share.value())
	}
	shares[m-1] = newScalar(last)
	return shares, nil
}

// SumScalars returns the sum modulo ℓ: of shares of a blinding scalar, or of the blinding scalars of
// several vectors.
func SumScalars(scalars []*Scalar) *Scalar {
	total := edwards25519.NewScalar()
	for _, s := range scalars {
		total.Add(total, s.value())
	}
	return newScalar(total)
}

const redacted = "commit.Scalar(redacted)"

// String redacts.
func (Scalar) String() string { return redacted }

// GoString redacts.
func (Scalar) GoString() string { return redacted }

// Format redacts under every verb.
func (Scalar) Format(f fmt.State, _ rune) { io.WriteString(f, redacted) }

// LogValue redacts.
func (Scalar) LogValue() slog.Value { return slog.StringValue(redacted) }

// MarshalText returns ErrSecret, for JSON, TOML and gob alike.
func (Scalar) MarshalText() ([]byte, error) { return nil, ErrSecret }
