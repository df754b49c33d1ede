package identity

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base32"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
)

// Sizes in bytes.
const (
	publicKeySize = 32
	SignatureSize = 64
	seedSize      = 32
)

var (
	// ErrPublicKey reports that bytes or text are not an acceptable public key:
	// wrong length, not a point, not canonically encoded, or of small order.
	ErrPublicKey = errors.New("not a valid public key")

	// ErrSecret is returned by everything that would marshal a private key.
	ErrSecret = errors.New("only WriteKeyFile stores private keys")
)

// PublicKey is the canonical 32-byte encoding of an Ed25519 public key
// (RFC 8032, section 5.1.5). Values are comparable. A PublicKey converted from
// raw bytes has not been checked; Verify checks it.
type PublicKey [publicKeySize]byte

// newPublicKey checks and copies a 32-byte public key. It returns ErrPublicKey
// if the length is wrong or the encoding is not canonical, and for the eight
// points of small order, for which signatures on anything can be forged.
func newPublicKey(b []byte) (PublicKey, error) {
	if len(b) != publicKeySize {
		return PublicKey{}, fmt.Errorf("%w: %d bytes, want %d", ErrPublicKey, len(b), publicKeySize)
	}
	k := PublicKey(b)
	if _, err := k.point(); err != nil {
		return PublicKey{}, err
	}
	return k, nil
}

// parsePublicKey reads the form that String writes, 64 lower-case hexadecimal
// digits, with the checks of newPublicKey.
func parsePublicKey(s string) (PublicKey, error) {
	var b [publicKeySize]byte
	if err := decodeHex(b[:], s); err != nil {
		return PublicKey{}, fmt.Errorf("%w: %w", ErrPublicKey, err)
	}
	return newPublicKey(b[:])
}

// String returns 64 lower-case hexadecimal digits.
func (k PublicKey) String() string { return hex.EncodeToString(k[:]) }

// Fingerprint returns a short form for people to compare: 128 bits of a hash in groups of four
// letters and digits, the last one of two. Programs compare keys.
func (k PublicKey) Fingerprint() string {
	h := sha256.New()
	io.WriteString(h, "choir identity fingerprint v1")
	h.Write(k[:])
	s := strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(h.Sum(nil)[:16]))
	var groups []string
	for ; len(s) > 4; s = s[4:] {
		groups = append(groups, s[:4])
	}
	return strings.Join(append(groups, s), "-")
}

// MarshalText returns the same as String.
func (k PublicKey) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText is parsePublicKey. On failure k is unchanged.
func (k *PublicKey) UnmarshalText(text []byte) error {
	parsed, err := parsePublicKey(string(text))
	if err != nil {
		return err
	}
	*k = parsed
	return nil
}

// Signature is an Ed25519 signature, R ‖ S (RFC 8032, section 5.1.6).
type Signature [SignatureSize]byte

// String returns 128 lower-case hexadecimal digits.
func (s Signature) String() string { return hex.EncodeToString(s[:]) }

// MarshalText returns the same as String.
func (s Signature) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText accepts exactly what MarshalText writes. It accepts any 64 bytes; Verify decides
// whether they are a signature of a message.
func (s *Signature) UnmarshalText(text []byte) error {
	var b Signature
	if err := decodeHex(b[:], string(text)); err != nil {
		return fmt.Errorf("identity: signature: %w", err)
	}
	*s = b
	return nil
}

// decodeHex fills dst from exactly 2*len(dst) lower-case hexadecimal digits.
func decodeHex(dst []byte, s string) error {
	if len(s) != 2*len(dst) {
		return fmt.Errorf("%d characters, want %d hexadecimal digits", len(s), 2*len(dst))
	}
	if strings.ContainsAny(s, "ABCDEF") {
		return errors.New("upper-case hexadecimal digits")
	}
	_, err := hex.Decode(dst, []byte(s))
	return err
}

// PrivateKey is an Ed25519 private key. It prints and logs as a placeholder and cannot be
// marshalled. The zero value is not a key; Generate and FromSeed return keys. Copies share the key
// material.
type PrivateKey struct {
	// A closure, because fmt does not call the methods of a PrivateKey in an unexported field
	// of another type, and follows pointers under some verbs. For a function it prints the
	// address.
	material func() *material
}

type material struct {
	expanded ed25519.PrivateKey
	public   PublicKey
}

// Generate derives a key from 32 bytes of r, which must be crypto/rand.Reader except in tests. It
// returns the reader's errors.
func Generate(r io.Reader) (*PrivateKey, error) {
	var seed [seedSize]byte
	if _, err := io.ReadFull(r, seed[:]); err != nil {
		return nil, fmt.Errorf("identity: reading randomness: %w", err)
	}
	return FromSeed(seed), nil
}

// FromSeed returns the key of a seed, which RFC 8032 calls the private key. The seed must be
// uniformly random and secret.
func FromSeed(seed [seedSize]byte) *PrivateKey {
	expanded := ed25519.NewKeyFromSeed(seed[:])
	m := &material{
		expanded: expanded,
		public:   PublicKey(expanded.Public().(ed25519.PublicKey)),
	}
	return &PrivateKey{func() *material { return m }}
}

// Public returns the public key.
func (k PrivateKey) Public() PublicKey { return k.material().public }

// Sign signs msg deterministically (Ed25519 of RFC 8032, without prehashing).
func (k PrivateKey) Sign(msg []byte) Signature {
	return Signature(ed25519.Sign(k.material().expanded, msg))
}

const redacted = "identity.PrivateKey(redacted)"

// String redacts.
func (PrivateKey) String() string { return redacted }

// GoString redacts.
func (PrivateKey) GoString() string { return redacted }

// Format redacts under every verb.
func (PrivateKey) Format(f fmt.State, _ rune) { io.WriteString(f, redacted) }

// LogValue redacts.
func (PrivateKey) LogValue() slog.Value { return slog.StringValue(redacted) }

// MarshalText returns ErrSecret, for JSON, TOML and gob alike.
func (PrivateKey) MarshalText() ([]byte, error) { return nil, ErrSecret }
