// Package member runs one role of a plan at a site: its configuration, keys,
// data, durable store, log, status page and outputs. It decides nothing about a
// round: the roles do (packages party, compute, aggregator), which package run
// drives.
package member
