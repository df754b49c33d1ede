package identity

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"time"

	"golang.org/x/crypto/cryptobyte"
)

var (
	// ErrExpired reports that the validity of a card has ended.
	ErrExpired = errors.New("the card has expired")
	// ErrNotYetValid reports that the validity of a card has not begun.
	ErrNotYetValid = errors.New("the card is not valid yet: look at the clock of this machine, and " +
		"of the one that made the key")
	// ErrBadSignature reports that a card is not signed by the key in it.
	ErrBadSignature = errors.New("the card's signature is wrong")
	// ErrCard reports that a card is malformed.
	ErrCard = errors.New("malformed card")
	// ErrName reports that a name violates the rules of CheckName.
	ErrName = errors.New("not a valid name")
)

// maxNameLen is the greatest length of a name in characters.
const maxNameLen = 32

// maxTime is the last second of the year 9999, the latest time that the text form represents.
const maxTime = 253402300799

const cardDomain = "choir identity card v1"

// CheckName returns ErrName unless name has 1 to 32 characters of [a-z0-9-] and
// starts with a letter.
func CheckName(name string) error {
	if len(name) == 0 || len(name) > maxNameLen {
		return fmt.Errorf("%w: %d characters, want 1 to %d", ErrName, len(name), maxNameLen)
	}
	if name[0] < 'a' || name[0] > 'z' {
		return fmt.Errorf("%w: %q does not start with a lower-case letter", ErrName, name)
	}
	for _, c := range []byte(name) {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' {
			return fmt.Errorf("%w: %q has characters other than a-z, 0-9 and -", ErrName, name)
		}
	}
	return nil
}

// Card introduces a member to the author of a plan: its name and public key, signed by that key,
// for a limited time. It proves possession of the private key, but not who has it; people compare
// fingerprints for that.
type Card struct {
	Name      string
	Key       PublicKey
	NotBefore int64 // first valid second, Unix time, 0 or later
	NotAfter  int64 // last valid second, Unix time, year 9999 or earlier
	Sig       Signature
}

// NewCard returns a signed card.
func NewCard(key *PrivateKey, name string, notBefore, notAfter int64) (Card, error) {
	c := Card{Name: name, Key: key.Public(), NotBefore: notBefore, NotAfter: notAfter}
	if err := c.check(); err != nil {
		return Card{}, err
	}
	msg, err := c.signed()
	if err != nil {
		return Card{}, err
	}
	c.Sig = key.Sign(msg)
	return c, nil
}

// Verify checks the card at the Unix time now: its form, its signature
// (ErrBadSignature), then the time (ErrNotYetValid, ErrExpired).
func (c Card) Verify(now int64) error {
	if err := c.check(); err != nil {
		return err
	}
	msg, err := c.signed()
	if err != nil {
		return err
	}
	switch {
	case !Verify(c.Key, msg, c.Sig):
		return fmt.Errorf("%w (%s)", ErrBadSignature, c.Name)
	case now < c.NotBefore:
		return fmt.Errorf("%w (%s, from %s)", ErrNotYetValid, c.Name, formatTime(c.NotBefore))
	case now > c.NotAfter:
		return fmt.Errorf("%w (%s, on %s)", ErrExpired, c.Name, formatTime(c.NotAfter))
	}
	return nil
}

// check makes all checks except those of the signature and the current time.
func (c Card) check() error {
	if err := CheckName(c.Name); err != nil {
		return fmt.Errorf("%w: %w", ErrCard, err)
	}
	if c.NotBefore < 0 || c.NotAfter > maxTime || c.NotBefore > c.NotAfter {
		return fmt.Errorf("%w: valid from %d to %d", ErrCard, c.NotBefore, c.NotAfter)
	}
	return nil
}

// signed returns the canonical encoding that the signature covers, integers big
// endian:
//
//	domain length (1) ‖ "choir identity card v1" ‖ name length (1) ‖ name ‖
//	key (32) ‖ not before (8) ‖ not after (8)
func (c Card) signed() ([]byte, error) {
	var b cryptobyte.Builder
	for _, s := range []string{cardDomain, c.Name} {
		b.AddUint8LengthPrefixed(func(b *cryptobyte.Builder) { b.AddBytes([]byte(s)) })
	}
	b.AddBytes(c.Key[:])
	b.AddUint64(uint64(c.NotBefore))
	b.AddUint64(uint64(c.NotAfter))
	return b.Bytes()
}

// MarshalText returns the card as a text file:
//
//	choir identity card v1
//	name: north-hospital
//	key: 64 hexadecimal digits
//	not-before: 2026-01-01T00:00:00Z
//	not-after: 2027-01-01T00:00:00Z
//	signature: 128 hexadecimal digits
func (c Card) MarshalText() ([]byte, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	fmt.Fprintln(&b, cardDomain)
	values := []string{
		c.Name, c.Key.String(), formatTime(c.NotBefore), formatTime(c.NotAfter), c.Sig.String(),
	}
	for i, v := range values {
		fmt.Fprintf(&b, "%s: %s\n", cardFields[i], v)
	}
	return b.Bytes(), nil
}

var cardFields = [...]string{"name", "key", "not-before", "not-after", "signature"}

// UnmarshalText accepts exactly what MarshalText writes. On failure (ErrCard) c is unchanged. It
// does not check the signature or the time; Verify does.
func (c *Card) UnmarshalText(text []byte) error {
	values, err := cardLines(string(text))
	if err != nil {
		return fmt.Errorf("%w: %w", ErrCard, err)
	}
	parsed := Card{Name: values[0]}
	if parsed.Key, err = parsePublicKey(values[1]); err != nil {
		return fmt.Errorf("%w: %w", ErrCard, err)
	}
	if parsed.NotBefore, err = parseTime(values[2]); err != nil {
		return fmt.Errorf("%w: not-before: %w", ErrCard, err)
	}
	if parsed.NotAfter, err = parseTime(values[3]); err != nil {
		return fmt.Errorf("%w: not-after: %w", ErrCard, err)
	}
	if err = parsed.Sig.UnmarshalText([]byte(values[4])); err != nil {
		return fmt.Errorf("%w: %w", ErrCard, err)
	}
	canonical, err := parsed.MarshalText()
	if err != nil {
		return err
	}
	if !bytes.Equal(canonical, text) {
		return fmt.Errorf("%w: not in canonical form", ErrCard)
	}
	*c = parsed
	return nil
}

// cardLines returns the values of cardFields in the text form.
func cardLines(text string) (values [len(cardFields)]string, err error) {
	lines := strings.Split(text, "\n")
	if lines[0] != cardDomain {
		return values, fmt.Errorf("the first line is not %q; a card is the .card file that keygen writes",
			cardDomain)
	}
	if len(lines) != len(cardFields)+2 || lines[len(lines)-1] != "" {
		return values, fmt.Errorf("%d lines, want %d with a newline after each", len(lines)-1, len(cardFields)+1)
	}
	for i, field := range cardFields {
		v, ok := strings.CutPrefix(lines[i+1], field+": ")
		if !ok {
			return values, fmt.Errorf("line %d is not \"%s: ...\"", i+2, field)
		}
		values[i] = v
	}
	return values, nil
}

func formatTime(unix int64) string { return time.Unix(unix, 0).UTC().Format(time.RFC3339) }

func parseTime(s string) (int64, error) {
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return 0, errors.New("not a time like 2026-01-01T00:00:00Z")
	}
	return t.Unix(), nil
}
