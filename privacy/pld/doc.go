// Package pld composes privacy loss distributions by FFT and returns bounds that
// bracket the truth: an upper and a lower bound on epsilon at delta, or on delta at epsilon.
//
// A term is a pair (P, Q) of distributions on the line whose hockey-stick curve
// dominates one step of a mechanism; composing steps convolves the distributions of
// the privacy loss ln(P/Q) under P (Theorem 27 of the dissertation, after Zhu et al. 2022).
// Four sources of error are bounded, none is hoped away:
//
//   - Discretisation. For the upper bound each piece of loss between two grid
//     points is split over both so that its mass under P and under Q stays: the curve is
//     interpolated from above (Doroshenko et al. 2022, "connect the dots"). For the
//     lower bound outputs are merged so that each merged loss is a grid point:
//     merging is post-processing. Both err in the second order of the grid's step.
//   - Truncation. Tails go to an infinite loss for the upper bound and are dropped for the lower.
//   - Wrap-around. The transform is periodic; what can wrap is bounded by Chernoff's inequality.
//   - Round-off. A bound on every coefficient of the transform is carried through
//     powering and inverse. Losses are tilted by e^(theta l) first, so that these errors are
//     relative to the size of delta rather than to 1.
//
// docs/privacy.md, section 6, has the inequalities. The package knows curves only:
// which pair belongs to which mechanism and relation is package privacy's business.
package pld
