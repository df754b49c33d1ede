// Package noise samples the discrete Gaussian exactly, in integer arithmetic only,
// after Canonne, Kamath and Steinke, "The Discrete Gaussian for Differential
// Privacy" (2020), Algorithms 1 to 3.
//
// # Contract
//
// [Gaussian] with variance parameter s^2 returns the integer x with probability
// proportional to exp(-x^2 / 2s^2). No floating-point number and no approximation
// of the exponential is involved: given uniform bytes, the distribution is this one
// and no other. The one deviation is deliberate. Every loop has a limit, because a
// broken source of randomness (all zeros, say) could hold it forever; passing a
// limit is [ErrRandomness] instead of a sample, and has a probability below 2^-200
// under uniform bytes.
//
// Randomness comes from a reader that the caller passes, crypto/rand.Reader outside
// of tests. Samples are a function of the bytes read, eight a trial, read as
// little-endian words, so that recorded bytes replay recorded samples. Fill reads
// ahead and throws away what it doesn't use; apart from this it returns what as
// many calls of Sample would.
//
// # Timing
//
// Sampling is not constant time. How long a sample takes, and how many bytes it
// reads, depends on rejections and on the magnitude: a geometric loop runs once for
// each multiple of the standard deviation, roughly. Somebody who can time single
// samples learns something about their magnitudes. Sample a whole vector ahead of
// the path that answers requests, where only the total shows, and that late.
package noise
