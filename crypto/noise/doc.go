// Package noise samples the discrete Gaussian exactly, with integer arithmetic only.
//
// # Contract
//
// [Gaussian] with variance parameter s^2, a fraction, returns the integer x with
// probability proportional to exp(-x^2 / 2s^2). No floating-point number and no
// approximation of the exponential is involved. Given uniform words the distribution is
// exact, and a delta needs no correction for it, with one deliberate exception: every
// loop has a limit, because it would not terminate with a broken source of randomness
// (all zeros, for example). If a limit is exceeded, the result is [ErrRandomness] in place
// of a sample. With uniform words that has probability below 2^-200.
//
// [Reference] has the same distribution and contract. It is the sampler of [CKS20],
// Algorithms 1 to 3, tens of times slower. The tests compare Gaussian with it.
//
// # Why Gaussian is exact
//
// Magnitudes are proposed by bins of width w, about s/16, from an envelope and
// accepted by Algorithm 1 (see [Gaussian]). The envelope is exact because it consists of
// 2^63 cells, one of which is drawn uniformly. Bin k should have C f(k) cells, with
// f(k) = exp(-(kw)^2 / 2s^2) and an integer C. It has floor(C f(k)) cells, and one more
// that counts only with probability C f(k) - floor(C f(k)). One last cell represents all
// bins from the K-th on: the v-th of them is proposed with probability 2^-(v+1) and counts
// with probability C f(K+v) 2^(v+1) <= 1. So a draw gives bin k with probability
// C f(k) / 2^63 for every k >= 0, and otherwise starts over; and x = kw + r, for each of w
// offsets r and two signs, with probability
//
//	C f(k) / 2^63 * 1/2w * exp(-x^2/2s^2) / f(k) = C / (2^64 w) * exp(-x^2 / 2s^2).
//
// The probabilities are compared with uniform numbers lazily: the first word of a uniform
// number decides except with probability about 2^-63, and then more digits are computed,
// with integers that enclose the probability. The floors are computed in the same way, with
// a precision that is increased until both ends of the enclosure have the same floor. That
// terminates, since exp of a rational number other than 0 is irrational.
//
// # Randomness
//
// Randomness comes from a reader that the caller passes, crypto/rand.Reader outside
// of tests. Sample and Reference use the bytes of the reader directly, as little-endian
// words of eight bytes, so that the same bytes give the same samples.
//
// Gaussian's Fill reads 32 bytes and uses the AES-256-CTR keystream under that key,
// from counter 0, in place of the bytes of the reader; otherwise it returns what that many
// calls of Sample would. This adds one assumption: that AES-256 is a pseudorandom
// permutation. The samples of one call consume less than 2 blocks each, so that for a call of
// d samples an efficient test distinguishes the keystream from uniform words with an advantage
// a below d^2 2^-127 (no block repeats; 2^-80 at d = 10^7) plus the advantage against AES-256. A
// mechanism that is (epsilon, delta) under uniform words is, against efficient
// tests, (epsilon, delta + (1 + e^epsilon) a) under keystreams, with a summed over
// the calls. Reference needs no such assumption: it reads about 100 bytes a sample.
//
// A [Seed] determines a vector that can be drawn again: FillChunk derives a key for each chunk
// with BLAKE3 and then proceeds as Fill does. Under the additional assumption that BLAKE3's key
// derivation is a pseudorandom function of the seed, which package blake names, the keys are
// independent of each other and of all else that follows from the seed: a contribution's salt,
// which is public, and its blinding scalar. Each chunk of 65536 samples adds 2^-95.
//
// # Timing
//
// Sampling is not constant time. The table entries that a sample loads depend on its
// magnitude, and so does the probability that a proposal needs further words or is rejected:
// from 1/500 in the innermost bin to almost 1 in the outermost. Zero with the wrong sign is
// drawn again. In Reference a geometric loop runs about once for each multiple of the standard
// deviation. An observer that can time single samples, or the cache, learns something about
// their magnitudes. No branch depends on the sign, except at zero. Fill whole vectors before
// the code that answers requests runs: then an observer sees only the total time, in which
// the contribution of one sample is small against the variation over d samples, of order
// sqrt(d). The key schedule of the cipher stays in memory until it is garbage collected.
package noise
