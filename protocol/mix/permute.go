package mix

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
)

// permutation returns a uniform permutation of 0..n-1, drawn from r by the algorithm of Fisher and
// Yates (Knuth, The Art of Computer Programming 2, section 3.4.2, algorithm P).
func permutation(n int, r io.Reader) ([]int, error) {
	p := make([]int, n)
	for i := range p {
		p[i] = i
	}
	for i := n - 1; i > 0; i-- {
		j, err := below(uint64(i)+1, r)
		if err != nil {
			return nil, fmt.Errorf("permutation: %w", err)
		}
		p[i], p[j] = p[j], p[i]
	}
	return p, nil
}

// below returns a uniform number below n, 0 < n <= 2^32, by rejection.
func below(n uint64, r io.Reader) (uint64, error) {
	limit := math.MaxUint64 - math.MaxUint64%n // a multiple of n
	for {
		var b [8]byte
		if _, err := io.ReadFull(r, b[:]); err != nil {
			return 0, err
		}
		if v := binary.BigEndian.Uint64(b[:]); v < limit {
			return v % n, nil
		}
	}
}
