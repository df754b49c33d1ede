package channel

import (
	"crypto/hpke"
	"errors"
	"fmt"
	"io"
	"log/slog"

	"choir/crypto/blake"
)

// SecretSize is the length of a channel secret in bytes.
const SecretSize = 32

// ErrChannel reports that a public key or an enc cannot be used.
var ErrChannel = errors.New("channel: cannot set up the channel")

const exportLabel = "choir channel v1"

// Secret is the shared secret of a channel. It prints and logs as a placeholder. The zero value is
// not a secret. Copies share the material.
type Secret struct {
	material func() *[SecretSize]byte // a closure: see identity.PrivateKey
}

// Initiate sets up a channel to the owner of peerPublic. It returns enc, which is public and is sent
// to that peer, and the secret. Its randomness is that of crypto/hpke, which does not accept another
// source. It returns ErrSuite or ErrChannel.
func Initiate(suite Suite, peerPublic, info []byte) (enc []byte, s *Secret, err error) {
	kem, err := suite.kem()
	if err != nil {
		return nil, nil, err
	}
	public, err := kem.NewPublicKey(peerPublic)
	if err != nil {
		return nil, nil, fmt.Errorf("%w: public key: %w", ErrChannel, err)
	}
	enc, sender, err := hpke.NewSender(public, hpke.HKDFSHA256(), hpke.AES256GCM(), info)
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %w", ErrChannel, err)
	}
	exported, err := sender.Export(exportLabel, SecretSize)
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %w", ErrChannel, err)
	}
	s, err = NewSecret(exported)
	return enc, s, err
}

// Accept recovers the secret of a channel from enc. An altered enc or another info gives another
// secret or ErrChannel. Success does not authenticate enc: only a Box that opens does.
func Accept(key *PrivateKey, enc, info []byte) (*Secret, error) {
	private := key.material().key
	recipient, err := hpke.NewRecipient(enc, private, hpke.HKDFSHA256(), hpke.AES256GCM(), info)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrChannel, err)
	}
	exported, err := recipient.Export(exportLabel, SecretSize)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrChannel, err)
	}
	return NewSecret(exported)
}

// NewSecret decodes a secret of 32 bytes, as Bytes returns it. Another length is an error.
func NewSecret(b []byte) (*Secret, error) {
	if len(b) != SecretSize {
		return nil, fmt.Errorf("channel: a secret of %d bytes, want %d", len(b), SecretSize)
	}
	m := [SecretSize]byte(b)
	return &Secret{func() *[SecretSize]byte { return &m }}, nil
}

// Bytes returns a copy of the secret for the store of its owner.
func (s Secret) Bytes() []byte {
	m := *s.material()
	return m[:]
}

// Derive returns the key for one use: derive_key of BLAKE3 with the purpose, a constant, as
// the context string and
//
//	secret ‖ context
//
// as the material. context is a prefix-free encoding of round, attempt, direction and everything
// else that distinguishes this use from all others of its purpose.
func (s Secret) Derive(purpose string, context []byte) [32]byte {
	return blake.Derive(purpose, s.material()[:], context)
}

const redactedSecret = "channel.Secret(redacted)"

// String redacts.
func (Secret) String() string { return redactedSecret }

// GoString redacts.
func (Secret) GoString() string { return redactedSecret }

// Format redacts under every verb.
func (Secret) Format(f fmt.State, _ rune) { io.WriteString(f, redactedSecret) }

// LogValue redacts.
func (Secret) LogValue() slog.Value { return slog.StringValue(redactedSecret) }

// MarshalText returns ErrSecret, for JSON, TOML and gob alike.
func (Secret) MarshalText() ([]byte, error) { return nil, ErrSecret }
