package fixedpoint

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"choir/crypto/field"

	"pgregory.net/rapid"
)

// TestTailKeepsItsPromise computes the union bound in floating point, independently:
// it must be at most 2^-40, and not less than 2^-42 (rounding the events up to a
// power of two costs one bit, rounding the tail up to an integer another one).
func TestTailKeepsItsPromise(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := Headroom{
			Parties:       rapid.IntRange(1, 1_000_000).Draw(t, "parties"),
			NoiseVariance: rapid.Uint64Range(1<<20, 1<<62).Draw(t, "variance"),
			Dim:           rapid.IntRange(1, 1_000_000_000).Draw(t, "dim"),
			Rounds:        rapid.IntRange(1, 1_000_000).Draw(t, "rounds"),
		}
		tail := float64(h.Tail())
		events := math.Log2(2) + math.Log2(float64(h.Dim)) +
			math.Log2(float64(h.Rounds)) + math.Log2(float64(h.Parties)+1)
		perEvent := tail * tail / (2 * float64(h.Parties) * float64(h.NoiseVariance)) * math.Log2E
		if got := events - perEvent; got > -40+1e-6 || got < -42 {
			t.Fatalf("failure probability 2^%v for %+v with tail %v", got, h, tail)
		}
	})
}

// TestSubGaussianBound computes tails of sums of small discrete Gaussians from their
// probabilities and compares them with the bound that Tail builds on.
func TestSubGaussianBound(t *testing.T) {
	for _, variance := range []float64{0.5, 1, 2, 5, 30} {
		sum := []float64{1}
		for n := 1; n <= 4; n++ {
			sum = convolve(sum, probabilities(variance, 120))
			middle := len(sum) / 2
			tail := 0.0
			for x := middle; x > 0; x-- {
				tail += sum[middle-x] + sum[middle+x]
				bound := 2 * math.Exp(-float64(x*x)/(2*float64(n)*variance))
				if tail > bound*(1+1e-9)+1e-300 {
					t.Errorf("variance %v, %d summands: P(|sum| >= %d) = %v above %v", variance, n, x, tail, bound)
				}
			}
		}
	}
}

// probabilities returns those of -reach..reach.
func probabilities(variance float64, reach int) []float64 {
	p, total := make([]float64, 2*reach+1), 0.0
	for i := range p {
		x := float64(i - reach)
		p[i] = math.Exp(-x * x / (2 * variance))
		total += p[i]
	}
	for i := range p {
		p[i] /= total
	}
	return p
}

func convolve(a, b []float64) []float64 {
	c := make([]float64, len(a)+len(b)-1)
	for i, x := range a {
		for j, y := range b {
			c[i+j] += x * y
		}
	}
	return c
}

func TestHeadroomAtTheLimit(t *testing.T) {
	for _, h := range []Headroom{
		{Parties: 1, PerParty: uint64(field.MaxSigned), Dim: 1, Rounds: 1},
		{Parties: 2, PerParty: uint64(field.MaxSigned) / 2, Dim: 10, Rounds: 10},
		{Parties: 1 << 20, PerParty: uint64(field.MaxSigned) >> 20, Dim: 1 << 30, Rounds: 1000},
	} {
		if err := h.Check(); err != nil {
			t.Errorf("%+v: %v", h, err)
		}
		h.PerParty++
		if err := h.Check(); !errors.Is(err, ErrHeadroom) {
			t.Errorf("%+v: %v, want ErrHeadroom", h, err)
		}
	}
}

