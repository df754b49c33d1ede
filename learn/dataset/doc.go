// Package dataset turns files into the matrices that models learn from.
//
// The contract:
//
//   - A file is read into Records (cells as text, with the line of each), and Records
//     become a Table only through a Schema: a public description of the columns, with
//     bounds and categories that do not depend on the data. The schema's canonical bytes
//     are part of the signed plan, so that every party encodes in the same way.
//   - A schema may also be derived from the data (InferSchema, StandardisedOn). That is not
//     private, and the schema's Source declares it.
//   - A Table is a dense row-major matrix with a constant bias column last, and one target
//     for each row: 0 or 1 in classification, the standardised value in regression.
//   - Malformed input is rejected, never repaired by a guess. The error names the line and
//     the column, without the cell's content, since errors are logged.
//   - Splits and generated data depend on a seed only. They use a statistical generator:
//     nothing in this package protects privacy.
//
// The package is independent of the protocol.
package dataset
