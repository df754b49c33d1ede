// Package session assembles roles, transport and application: all of a plan's
// members in one process (demonstrations, experiments, attacks, tests), or one
// of them (deployment). Both ways run the same machines under the same driver;
// they differ in where keys, stores and connections come from.
package session
