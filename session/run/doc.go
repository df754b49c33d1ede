// Package run drives the members of a plan: one role over a transport, one
// worker of a compute node, or every member in one process.
package run
