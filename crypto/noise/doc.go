// Package noise samples the discrete Gaussian exactly, in integer arithmetic only.
//
// # Contract
//
// [Gaussian] with variance parameter s^2, a fraction, returns the integer x with
// probability proportional to exp(-x^2 / 2s^2). No floating-point number and no
// approximation of the exponential is involved: given uniform words, the
// distribution is this one and no other, so that nothing has to be added to a delta
// for it. The one deviation is deliberate. Every loop has a limit, because a broken
// source of randomness (all zeros, say) could hold it forever; passing a limit is
// [ErrRandomness] instead of a sample, and has a probability below 2^-200 under
// uniform words.
//
// [Reference] has the same distribution and contract. It is the sampler of Canonne,
// Kamath and Steinke, "The Discrete Gaussian for Differential Privacy" (2020),
// Algorithms 1 to 3, tens of times slower, and is what Gaussian is held against.
//
// # Why Gaussian is exact
//
// Magnitudes are proposed by bins of width w, about s/16, from an envelope and
// accepted by Algorithm 1 (see [Gaussian]). The envelope is made exact by being made
// of whole cells, 2^63 in all, one of which is drawn uniformly. Bin k should have
// C f(k) of them with f(k) = exp(-(kw)^2 / 2s^2), and an integer C. It has
// floor(C f(k)), and one cell more that counts only with probability
// C f(k) - floor(C f(k)). A last cell holds all bins beyond the K-th: the v-th of them
// is proposed with probability 2^-(v+1) and counts with probability
// C f(K+v) 2^(v+1) <= 1. So a draw gives bin k with probability C f(k) / 2^63 for every
// k >= 0, and otherwise starts over; and x = kw + r, for each of w offsets r and two
// signs, with probability
//
//	C f(k) / 2^63 * 1/2w * exp(-x^2/2s^2) / f(k) = C / (2^64 w) * exp(-x^2 / 2s^2).
//
// The probabilities are compared with uniform numbers lazily: the first word of one
// decides except with probability 2^-63 or so, and then more digits are computed,
// with integers that enclose the number. The floors are computed the same way, with
// a precision that is raised until both ends of the enclosure have the same floor:
// exp of a rational number other than 0 is irrational, so that this ends.
//
// # Randomness
//
// Randomness comes from a reader that the caller passes, crypto/rand.Reader outside
// of tests. Sample and Reference use the reader's bytes as they are: little-endian
// words of eight bytes. Recorded bytes replay recorded samples.
//
// Gaussian's Fill reads 32 bytes and uses the AES-256-CTR keystream under that key,
// from counter 0, in place of the reader's bytes; apart from this it returns what as
// many calls of Sample would. This is the only assumption on top of the reader's own
// bytes: that AES-256 is a pseudorandom permutation. The samples of one call take
// less than 2 blocks each, so that for a call of d samples an efficient test tells
// the keystream from uniform words with an advantage a below d^2 2^-127 (no block
// comes twice; 2^-80 at d = 10^7) plus the advantage against AES-256 itself. A
// mechanism that is (epsilon, delta) under uniform words is, against efficient
// tests, (epsilon, delta + (1 + e^epsilon) a) under keystreams, with a summed over
// the calls. Reference needs no such assumption: it reads about 100 bytes a sample.
//
// A [Seed] stands for a vector that may have to be drawn again: FillChunk expands it
// to a key for each chunk and goes on as Fill does, under the same assumption. The
// keys of c chunks are 2c different blocks under one key, told from uniform ones with
// an advantage below (2c)^2 2^-129, and each chunk of 65536 samples adds 2^-95: at
// d = 10^7, where c = 153, less than 2^-87 in all.
//
// # Timing
//
// Sampling is not constant time. Which table entries a sample loads depends on its
// magnitude, and so does how often a proposal needs a closer look, or is rejected:
// from once in 500 in the innermost bin to most of the time in the outermost.
// Zero with the wrong sign is drawn again. In Reference a geometric loop runs
// once for each multiple of the standard deviation, roughly. Somebody who can time
// single samples, or watch the cache, learns something about their magnitudes. The
// sign takes no branch, except at zero. Fill a whole vector ahead of the path that
// answers requests, where only the total shows, and that late: the sum over d
// samples of a time that depends on each a little, behind noise that grows like
// sqrt(d). The cipher's key schedule stays in memory until it is collected.
package noise
