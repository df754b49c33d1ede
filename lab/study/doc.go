// Package study is the common form of the experiments: what a study is, what it
// leaves behind and how it is judged.
//
// A study runs a number of seeds (1, 2, 3, ...) and gives a Result: rows that hold a
// published figure beside ours, the settings, what every method spent of its budget
// (computed by an accountant, never typed in), and curves. A Result is all that the
// tables, the figures and docs/results.md are made of, so that a document can be held
// to the runs that it shows.
//
// # Verdicts
//
// A row's difference is ours minus the published figure, with the standard error of
// our mean over seeds. With t the 97.5 % quantile of Student's distribution with seeds
// - 1 degrees of freedom, and p the precision with which the figure could be read, the
// verdict is "reproduced" when the difference is within t standard errors plus p,
// else "better" or "worse". The papers' own standard errors aren't known to us but for
// a few and aren't counted: a difference within both errors may still be called better or worse.
// A study says itself when a figure isn't reproducible, and why.
//
// The package knows nothing of protocols or models.
package study
