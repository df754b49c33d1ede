// Package coin draws secret Poisson samples of records.
package coin

import (
	"encoding/binary"
	"io"
	"math"
)

// Coin is true with probability threshold / 2^64: the rate, exactly if it is a multiple of
// 2^-64 (every float64 of at least 2^-12 is), otherwise rounded down. A rate below the one
// of the accounting costs nothing: it is the mechanism at the higher rate with some of its
// draws ignored, and privacy loss is jointly convex in the pair of neighbours.
type Coin struct {
	always    bool
	threshold uint64
}

// New returns the coin of a rate in (0, 1]; at 1 it is always true.
func New(rate float64) Coin {
	if rate >= 1 {
		return Coin{always: true}
	}
	return Coin{threshold: uint64(math.Floor(math.Ldexp(rate, 64)))}
}

// Draw lists which of n records are drawn, each independently. It reads 8 bytes a record
// from rand, and none at rate 1.
func (c Coin) Draw(n int, rand io.Reader) (drawn []int, err error) {
	const block = 512
	var buf [8 * block]byte
	for from := 0; from < n; from += block {
		size := min(block, n-from)
		if !c.always {
			if _, err := io.ReadFull(rand, buf[:8*size]); err != nil {
				return nil, err
			}
		}
		for i := range size {
			if c.always || binary.LittleEndian.Uint64(buf[8*i:]) < c.threshold {
				drawn = append(drawn, from+i)
			}
		}
	}
	return drawn, nil
}
