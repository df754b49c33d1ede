// Package pld composes privacy loss distributions by FFT. It returns upper and lower bounds on
// epsilon at delta, which enclose the true value.
//
// A term is a pair (P, Q) of distributions on the real line whose hockey-stick curve
// dominates one step of a mechanism. Composition convolves the distributions of
// the privacy loss ln(P/Q) under P ([Dissertation], Theorem 27, after [ZDW22]; [KJH20], [KJPH21]).
// Four sources of error are bounded:
//
//   - Discretisation. For the upper bound the mass of each interval between two grid
//     points is split over both so that its masses under P and under Q are preserved: the curve is
//     interpolated from above ([DGK22], connect the dots). For the
//     lower bound outputs are merged so that each merged loss is a grid point:
//     merging is post-processing. Both errors are of second order in the grid step.
//   - Truncation. Tails are moved to an infinite loss for the upper bound, and dropped for the lower.
//   - Wrap-around. The transform is periodic; the mass that can wrap is bounded by Chernoff's
//     inequality.
//   - Round-off. A bound on the error of every coefficient of the transform is propagated through the
//     power and the inverse transform. Losses are tilted by e^(theta l) first, so that these
//     errors are relative to the size of delta rather than to 1.
//
// docs/privacy.md, section 6, has the inequalities. The package only knows curves; package privacy
// chooses the pair for each mechanism and relation.
package pld
