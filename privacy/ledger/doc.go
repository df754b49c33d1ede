// Package ledger is the durable memory of what privacy has been spent: an
// append-only, hash-chained list of charges that composes tightly over everything
// in it, whatever the plan.
//
// Its contract:
//
//   - A charge is appended, and its bytes are durable, before any byte of the
//     contribution leaves (DESIGN decision 9). A retry resends the same bytes and is
//     not charged again; a new attempt is. The package does no I/O: the host stores
//     what Entry.Marshal returns.
//   - Altering, inserting, reordering or removing anything but the newest entries
//     breaks the chain. Removing the newest ones doesn't: whoever must notice that
//     keeps the last head elsewhere and compares (VerifyHead).
//   - Nothing ages out. A reset, for instance because the data was replaced, is an entry
//     of its own with a reason that stays readable.
//
// A ledger protects one data set: charges for different data belong in different ledgers.
package ledger
