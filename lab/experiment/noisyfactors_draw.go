package experiment

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
)

// normals are standard normal numbers for simulations, a function of their name
// alone, so that an experiment is repeatable. They protect no data: privacy needs the
// noise of crypto/noise.
type normals struct {
	stream cipher.Stream
	buf    [4096]byte
	next   int
	spare  float64
	ready  bool // spare is one
}

// newNormals expands a name by AES-256 in counter mode, keyed by its hash.
func newNormals(name string) (*normals, error) {
	key := sha256.Sum256([]byte("choir experiment " + name))
	block, err := aes.NewCipher(key[:])
	if err != nil {
		return nil, fmt.Errorf("experiment: %w", err)
	}
	n := &normals{stream: cipher.NewCTR(block, make([]byte, aes.BlockSize))}
	n.next = len(n.buf)
	return n, nil
}

// uniform is in (0, 1), a multiple of 2^-54.
func (n *normals) uniform() float64 {
	if n.next == len(n.buf) {
		clear(n.buf[:])
		n.stream.XORKeyStream(n.buf[:], n.buf[:])
		n.next = 0
	}
	w := binary.LittleEndian.Uint64(n.buf[n.next:])
	n.next += 8
	return (float64(w>>11) + 0.5) * 0x1p-53
}

// normal draws by the method of Box and Muller (1958), two at a time.
func (n *normals) normal() float64 {
	if n.ready {
		n.ready = false
		return n.spare
	}
	r := math.Sqrt(-2 * math.Log(n.uniform()))
	sin, cos := math.Sincos(2 * math.Pi * n.uniform())
	n.spare, n.ready = r*sin, true
	return r * cos
}
