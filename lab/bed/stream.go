package bed

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/sha256"
	"fmt"
	"io"
)

// Stream is an endless stream of bytes, a function of its name alone: AES-256 in
// counter mode, keyed by the name's hash.
func Stream(name string) io.Reader {
	key := sha256.Sum256([]byte("choir lab " + name))
	block, err := aes.NewCipher(key[:])
	if err != nil {
		return broken{fmt.Errorf("lab: %w", err)} // a key of 32 bytes is always taken
	}
	return stream{cipher.NewCTR(block, make([]byte, aes.BlockSize))}
}

type stream struct{ cipher.Stream }

// Read implements io.Reader.
func (s stream) Read(b []byte) (int, error) {
	clear(b)
	s.XORKeyStream(b, b)
	return len(b), nil
}

type broken struct{ error }

// Read implements io.Reader.
func (b broken) Read([]byte) (int, error) { return 0, b.error }
