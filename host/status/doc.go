// Package status shows an institution's operator how a member is doing: figures for
// Prometheus and a page for a person, both from the notices that are logged as well.
//
// # Contract
//
// Notify takes notices in the order in which they happen, from one goroutine or several;
// the handler serves, at any time:
//
//	GET /         a page that says which round it is and who has returned
//	GET /status   the same as one JSON object, with schema_version
//	GET /metrics  figures in Prometheus' text form
//	GET /healthz  200 until the member has stopped, then 503
//
// Everything else is 404, every other method 405. Figures have base units; their labels are
// role, phase and result only. Nothing comes from data: what is shown is what the
// broker's operator, too, can count. Names of members are on the page and in /status, not in
// the figures, so that a roster of thousands doesn't become thousands of series.
//
// The page has no password: listen on a loopback address, or put it behind what the
// institution has for that.
package status
