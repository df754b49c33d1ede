// Package host does all I/O of a member. It drives a role's pure machine by the contract of
// protocol.Machine:
//
//	bus -> Step -> make durable -> publish -> wait
//
// Messages that have arrived are stepped through together. What their steps persist becomes
// durable in one transaction, with the position on the bus up to which messages were read,
// before anything that those steps send leaves the process. While the transaction runs, the
// next messages are stepped through. Records on which no message depends wait to share a
// transaction, up to 32 MiB or 5 s of them. A process that is killed at any point rebuilds its
// machine from the store and resumes; messages that are delivered again count once.
//
// Keys are opened and data is sealed inside the machines, which the simulator drives as well;
// host moves bytes.
package host
