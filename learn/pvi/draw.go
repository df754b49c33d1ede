package pvi

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"math/bits"
)

// draw returns one secret sample of n records, in increasing order for Poisson sampling and
// in the order of drawing for the other, and the weight of their sum: 1 over the share that
// is expected to be in the sample. Without sampling it returns all records.
//
// The bytes are those of rand, in uniform words of 8 bytes. Nothing is approximated in the
// direction that costs privacy: see poisson and fixed.
func (c Config) draw(n int, rand io.Reader) (rows []int, scale float64, err error) {
	switch p := c.params(); p.Sampling {
	case SamplingPoisson:
		rows, err = poisson(n, p.SampleRate, rand)
		return rows, 1 / p.SampleRate, err
	case SamplingFixed:
		size := fixedSize(n, p.SampleRate)
		rows, err = fixed(n, size, rand)
		if size > 0 {
			scale = float64(n) / float64(size)
		}
		return rows, scale, err
	}
	rows = make([]int, n)
	for i := range rows {
		rows[i] = i
	}
	return rows, 1, nil
}

// poisson takes each of n with probability floor(2^64 rate) / 2^64, which is the
// rate itself from 2^-11 on and less than it below: a smaller rate never costs more.
func poisson(n int, rate float64, rand io.Reader) ([]int, error) {
	words, err := words(n, rand)
	if err != nil {
		return nil, err
	}
	var rows []int
	threshold := math.Ldexp(rate, 64)
	for i, w := range words {
		if threshold >= 0x1p64 || w < uint64(threshold) {
			rows = append(rows, i)
		}
	}
	return rows, nil
}

// fixedSize is floor(rate n), exactly: its share of n is never above the rate that
// is accounted for.
func fixedSize(n int, rate float64) int {
	size := int(float64(n) * rate)
	if math.FMA(float64(n), rate, -float64(size)) < 0 { // the product was rounded up
		size--
	}
	return size
}

// fixed takes size of n, each set of that many equally likely: the first size
// places of a Fisher-Yates shuffle.
func fixed(n, size int, rand io.Reader) ([]int, error) {
	rows := make([]int, n)
	for i := range rows {
		rows[i] = i
	}
	for i := range size {
		j, err := below(uint64(n-i), rand)
		if err != nil {
			return nil, err
		}
		rows[i], rows[i+int(j)] = rows[i+int(j)], rows[i]
	}
	return rows[:size], nil
}

// below returns a uniform integer in [0, n), n > 0, exactly: the high half of n times a
// random word, where words that would make some results likelier are drawn again (Lemire
// 2019, Fast random integer generation in an interval).
func below(n uint64, rand io.Reader) (uint64, error) {
	for range 1 << 10 { // another round has probability below n / 2^64
		w, err := words(1, rand)
		if err != nil {
			return 0, err
		}
		hi, lo := bits.Mul64(w[0], n)
		if lo >= -n%n {
			return hi, nil
		}
	}
	return 0, fmt.Errorf("sample: %w: the source is not random", ErrNoise)
}

func words(n int, rand io.Reader) ([]uint64, error) {
	buf := make([]byte, 8*n)
	if _, err := io.ReadFull(rand, buf); err != nil {
		return nil, fmt.Errorf("sample: %w", err)
	}
	w := make([]uint64, n)
	for i := range w {
		w[i] = binary.LittleEndian.Uint64(buf[8*i:])
	}
	return w, nil
}
