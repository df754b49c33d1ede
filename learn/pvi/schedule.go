package pvi

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
)

// Schedule returns the parties of a round: counted from 0, increasing, at least one. Rounds
// count from 1. A schedule is public and a pure function.
type Schedule func(round int) []int

// Asynchronous is the order of arrival in [Workshop]: one party a round, drawn from a public seed with
// a probability in inverse proportion to its number of records, as if all computed equally fast. sizes
// are the public numbers of records, all above 0. Errors: ErrConfig.
func Asynchronous(sizes []int, seed [32]byte) (Schedule, error) {
	up := make([]float64, len(sizes))
	total := 0.0
	for i, n := range sizes {
		if n < 1 {
			return nil, fmt.Errorf("%w: party %d has %d records", ErrConfig, i, n)
		}
		total += 1 / float64(n)
		up[i] = total
	}
	if len(sizes) == 0 {
		return nil, fmt.Errorf("%w: no parties", ErrConfig)
	}
	return func(round int) []int {
		u := uniform(seed, round, 0) * total
		i, _ := slices.BinarySearch(up, u)
		return []int{min(i, len(up)-1)}
	}, nil
}

// uniform returns a multiple of 2^-53 in [0, 1) for a position in a round.
func uniform(seed [32]byte, round, place int) float64 {
	b := binary.LittleEndian.AppendUint64(seed[:], uint64(round))
	h := sha256.Sum256(binary.LittleEndian.AppendUint64(b, uint64(place)))
	return float64(binary.LittleEndian.Uint64(h[:])>>11) * 0x1p-53
}
