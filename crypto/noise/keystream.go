package noise

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"fmt"
	"io"
)

// keySize is the number of bytes that Fill reads: an AES-256 key.
const keySize = 32

// maxKeystreamBuffer is the number of bytes of keystream that are computed at a time: enough to
// keep the pipeline of the cipher busy, few enough to stay in the first-level cache.
const maxKeystreamBuffer = 4096

// keystream is a reader of the AES-256-CTR keystream from counter 0.
type keystream struct{ stream cipher.Stream }

// newKeystream reads a key from r. It returns ErrRandomness for a key of 32 equal bytes, which has
// probability 2^-248 and indicates a broken source that the keystream would conceal.
func newKeystream(r io.Reader) (*keystream, error) {
	var key [keySize]byte
	defer clear(key[:])
	if _, err := io.ReadFull(r, key[:]); err != nil {
		return nil, fmt.Errorf("noise: reading randomness: %w", err)
	}
	if bytes.Count(key[:], key[:1]) == keySize {
		return nil, ErrRandomness
	}
	block, err := aes.NewCipher(key[:])
	if err != nil {
		return nil, fmt.Errorf("noise: expanding randomness: %w", err)
	}
	var start [aes.BlockSize]byte
	return &keystream{stream: cipher.NewCTR(block, start[:])}, nil
}

// Read fills p.
func (k *keystream) Read(p []byte) (int, error) {
	clear(p)
	k.stream.XORKeyStream(p, p)
	return len(p), nil
}
