package global

import (
	"encoding/binary"
	"io"
	"math"
)

// coin is true with probability threshold / 2^64: the rate, exactly if it is a multiple of
// 2^-64 (every float64 of at least 2^-12 is), otherwise rounded down. A rate below the one
// of the accounting costs nothing: it is the mechanism at the higher rate with some of its
// draws ignored, and privacy loss is jointly convex in the pair of neighbours.
type coin struct {
	always    bool
	threshold uint64
}

func newCoin(rate float64) coin {
	if rate >= 1 {
		return coin{always: true}
	}
	return coin{threshold: uint64(math.Floor(math.Ldexp(rate, 64)))}
}

// draw lists which of n records are drawn, each independently. It reads 8 bytes a record
// from rand, and none at rate 1.
func (c coin) draw(n int, rand io.Reader) (drawn []int, err error) {
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
