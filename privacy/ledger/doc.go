// Package ledger records what privacy budget has been spent: an append-only, hash-chained list of
// charges, whose total is computed by composing all of them tightly, across plans.
//
// Its contract:
//
//   - A charge is appended and stored durably before any byte of the contribution is sent. To
//     retransmit the same bytes costs nothing; a new attempt is charged. The package does no
//     I/O: the host stores what [Entry.Marshal] returns.
//   - Altering, inserting, reordering or removing entries breaks the chain, except for removing
//     the newest entries. To detect that, store the last [Ledger.Head] elsewhere and compare.
//   - Charges do not expire. A reset, for instance because the data was replaced, is an entry
//     with a reason.
//
// A ledger protects one data set: charges for different data belong in different ledgers.
package ledger
