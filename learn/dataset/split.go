package dataset

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
)

// Streams keep the uses of one seed apart.
const (
	streamRanged = iota
	streamPartition
	streamClients
	streamWeights
	streamFeatures
	streamLabels
	streamTwinWorld
	streamTwins // and all after it: one a part
)

func newRand(seed uint64, stream uint64) *rand.Rand {
	return rand.New(rand.NewPCG(seed, stream))
}

// Partition shuffles 0..n-1 by the seed and cuts it into len(fractions)+1 pieces: the i-th has floor(n
// * fractions[i]) elements, the last one the rest. Partition(n, seed, .5) is the half/half split in
// the code of [DP-PVI], .8 the 80/20 split of its text, and (.6, .2) also gives a validation part.
// Fractions outside of [0, 1] or that add up to more than 1 are an error.
func Partition(n int, seed uint64, fractions ...float64) ([][]int, error) {
	total := 0.0
	for _, f := range fractions {
		if !(f >= 0 && f <= 1) {
			return nil, fmt.Errorf("dataset: fraction %g is not in [0, 1]", f)
		}
		total += f
	}
	if n < 0 || total > 1+1e-12 {
		return nil, fmt.Errorf("dataset: cannot cut %d rows into fractions that sum to %g", n, total)
	}
	perm := newRand(seed, streamPartition).Perm(n)
	parts := make([][]int, 0, len(fractions)+1)
	for _, f := range fractions {
		k := min(floor(float64(n)*f), len(perm))
		parts = append(parts, perm[:k:k])
		perm = perm[k:]
	}
	return append(parts, perm), nil
}

// ClientSplit is the uneven distribution of rows in [DP-PVI], appendix B: half of the
// clients are small and the other half large, with
//
//	n_small = floor(n/M (1-rho)),  n_large = floor(n/M (1+rho)),
//
// and the small ones get a fraction lambda + (1-lambda) kappa of the majority class,
// rounded down to whole rows, where lambda is the majority's share of all rows. The small
// ones are filled first; the large ones share the rest at random. Rows that remain after
// rounding down are not used.
//
// [DP-PVI] has even M only. With odd M the middle client gets floor(n/M) rows at random.
type ClientSplit struct {
	Clients int     // M >= 1
	Rho     float64 // 0 (equal sizes) .. 1 (small clients get nothing)
	Kappa   float64 // 0 (equal labels) .. 1 (majority only), down to -lambda/(1-lambda) (minority only)
	Seed    uint64
}

// Causes of a rejected split.
var (
	// ErrNeedsClasses: labels cannot be skewed in regression.
	ErrNeedsClasses = errors.New("kappa needs a classification target")
	// ErrFewRows: a class has too few rows for the kappa.
	ErrFewRows = errors.New("not enough rows of a class: take fewer parties, or a kappa closer to 0")
)

// validate rejects parameters outside their ranges.
func (c ClientSplit) validate() error {
	switch {
	case c.Clients < 1:
		return fmt.Errorf("dataset: split over %d clients", c.Clients)
	case !(c.Rho >= 0 && c.Rho <= 1):
		return fmt.Errorf("dataset: split: rho %g is not in [0, 1]", c.Rho)
	case math.IsNaN(c.Kappa) || math.IsInf(c.Kappa, 0) || c.Kappa > 1:
		return fmt.Errorf("dataset: split: kappa %g is not at most 1", c.Kappa)
	}
	return nil
}

// sizes returns every client's number of rows, small ones first.
func (c ClientSplit) sizes(n int) []int {
	share := float64(n) / float64(c.Clients)
	sizes := make([]int, c.Clients)
	for i := range sizes {
		switch {
		case i < c.Clients/2:
			sizes[i] = floor(share * (1 - c.Rho))
		case i < c.Clients-c.Clients/2:
			sizes[i] = n / c.Clients
		default:
			sizes[i] = floor(share * (1 + c.Rho))
		}
	}
	return sizes
}

// Split returns, per client, the rows of a data set with targets y (indices into y); small clients
// come first. With kappa = 0 in regression rows go round at random; any other kappa needs
// classification, where y > 0 is one class and the rest the other. Errors: ErrNeedsClasses, too few
// rows for the clients.
func (c ClientSplit) Split(y []float64, classification bool) ([][]int, error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	if len(y) < c.Clients {
		return nil, fmt.Errorf("dataset: split: %d rows for %d clients", len(y), c.Clients)
	}
	if !classification && c.Kappa != 0 {
		return nil, fmt.Errorf("dataset: split: %w", ErrNeedsClasses)
	}
	rnd := newRand(c.Seed, streamClients)
	rest := rnd.Perm(len(y))
	sizes := c.sizes(len(y))
	parts := make([][]int, c.Clients)
	if classification {
		var err error
		if rest, err = c.fillSmall(y, rest, sizes, parts); err != nil {
			return nil, err
		}
		rnd.Shuffle(len(rest), func(i, j int) { rest[i], rest[j] = rest[j], rest[i] })
	}
	for i, n := range sizes {
		if parts[i] == nil {
			parts[i], rest = rest[:n:n], rest[n:]
		}
	}
	return parts, nil
}

// majorityFraction is the target fraction of the majority class on small clients,
// lambda + (1-lambda) kappa.
func (c ClientSplit) majorityFraction(lambda float64) float64 {
	return lambda + (1-lambda)*c.Kappa
}

// fillSmall assigns the small clients' rows and returns the rest of order.
func (c ClientSplit) fillSmall(y []float64, order, sizes []int, parts [][]int) ([]int, error) {
	major, minor := byClass(y, order)
	target := c.majorityFraction(float64(len(major)) / float64(len(y)))
	if target < 0 {
		return nil, fmt.Errorf("dataset: split: kappa %g needs a negative number of majority rows: %w",
			c.Kappa, ErrFewRows)
	}
	for i := range c.Clients / 2 {
		a := floor(float64(sizes[i]) * target)
		b := sizes[i] - a
		if a > len(major) || b > len(minor) {
			return nil, fmt.Errorf("dataset: split: client %d needs %d majority and %d minority rows, "+
				"%d and %d are left: %w",
				i, a, b, len(major), len(minor), ErrFewRows)
		}
		parts[i] = append(append(make([]int, 0, sizes[i]), major[:a]...), minor[:b]...)
		major, minor = major[a:], minor[b:]
	}
	return append(append(make([]int, 0, len(major)+len(minor)), major...), minor...), nil
}

// byClass divides rows by label and returns the larger class first.
func byClass(y []float64, order []int) (major, minor []int) {
	for _, i := range order {
		if y[i] > 0 {
			minor = append(minor, i)
		} else {
			major = append(major, i)
		}
	}
	if len(minor) > len(major) {
		major, minor = minor, major
	}
	return major, minor
}

// floor rounds down, forgiving the last bits of a product such as 0.3 * 10.
func floor(v float64) int { return int(math.Floor(v + 1e-9*math.Max(1, math.Abs(v)))) }
