// Package status shows an operator the progress of a member: figures for Prometheus and a
// page for a person, both from the notices that are logged as well.
//
// # Contract
//
// Notify accepts notices in the order in which they happen, from one goroutine or several.
// The handler serves at any time:
//
//	GET /         a page with the present round and the members that have returned
//	GET /status   the same as one JSON object, with schema_version
//	GET /metrics  figures in Prometheus' text format
//	GET /healthz  503 when the member has stopped early, or when nothing has moved for longer than
//	              the plan's deadline and grace; else 200
//	GET /readyz   200 while the member works with all others, or has completed; else 503
//
// Every other path is 404, every other method 405. Figures have base units; their labels are
// role, phase and result only. Nothing comes from data: all of it can be counted by the
// broker's operator too. Names of members are on the page and in /status, not in the figures,
// so that a roster of thousands does not become thousands of series.
//
// The page has no password: listen on a loopback address or put a proxy with access control
// before it.
package status
