package channel

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
)

// Overhead is the number of bytes that sealing adds to each chunk.
const Overhead = 16

// ErrOpen reports that a chunk was altered or has another index, context or key than the one with
// which it was sealed.
var ErrOpen = errors.New("channel: the sealed chunk does not open")

// Box seals the chunks of one message with AES-256-GCM, in any order and in
// parallel. Its construction follows STREAM (Hoang, Reyhanitabar, Rogaway and
// Vizár, "Online authenticated-encryption and its nonce-reuse misuse-
// resistance", 2015): the nonce of a chunk, 12 bytes, is
//
//	zero (7) ‖ chunk index, big endian (4) ‖ 1 if it is the last chunk, else 0 (1)
//
// and the associated data is the full context of the message, the same for each
// chunk. A receiver that opens chunks 0, 1, 2, ... up to the one that opens as the last therefore
// detects reordered, truncated and extended messages.
//
// A key must seal only ONE message: two plaintexts under the same key and chunk
// index break both secrecy and authenticity. Sealing the same message again, to retransmit it,
// gives the same bytes and is harmless.
type Box struct {
	aead cipher.AEAD
	ad   []byte
}

// NewBox returns a box for the message with this key, from Secret.Derive, and
// this context: plan, round, attempt, from, to, kind. It copies ad.
func NewBox(key [32]byte, ad []byte) (*Box, error) {
	block, err := aes.NewCipher(key[:])
	if err != nil {
		return nil, fmt.Errorf("channel: %w", err)
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		return nil, fmt.Errorf("channel: %w", err)
	}
	return &Box{aead: aead, ad: bytes.Clone(ad)}, nil
}

// Seal appends the sealed chunk, len(plaintext)+Overhead bytes, to dst. A
// plaintext may be sealed in place with dst = plaintext[:0]; otherwise the two
// must not overlap.
func (b *Box) Seal(dst []byte, chunk uint32, last bool, plaintext []byte) []byte {
	n := nonce(chunk, last)
	return b.aead.Seal(dst, n[:], plaintext, b.ad)
}

// Open appends the opened chunk to dst, or returns nil and ErrOpen. The caller must derive the index
// of the chunk, and whether it is the last, from its own count, never from the sender. A
// ciphertext may be opened in place with dst = ciphertext[:0]; if that fails, it is overwritten.
func (b *Box) Open(dst []byte, chunk uint32, last bool, ciphertext []byte) ([]byte, error) {
	n := nonce(chunk, last)
	out, err := b.aead.Open(dst, n[:], ciphertext, b.ad)
	if err != nil {
		return nil, fmt.Errorf("%w (chunk %d)", ErrOpen, chunk)
	}
	return out, nil
}

func nonce(chunk uint32, last bool) (n [12]byte) {
	binary.BigEndian.PutUint32(n[7:], chunk)
	if last {
		n[11] = 1
	}
	return n
}

const redactedBox = "channel.Box(redacted)"

// String redacts.
func (*Box) String() string { return redactedBox }

// GoString redacts.
func (*Box) GoString() string { return redactedBox }

// Format redacts under every verb.
func (*Box) Format(f fmt.State, _ rune) { io.WriteString(f, redactedBox) }

// LogValue redacts.
func (*Box) LogValue() slog.Value { return slog.StringValue(redactedBox) }

// MarshalText returns ErrSecret.
func (*Box) MarshalText() ([]byte, error) { return nil, ErrSecret }
