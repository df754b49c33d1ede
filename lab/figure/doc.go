// Package figure writes results: figures as SVG and PNG, tables as CSV, documents as
// JSON.
//
// The contract:
//
//   - A file appears under its name complete or not at all: everything is written
//     beside it, synced and renamed.
//   - The same input gives the same bytes; nothing of the machine or the hour gets in.
//   - Curves are told apart by line style and marker as well as by colour, and the
//     colours stay apart for colour-blind readers (after Okabe and Ito, 2008).
//   - A value that cannot be drawn or written is refused, named. What lies outside a
//     panel's window is said in the panel, never left out in silence.
//
// The package knows nothing of protocols or models.
package figure
