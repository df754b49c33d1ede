// Package host is the one place that does I/O. It drives a role's pure machine
// by the contract of protocol.Machine:
//
//	bus -> Step -> make durable -> publish -> wait
//
// Messages that are waiting are stepped through together. What their steps store
// becomes durable, in one transaction with the position on the bus up to which was
// read, before anything that those steps send leaves the process; while that
// happens the next messages are stepped through. Records that nothing follows
// from wait for company, up to 32 MiB or 5 s of them. A process that is killed
// anywhere builds its machine anew from the store and goes on; what it reads again it
// takes in once.
//
// Keys are opened and data is sealed inside the machines, which the simulator
// drives as well; host moves bytes.
package host
