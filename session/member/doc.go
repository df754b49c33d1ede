// Package member runs one role of a plan at a site: its configuration, keys,
// data, durable store, log, status page and outputs.
package member
