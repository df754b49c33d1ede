// Package defaults chooses the settings of learning that a plan does not name, from what
// the plan knows: parties, rounds, the declared number of records, the public schema and
// the noise of the budget. It also predicts when noise will dominate the data, and judges a
// finished run by its public states. Everything is a pure function of public numbers.
// Decision 0024 has the rules and their measurements.
package defaults