func TestHeadroomCountsTheNoise(t *testing.T) {
	h := Headroom{Parties: 10, NoiseVariance: 1 << 60, Dim: 218, Rounds: 15}
	tail := h.Tail()
	// sqrt(2 * 10 * 2^60 * ln 2 * (40 + 17)) = 2^30 * sqrt(790.2) = 2^30 * 28.11
	if ratio := float64(tail) / (1 << 30); ratio < 28.10 || ratio > 28.12 {
		t.Fatalf("tail is %v * 2^30, want 28.11", ratio)
	}
	h.PerParty = (uint64(field.MaxSigned) - tail) / 10
	if err := h.Check(); err != nil {
		t.Fatal(err)
	}
	h.PerParty++
	err := h.Check()
	if !errors.Is(err, ErrHeadroom) || !strings.Contains(err.Error(), "10 parties") ||
		!strings.Contains(err.Error(), "taking 1 off the fraction bits") {
		t.Fatalf("got %v, want ErrHeadroom with the numbers", err)
	}
}

// TestAdviceSuffices removes the number of fraction bits that the error recommends.
func TestAdviceSuffices(t *testing.T) {
	h := Headroom{Parties: 1000, PerParty: 1 << 61, NoiseVariance: 1 << 60, Dim: 1000, Rounds: 100}
	err := h.Check()
	if err == nil || !strings.Contains(err.Error(), "taking 8 off the fraction bits") {
		t.Fatalf("got %v, want advice to take 8 bits", err)
	}
	h.PerParty >>= 8
	h.NoiseVariance >>= 16
	if err := h.Check(); err != nil {
		t.Fatalf("the advice does not help: %v", err)
	}
}

func TestHeadroomWithoutNoise(t *testing.T) {
	if tail := (Headroom{Parties: 5, Dim: 5, Rounds: 5}).Tail(); tail != 0 {
		t.Fatalf("tail without noise is %d", tail)
	}
}

func TestHeadroomThatNothingFits(t *testing.T) {
	h := Headroom{Parties: math.MaxInt, PerParty: math.MaxUint64, NoiseVariance: math.MaxUint64,
		Dim: math.MaxInt, Rounds: math.MaxInt}
	if h.Tail() != math.MaxUint64 {
		t.Errorf("tail is %d, want the largest number", h.Tail())
	}
	if err := h.Check(); !errors.Is(err, ErrHeadroom) {
		t.Errorf("got %v, want ErrHeadroom", err)
	}
}

func TestHeadroomForNothing(t *testing.T) {
	for _, h := range []Headroom{{}, {Parties: 1, Dim: 1}, {Parties: 1, Rounds: 1}, {Dim: 1, Rounds: 1},
		{Parties: -1, Dim: 1, Rounds: 1}} {
		if err := h.Check(); !errors.Is(err, ErrHeadroomParameters) {
			t.Errorf("%+v: %v, want ErrHeadroomParameters", h, err)
		}
	}
}

// TestNormTail compares the bound with its formula in floating point, and checks that it is rounded up,
// saturates, and is above what noise of that law reaches.
func TestNormTail(t *testing.T) {
	for _, h := range []Headroom{
		{Parties: 1, NoiseVariance: 1, Dim: 1, Rounds: 1},
		{Parties: 10, NoiseVariance: 1 << 20, Dim: 10_000, Rounds: 7},
		{Parties: 100_000, NoiseVariance: 1 << 30, Dim: 1_000_000, Rounds: 1000},
	} {
		t.Run(fmt.Sprint(h), func(t *testing.T) {
			d, v := float64(h.Dim), float64(h.Parties)*float64(h.NoiseVariance)
			tail := (40 + math.Ceil(math.Log2(float64(h.Rounds)))) * math.Ln2
			want := math.Sqrt(v * (d + 2*math.Sqrt(d*tail) + 2*tail))
			if got := float64(h.NormTail()); got < want || got > 1.1*want+1 {
				t.Errorf("%g, want %g or little more", got, want)
			}
			if mean := math.Sqrt(v * d); float64(h.NormTail()) < mean {
				t.Errorf("below the noise's own norm, %g", mean)
			}
		})
	}
	h := Headroom{Parties: 1 << 30, NoiseVariance: 1 << 63, Dim: 1 << 40, Rounds: 1}
	if h.NormTail() != math.MaxUint64 {
		t.Errorf("%d does not fit into 64 bits", h.NormTail())
	}
}
