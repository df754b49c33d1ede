// Package response has randomised response over a finite set of values, and estimates from the counts of
// its reports. A report is the own value with probability 1 - gamma, and otherwise uniform: it protects its
// value with a local epsilon of ln((k - (k-1) gamma)/gamma), against every observer. The counts of
// many reports are all that shuffling them reveals, and protect much better (package choir/privacy/shuffle).
//
// Everything random is drawn in integers, exactly: gamma is a multiple of 2^-32.
package response

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
)

// unit is the number of steps of gamma in 1.
const unit = 1 << 32

// maxCategories is the largest number of values.
const maxCategories = 1 << 20

// Response is the randomiser. Its zero value is not usable.
type Response struct {
	categories uint32
	gamma      uint64 // in units of 2^-32
}

// New returns the randomiser for values 0 to categories-1, with gamma in (0, 1] rounded up to a
// multiple of 2^-32. Other numbers are an error.
func New(categories int, gamma float64) (Response, error) {
	switch {
	case categories < 2 || categories > maxCategories:
		return Response{}, fmt.Errorf("response: %d categories aren't in 2..%d", categories, maxCategories)
	case !(gamma > 0 && gamma <= 1):
		return Response{}, fmt.Errorf("response: gamma %v isn't in (0, 1]", gamma)
	}
	return Response{uint32(categories), uint64(math.Ceil(gamma * unit))}, nil
}

// Gamma returns the exact probability of a uniform report.
func (r Response) Gamma() float64 { return float64(r.gamma) / unit }

// Report draws a report of a value. A number that is no value is an error, and so are the reader's.
func (r Response) Report(value int, random io.Reader) (int, error) {
	if value < 0 || value >= int(r.categories) {
		return 0, fmt.Errorf("response: the value isn't in 0..%d", r.categories-1)
	}
	coin, err := draw(random)
	if err != nil {
		return 0, err
	}
	// Draw in any case, so that the number of draws does not tell whether the report is random.
	uniform, err := below(r.categories, random)
	if err != nil {
		return 0, err
	}
	if uint64(coin) < r.gamma {
		return int(uniform), nil
	}
	return value, nil
}

// Level rounds x in [0, 1] to one of the k values, j for j/(k-1), at random so that the mean is kept:
// up to 2^-32, to which x is rounded first. Other numbers, and the reader's errors, are returned as an
// error.
func (r Response) Level(x float64, random io.Reader) (int, error) {
	if !(x >= 0 && x <= 1) {
		return 0, errors.New("response: the number isn't in [0, 1]")
	}
	coin, err := draw(random)
	if err != nil {
		return 0, err
	}
	at := uint64(math.Round(x*unit)) * uint64(r.categories-1)
	level := int(at / unit)
	if uint64(coin) < at%unit {
		level++
	}
	return level, nil
}

// Vector returns the contribution of some reports to the sum of counts.
func (r Response) Vector(reports ...int) []int64 {
	v := make([]int64, r.categories)
	for _, y := range reports {
		v[y]++
	}
	return v
}

func draw(random io.Reader) (uint32, error) {
	var b [4]byte
	if _, err := io.ReadFull(random, b[:]); err != nil {
		return 0, fmt.Errorf("response: %w", err)
	}
	return binary.BigEndian.Uint32(b[:]), nil
}

// below draws a uniform number below n by rejection.
func below(n uint32, random io.Reader) (uint32, error) {
	limit := unit / uint64(n) * uint64(n)
	for {
		x, err := draw(random)
		if err != nil {
			return 0, err
		}
		if uint64(x) < limit {
			return uint32(uint64(x) % uint64(n)), nil
		}
	}
}
