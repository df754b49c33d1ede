// Package dataset turns files into the matrices that models learn from.
//
// The contract:
//
//   - A file is read into Records (cells as text, with the line each came from),
//     and Records become a Table only through a Schema: a public description of
//     the columns, with bounds and categories that were fixed without looking at
//     the data. The schema's canonical bytes go into the signed plan, so every
//     party encodes alike.
//   - A schema may also be derived from the data (InferSchema, StandardisedOn).
//     That is not private, and the schema says so in its Source.
//   - A Table is a dense row-major matrix with a constant bias column last, and one
//     target per row: 0 or 1 in classification, the standardised value in regression.
//   - Nothing malformed is guessed at: it is refused with the line and the column
//     named, and without the cell's content, since errors end up in logs.
//   - Splits and generated data depend on a seed only. They use a statistical
//     generator: nothing in this package protects anybody's privacy.
//
// The package knows no protocol.
package dataset
