// Package run drives the members of a plan: one role over a transport, one
// worker of a compute node, or every member in one process. It reads no file and
// knows no configuration: callers give it plan, keys, data and stores (package
// member does for a site).
package run
