// Package newton computes posteriors from bounded steps: the noisy sums of parties' Newton steps at the
// dataset level, of which it knows the law (docs/noise-aware.md, section 9). Its input is public:
// nothing here costs privacy.
//
// A party's step from the public point m to the weights w is about A (w - m), with slopes A that its
// records and the bound leave. Steps is what rounds revealed. Its posterior has a law of directions where the
// last point is near the weights (series.go), and one of single weights where it is far (alone.go).
package newton
