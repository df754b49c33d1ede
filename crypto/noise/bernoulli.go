package noise

import (
	"math/big"
	"math/bits"
)

const (
	// maxChain bounds the chain of Algorithm 1, which exceeds k trials with
	// probability at most 1/k!, and 1/64! < 2^-295.
	maxChain = 64

	// maxWhole bounds the trials for the integer part of an exponent, which all
	// succeed with probability exp(-512) < 2^-700.
	maxWhole = 512

	// maxTies bounds the number of consecutive words that equal a threshold, each
	// with probability 2^-64.
	maxTies = 4
)

// fraction is num/den in [0, 1), with the first 64 bits of its binary expansion. The sampler
// only compares it, divided by a small k, with a uniform number. The first word decides the
// comparison except with probability 2^-64, and only then are num and den needed.
type fraction struct {
	word     uint64 // floor(2^64 num / den)
	num, den uint128
}

// ratio returns num/den, for num < den.
func ratio(num, den uint64) fraction {
	word, _ := bits.Div64(num, 0, den)
	return fraction{word: word, num: uint128{lo: num}, den: uint128{lo: den}}
}

// bernoulliExp returns true with probability exp(-f): [CKS20], Algorithm 1 for gamma in
// [0, 1). Trial k of the chain succeeds with probability f/k, and the result is
// whether the first failure has an odd k.
func bernoulliExp(s *source, f *fraction) bool {
	for k := uint64(1); k <= maxChain; k++ {
		if !bernoulli(s, f, k) {
			return k%2 == 1
		}
	}
	s.fail()
	return false
}

// bernoulliExpOne returns true with probability exp(-1): Algorithm 1 for gamma = 1,
// where trial 1 always succeeds and consumes no randomness.
func bernoulliExpOne(s *source) bool {
	for k := uint64(2); k <= maxChain; k++ {
		f := ratio(1, k)
		if !bernoulli(s, &f, 1) {
			return k%2 == 1
		}
	}
	s.fail()
	return false
}

// bernoulliExpInt returns true with probability exp(-n): Algorithm 1's first loop
// for gamma > 1.
func bernoulliExpInt(s *source, n uint64) bool {
	for range min(n, maxWhole) {
		if !bernoulliExpOne(s) {
			return false
		}
	}
	if n > maxWhole {
		s.fail()
	}
	return n <= maxWhole
}

// bernoulli returns true with probability f/k, for k >= 1. It compares f/k with a uniform
// number in [0, 1) that it draws a word at a time.
func bernoulli(s *source, f *fraction, k uint64) bool {
	// floor(floor(2^64 f) / k) = floor(2^64 f / k)
	w, threshold := s.word(), f.word/k
	if w != threshold {
		return w < threshold
	}
	return bernoulliTied(s, f, k)
}

// bernoulliTied continues the comparison after a first word that equals that of f/k.
func bernoulliTied(s *source, f *fraction, k uint64) bool {
	den := f.den.big()
	den.Mul(den, new(big.Int).SetUint64(k))
	rest, threshold := f.num.big(), new(big.Int)
	for range maxTies {
		rest.Mod(rest.Lsh(rest, 64), den)
		if rest.Sign() == 0 {
			return false // the number is at least f/k, regardless of the words that follow
		}
		threshold.Div(threshold.Lsh(rest, 64), den)
		if w := s.word(); w != threshold.Uint64() {
			return w < threshold.Uint64()
		}
	}
	s.fail()
	return false
}
