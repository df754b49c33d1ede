// Package figure draws results as SVG, PNG and PDF.
//
// The contract:
//
//   - The same input gives the same bytes; no date, host or path enters a file.
//   - Curves differ in marker and dashes as well as in colour, and the colours are
//     distinct for colour-blind readers [OI08].
//   - A value that cannot be drawn is refused with its name. A curve or level that
//     ends outside a panel's window is named in the panel with its value.
//   - Text in SVG carries its length, so that a viewer with other fonts keeps the layout.
//
// The package knows nothing of protocols or models.
package figure
