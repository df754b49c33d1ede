// Package report turns what Choir leaves in a folder into one HTML file that can be sent to
// others: a demonstration, a member's results, a plan, a study or a benchmark.
//
// The contract:
//
//   - The file refers to nothing outside itself: no script, image, font or style sheet. Its
//     content security policy forbids what it does not contain.
//   - Everything that comes from a file is escaped. Figures are drawn again from numbers;
//     pictures in the folder are not copied.
//   - The same input gives the same bytes. The report has no date, host or path.
//   - It is smaller than 150 kB: figures beyond that are left out and named.
package report
