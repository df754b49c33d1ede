// Package rig has what the tests of the session packages share: rosters, terms,
// sessions in memory and over NATS, and small learning problems.
package rig
