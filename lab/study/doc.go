// Package study is the common form of the experiments: what a study is, what it leaves
// and how it is judged.
//
// A study runs a number of seeds (1, 2, 3, ...) and gives a Result: rows with a published
// figure and ours, the settings, what every method spent of its budget (computed by an
// accountant), and curves. Tables, figures and docs/results.md are made from Results only,
// so that a test can compare a document with the runs that it shows.
//
// # Verdicts
//
// A row's difference is ours minus the published figure. With t the 97.5 % quantile of
// Student's distribution with seeds - 1 degrees of freedom, SE the standard error of our mean
// and p the precision with which the figure could be read, the tolerance is t SE + p.
//
//   - uninformative: p exceeds 10 % of the figure, or the difference is within a tolerance
//     that does. Agreement would mean nothing.
//   - not comparable: the two differ by a factor of ten or more, or in sign.
//   - reproduced: the difference is within the tolerance.
//   - better, worse: it is not.
//   - not reproducible: the study itself declares it, with the reason.
//
// The papers' own standard errors are known for few figures and are not counted, so a
// difference within both errors may be called better or worse. With some 150 rows at 95 %, a
// few verdicts are wrong by chance.
//
// The package knows nothing of protocols or models.
package study
