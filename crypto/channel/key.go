package channel

import (
	"crypto/hpke"
	"errors"
	"fmt"
	"io"
	"log/slog"
)

// ErrSecret is returned by everything that would marshal a secret as text.
var ErrSecret = errors.New("channel: secrets are not marshalled")

// PrivateKey is the key of a compute node for one plan. It prints and logs as a
// placeholder. The zero value is not a key. Copies share the key material.
type PrivateKey struct {
	material func() keyMaterial // a closure: see identity.PrivateKey
}

type keyMaterial struct {
	suite Suite
	key   hpke.PrivateKey
}

func newPrivateKey(suite Suite, key hpke.PrivateKey) *PrivateKey {
	m := keyMaterial{suite, key}
	return &PrivateKey{func() keyMaterial { return m }}
}

// GenerateKey derives a key from 32 bytes of r, which must be crypto/rand.Reader except in tests, with
// DeriveKeyPair of the KEM (RFC 9180, section 4). The same bytes give the same key. It returns the
// reader's errors.
func GenerateKey(suite Suite, r io.Reader) (*PrivateKey, error) {
	kem, err := suite.kem()
	if err != nil {
		return nil, err
	}
	ikm := make([]byte, 32)
	if _, err := io.ReadFull(r, ikm); err != nil {
		return nil, fmt.Errorf("channel: reading randomness: %w", err)
	}
	key, err := kem.DeriveKeyPair(ikm)
	if err != nil {
		return nil, fmt.Errorf("channel: deriving key: %w", err)
	}
	return newPrivateKey(suite, key), nil
}

// NewPrivateKey decodes a key that Bytes encoded. Other lengths and encodings are an error.
func NewPrivateKey(suite Suite, b []byte) (*PrivateKey, error) {
	kem, err := suite.kem()
	if err != nil {
		return nil, err
	}
	key, err := kem.NewPrivateKey(b)
	if err != nil {
		return nil, fmt.Errorf("channel: private key for %v: %w", suite, err)
	}
	return newPrivateKey(suite, key), nil
}

// Public returns the public key: 32 bytes, or 1,216 in the hybrid suite. The node signs it with its
// identity, together with the plan.
func (k PrivateKey) Public() []byte { return k.material().key.PublicKey().Bytes() }

// Bytes encodes the private key (32 bytes in both suites) for the store of its owner. The result is
// secret.
func (k PrivateKey) Bytes() ([]byte, error) {
	b, err := k.material().key.Bytes()
	if err != nil {
		return nil, fmt.Errorf("channel: %w", err)
	}
	return b, nil
}

const redactedKey = "channel.PrivateKey(redacted)"

// String redacts.
func (PrivateKey) String() string { return redactedKey }

// GoString redacts.
func (PrivateKey) GoString() string { return redactedKey }

// Format redacts under every verb.
func (PrivateKey) Format(f fmt.State, _ rune) { io.WriteString(f, redactedKey) }

// LogValue redacts.
func (PrivateKey) LogValue() slog.Value { return slog.StringValue(redactedKey) }

// MarshalText returns ErrSecret, for JSON, TOML and gob alike.
func (PrivateKey) MarshalText() ([]byte, error) { return nil, ErrSecret }
