// Package defaults chooses the settings of learning that a plan doesn't name, from what the
// plan knows: parties, rounds, the declared number of records, the public schema and the
// noise that the budget asks for. It also predicts when noise will drown the data, and
// judges a finished run by its public states. Everything is a pure function of public
// numbers. The rules and the measurements behind them are in decision 0023.
package defaults
